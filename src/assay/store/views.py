"""What clients look at, put together from rows: payloads of records stand in events."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.model.activity import Activity
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.store.rows import Row, run_of


class HistoryRow(Struct, frozen=True, array_like=True, gc=False):
    """An event as histories and pages show it."""

    run_no: int
    seq: int
    id: int
    type: str
    at: int
    payload: str | None


class RunView(Struct, frozen=True):
    """A run with the payloads its record shows."""

    run: Run
    input: str | None
    result: str | None


class Link(Struct, frozen=True):
    """A run at the end of a chain of successors; `cut`: it had one more, which was deleted."""

    no: int
    id: str
    cut: bool
    first_no: int


class HeldRows(Struct, frozen=True):
    """What a worker has claimed and not answered yet."""

    runs: list[Run]
    activities: list[Activity]


class ActivityView(Struct, frozen=True):
    """An activity with the payloads its record shows."""

    activity: Activity
    workflow_id: str
    input: str | None
    result: str | None


class _Scheduled(msgspec.Struct):
    input: str | None = None


class _Outcome(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"null")


_scheduled = msgspec.json.Decoder(_Scheduled)
_outcome = msgspec.json.Decoder(_Outcome)


def scheduled_input(payload: str | None) -> str | None:
    """The input of an activity, from the event that scheduled it."""
    return None if payload is None else _scheduled.decode(payload).input


def run_view(row: Row) -> RunView:
    """A run from its row and, after that, the id of its parent, its input and its result.

    The run knows its parent by number; what its row has for an id may be a deleted run's.
    """
    *columns, parent_id, input, result = row
    run = run_of(columns)
    if run.parent_id != parent_id:
        run = replace(run, parent_id=parent_id)
    return RunView(run, input, result)


def activity_view(
    activity: Activity, workflow_id: str, scheduled: str | None, outcome: str | None
) -> ActivityView:
    """An activity with the payloads its record shows."""
    result = None
    if activity.status is ActivityStatus.COMPLETED:
        result = activity.late_outcome
        if outcome is not None:
            result = bytes(_outcome.decode(outcome).result).decode()
    if result == "null":
        result = None
    return ActivityView(activity, workflow_id, scheduled_input(scheduled), result)


def counts_of(rows: Iterable[Row]) -> dict[RunStatus, int]:
    """Counts by status; what there is none of is left out."""
    return {RunStatus(status): count for status, count in rows if count}
