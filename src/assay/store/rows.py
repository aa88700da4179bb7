"""Rows ↔ model. The order of columns is the order of the model's fields, a policy laid flat."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from assay.model.activity import Activity
from assay.model.events import Event, EventType
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.timer import Timer

RUN_COLUMNS: tuple[str, ...] = Run.__struct_fields__
TIMER_COLUMNS: tuple[str, ...] = Timer.__struct_fields__
_POLICY = Activity.__struct_fields__.index("policy")
_POLICY_END = _POLICY + len(RetryPolicy.__struct_fields__)
ACTIVITY_COLUMNS: tuple[str, ...] = (
    *Activity.__struct_fields__[:_POLICY],
    *RetryPolicy.__struct_fields__,
    *Activity.__struct_fields__[_POLICY + 1 :],
)
SCHEDULE_COLUMNS: tuple[str, ...] = Schedule.__struct_fields__
EVENT_COLUMNS = ("run_no", "seq", "id", "type", "at", "payload")

_RUN_STATUS = RUN_COLUMNS.index("status")
_ACTIVITY_STATUS = ACTIVITY_COLUMNS.index("status")
_TIMER_STATE = TIMER_COLUMNS.index("state")
_RUN_STATUSES = {str(status): status for status in RunStatus}
_ACTIVITY_STATUSES = {str(status): status for status in ActivityStatus}
_OVERLAP = SCHEDULE_COLUMNS.index("overlap")
_PAUSED = SCHEDULE_COLUMNS.index("paused")
_TIMER_STATES = {str(state): state for state in TimerState}

Row = Sequence[Any]
"""A row as a driver gives it; the one place where types are taken on trust."""


def run_of(row: Row) -> Run:
    """A run from its row."""
    values = list(row)
    values[_RUN_STATUS] = _RUN_STATUSES[values[_RUN_STATUS]]
    return Run(*values)


def row_of_run(run: Run) -> tuple[Any, ...]:
    """A run as a row."""
    return astuple(run)


def activity_of(row: Row) -> Activity:
    """An activity from its row."""
    values = list(row)
    values[_ACTIVITY_STATUS] = _ACTIVITY_STATUSES[values[_ACTIVITY_STATUS]]
    values[_POLICY:_POLICY_END] = [RetryPolicy(*values[_POLICY:_POLICY_END])]
    return Activity(*values)


def row_of_activity(activity: Activity) -> tuple[Any, ...]:
    """An activity as a row."""
    values = astuple(activity)
    return (*values[:_POLICY], *astuple(activity.policy), *values[_POLICY + 1 :])


def timer_of(row: Row) -> Timer:
    """A timer from its row."""
    values = list(row)
    values[_TIMER_STATE] = _TIMER_STATES[values[_TIMER_STATE]]
    return Timer(*values)


def row_of_timer(timer: Timer) -> tuple[Any, ...]:
    """A timer as a row."""
    return astuple(timer)


def schedule_of(row: Row) -> Schedule:
    """A schedule from its row."""
    values = list(row)
    values[_OVERLAP] = OverlapPolicy(values[_OVERLAP])
    values[_PAUSED] = bool(values[_PAUSED])
    return Schedule(*values)


def row_of_schedule(schedule: Schedule) -> tuple[Any, ...]:
    """A schedule as a row."""
    return astuple(schedule)


def event_of(row: Row) -> Event:
    """An event from its row."""
    run_no, seq, number, kind, at, payload, voided_by = row
    return Event(run_no, seq, number, EventType(kind), at, payload, voided_by)
