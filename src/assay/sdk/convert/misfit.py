"""Misfits: why JSON could not be read as a kind, with the place in it."""

from typing import Any

from assay.sdk.convert import models
from assay.sdk.faults import PayloadError

_PLACE = " - at `"


def misfit(kind: Any, error: Exception) -> PayloadError:
    """The error for a text that could not be read."""
    why, *places = models.complaint(error).split(_PLACE)  # the innermost place comes first
    path = "$" + "".join(map(_steps, reversed(places)))
    at_key = "its key: " if places and places[0].startswith("key`") else ""
    reason = why or type(error).__name__
    return PayloadError(f"cannot read {name_of(kind)} at {path}: {at_key}{reason}")


def _steps(place: str) -> str:
    """The steps of a place without its root; of a key, those to the object that holds it."""
    return place.rpartition("`$")[2].removeprefix("$").rstrip("`")


def name_of(kind: Any) -> str:
    """How a kind is called in messages."""
    if kind is Any:
        return "JSON"
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
