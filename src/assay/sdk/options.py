"""Options of a call, as keywords: how an activity or a step is tried, timed and tried again.

They are also those of a start.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from assay.sdk.faults import WorkflowMisuse
from assay.sdk.records import IfExists


class StepOptions(TypedDict, total=False):
    """How an inline step is tried again."""

    name: str
    max_attempts: int
    initial_interval_secs: float
    backoff_coefficient: float
    max_interval_secs: float
    jitter: float
    non_retryable: Sequence[type[BaseException] | str]
    start_to_close_secs: float
    result: object


class NamedActivityOptions(TypedDict, total=False):
    """How an activity is tried, timed and tried again."""

    task_queue: str
    max_attempts: int
    initial_interval_secs: float
    backoff_coefficient: float
    max_interval_secs: float
    jitter: float
    non_retryable: Sequence[type[BaseException] | str]
    start_to_close_secs: float
    heartbeat_timeout_secs: float


class ActivityOptions(NamedActivityOptions, total=False):
    """The same, and with `result` the type that its result is read as."""

    result: object


class StartOptions(TypedDict, total=False):
    """Where a run belongs, when it begins and ends, and what its id means if it is taken."""

    namespace: str | None
    search_attributes: Mapping[str, object] | None
    timeout_secs: float | None
    start_delay_secs: float | None
    if_exists: IfExists


class ParallelCall(TypedDict, total=False):
    """One element of `execute_parallel`."""

    name: Any
    input: Any
    opts: ActivityOptions | None


CALL_NAMES = frozenset(ParallelCall.__optional_keys__)
STEP_NAMES = frozenset(StepOptions.__optional_keys__)
ACTIVITY_NAMES = frozenset(ActivityOptions.__optional_keys__)


def error_names(errors: Sequence[type[BaseException] | str]) -> list[str]:
    """The names by which errors are known on the wire."""
    given: object = errors
    if isinstance(given, str | type) or not isinstance(given, Iterable):
        raise WorkflowMisuse(f"non_retryable must be a list of errors, not {given!r}")
    return [_error_name(each) for each in given]


def _error_name(error: object) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, type):
        return error.__name__
    raise WorkflowMisuse(f"non_retryable: {error!r} is neither an error class nor a name of one")


def check_names(what: str, options: dict[str, Any], known: frozenset[str]) -> None:
    """A misspelt option is an error, not a default."""
    for name in options:
        if name not in known:
            raise WorkflowMisuse(
                f"{what} knows no option {name!r}; it knows {', '.join(sorted(known))}"
            )
