"""Statuses of runs, activities and timers, and the one table of allowed transitions."""

from enum import StrEnum


class RunStatus(StrEnum):
    """Where a run is in its life."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"


class ActivityStatus(StrEnum):
    """Where an activity is in its life."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class TimerState(StrEnum):
    """Open until it fires or something silences it."""

    OPEN = "open"
    FIRED = "fired"
    SILENCED = "silenced"


OPEN_RUN = frozenset({RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING})
TERMINAL_RUN = frozenset(RunStatus) - OPEN_RUN
LIVE_ACTIVITY = frozenset({ActivityStatus.PENDING, ActivityStatus.RUNNING})

RUN_TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset({RunStatus.RUNNING}) | TERMINAL_RUN,
    RunStatus.RUNNING: TERMINAL_RUN,
    RunStatus.WAITING: frozenset({RunStatus.RUNNING}) | TERMINAL_RUN,
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset({RunStatus.WAITING}),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.TIMED_OUT: frozenset(),
}

ACTIVITY_TRANSITIONS: dict[ActivityStatus, frozenset[ActivityStatus]] = {
    ActivityStatus.PENDING: frozenset({ActivityStatus.RUNNING, ActivityStatus.CANCELLED}),
    ActivityStatus.RUNNING: frozenset(ActivityStatus) - {ActivityStatus.RUNNING},
    ActivityStatus.COMPLETED: frozenset(),
    ActivityStatus.FAILED: frozenset({ActivityStatus.PENDING}),
    ActivityStatus.CANCELLED: frozenset({ActivityStatus.PENDING}),
}
