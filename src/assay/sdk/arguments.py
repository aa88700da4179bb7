"""Arguments of ctx calls: one that cannot be is refused where it is given, in words."""

from collections.abc import Callable
from math import isnan
from typing import Any

import msgspec

from assay.errors import Refusal
from assay.model.time import LONGEST_SECONDS
from assay.sdk.faults import WorkflowMisuse
from assay.sdk.options import ActivityOptions, error_names
from assay.wire.commands.activities import ActivityOptions as Options

NOT_OPTIONS = ("result", "task_queue", "non_retryable")


def text(what: str, value: object) -> str:
    """A name, an id."""
    if isinstance(value, str) and value.strip():
        return value
    raise WorkflowMisuse(f"{what} must be a text that is not blank, not {value!r}")


def seconds(what: str, value: object) -> float:
    """A time; what has no end ends in centuries."""
    if isinstance(value, int | float) and not isnan(value):
        return float(min(value, LONGEST_SECONDS))
    raise WorkflowMisuse(f"{what} must be a number of seconds, not {value!r}")


def function(what: str, value: Any) -> Callable[..., Any]:
    """Something that can be called."""
    if callable(value):
        found: Callable[..., Any] = value
        return found
    raise WorkflowMisuse(f"{what} must be a function, not {value!r}")


def options(what: str, given: ActivityOptions) -> Options:
    """How an activity is tried, timed and tried again."""
    if given.get("task_queue") is not None:
        text(f"{what}: task_queue", given["task_queue"])
    named = given.get("non_retryable")
    fields = {name: value for name, value in given.items() if name not in NOT_OPTIONS}
    try:
        fields["non_retryable"] = None if named is None else error_names(named)
        found = msgspec.convert(fields, Options)
        found.policy()
    except (msgspec.ValidationError, Refusal) as error:
        raise WorkflowMisuse(f"{what}: {error}") from None
    return found
