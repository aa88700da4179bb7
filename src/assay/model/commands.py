"""What a replay asks the engine to record: the closed union of commands."""

from msgspec import Struct

from assay.model.retry import RetryPolicy


class ScheduleActivity(Struct, frozen=True, gc=False):
    """Do a piece of work on a queue."""

    seq: int
    name: str
    queue: str
    input: str | None
    policy: RetryPolicy


class ScheduleTimer(Struct, frozen=True, gc=False):
    """Wake the run after a while."""

    seq: int
    duration_secs: float


class WaitForSignal(Struct, frozen=True, gc=False):
    """Say what the run waits for; the signal itself is answered from history."""

    name: str
    timer_seq: int | None


class StartChild(Struct, frozen=True, gc=False):
    """Start a run whose outcome comes back to this one."""

    type: str
    id: str
    queue: str
    input: str | None


class CompleteWorkflow(Struct, frozen=True, gc=False):
    """The handler returned."""

    result: str | None


class FailWorkflow(Struct, frozen=True, gc=False):
    """The handler raised."""

    error: str


class CancelWorkflow(Struct, frozen=True, gc=False):
    """The handler ended as cancelled."""

    reason: str | None


Command = (
    ScheduleActivity
    | ScheduleTimer
    | WaitForSignal
    | StartChild
    | CompleteWorkflow
    | FailWorkflow
    | CancelWorkflow
)
TerminalCommand = CompleteWorkflow | FailWorkflow | CancelWorkflow
