"""Models of pydantic. It is never imported here: whoever has a model has imported it.

What aliases say is what is written; when reading, names count as well, so that a model reads what
it has written whatever its settings.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any, get_args

import msgspec

Payload = bytes | str | msgspec.Raw  # what JSON comes as


def is_model(kind: object) -> bool:
    """Whether it is a class of models."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return base is not None and isinstance(kind, type) and issubclass(kind, base)


def mentions_model(kind: object) -> bool:
    """Whether a model stands in it, as in `list[Model]` or `One | Other`."""
    return is_model(kind) or any(map(mentions_model, get_args(kind)))


def fields(value: Any) -> list[str]:
    """The names of a model's fields, those included that only this one has."""
    return [*type(value).model_fields, *(value.model_extra or ())]


def dump(value: Any, *fields: str) -> object:
    """The model, or some fields of it, as JSON values to read it from; nothing that is derived."""
    return value.model_dump(mode="json", include=_only(fields), by_alias=True, round_trip=True)


def dump_numbers(value: Any, *fields: str) -> object:
    """The same with the values as they are: among JSON values NaN may be null already."""
    try:
        return value.model_dump(mode="python", include=_only(fields), round_trip=True)
    except TypeError:  # a set of models has no such form
        return dump(value, *fields)


def _only(fields: tuple[str, ...]) -> set[str] | None:
    """What pydantic is told to include; it looks for these names below a root, not at it."""
    return {*fields} - {"root"} or None


def reader(kind: Any) -> Callable[[Payload], Any]:
    """How JSON is read as a kind that pydantic knows."""
    adapter = _adapter(kind)
    validate = adapter.validate_json
    names = {"by_alias": True, "by_name": True}
    if not names.keys() <= inspect.signature(validate).parameters.keys():
        names = {}  # before pydantic 2.11

    def read(text: Payload) -> Any:
        return validate(bytes(text) if isinstance(text, msgspec.Raw) else text, **names)

    return read


def complaint(error: Any) -> str:
    """What an error says; the first complaint of pydantic in the form of msgspec's."""
    invalid = getattr(sys.modules.get("pydantic"), "ValidationError", ())
    if not isinstance(error, invalid):
        return str(error)
    first, *others = error.errors(include_url=False)
    more = f" (and {len(others)} more)" if others else ""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    return f"{first['msg']}{more} - at `${''.join(steps)}`"


def _adapter(kind: Any) -> Any:
    pydantic = sys.modules["pydantic"]
    if is_model(kind):
        return pydantic.TypeAdapter(kind)
    # Beside a model bytes are written by msgspec, in base64.
    return pydantic.TypeAdapter(kind, config={"val_json_bytes": "base64"})
