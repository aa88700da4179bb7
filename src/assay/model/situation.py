"""What an open run may be waiting for, and the reasons that come of it."""

from enum import StrEnum

from msgspec import Struct

from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus


class ReasonKind(StrEnum):
    """Why a run is not moving."""

    WORKFLOW_TASK = "workflow_task"
    ACTIVITY = "activity"
    RETRY = "retry"
    TIMER = "timer"
    SIGNAL = "signal"
    CHILD = "child"
    START_DELAY = "start_delay"
    BLOCKED = "blocked"


class Reason(Struct, frozen=True, gc=False):
    """One thing that a run waits for."""

    kind: ReasonKind
    name: str | None
    since: int
    until: int | None
    note: str


class AwaitedActivity(Struct, frozen=True, array_like=True, gc=False):
    """A live activity, as far as it tells what is going on.

    `failed_at` is when the attempt before this one failed.
    """

    name: str
    status: ActivityStatus
    queue: str
    attempt: int
    max_attempts: int
    scheduled_at: int
    failed_at: int | None
    started_at: int | None
    ready_at: int | None
    claimed_by: str | None
    claim_until: int | None


class AwaitedTimer(Struct, frozen=True, array_like=True, gc=False):
    """An open timer, and when it was set. One that wakes a run for the next attempt at an inline
    step has a negative seq, and `step` is the record of the attempt before."""

    seq: int
    fire_at: int
    set_at: int | None
    step: str | None


class AwaitedChild(Struct, frozen=True, array_like=True, gc=False):
    """An open child; `child_id` is the id under which its parent knows it."""

    id: str
    child_id: str | None
    status: RunStatus
    queue: str
    created_at: int


class Situation(Struct, frozen=True):
    """An open run and the first of what it may be waiting for, all from one moment.

    `staffed` are those of the queues named here that have a living worker.
    """

    run: Run
    activities: tuple[AwaitedActivity, ...] = ()
    timers: tuple[AwaitedTimer, ...] = ()
    children: tuple[AwaitedChild, ...] = ()
    staffed: frozenset[str] = frozenset()
