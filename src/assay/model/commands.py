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


class CancelTimer(Struct, frozen=True, gc=False):
    """A timer is no longer wanted."""

    seq: int


class RecordSideEffect(Struct, frozen=True, gc=False):
    """Keep what a side effect returned."""

    seq: int
    name: str
    value: str | None


class RecordStep(Struct, frozen=True, gc=False):
    """Keep the outcome of a step that ran in the workflow worker: a result, or an error.

    `failure` is a JSON object that says more than `error`.
    """

    seq: int
    name: str
    attempt: int
    result: str | None
    error: str | None
    final: bool
    retry_in_secs: float
    failure: str | None = None


class RecordPatch(Struct, frozen=True, gc=False):
    """Keep that this run took the new branch of a change in its code."""

    id: str


class RecordSnapshot(Struct, frozen=True, gc=False):
    """Keep what the queries of a run answer; `state` is the text of a JSON object."""

    state: str


class UpsertSearchAttributes(Struct, frozen=True, gc=False):
    """Merge into the search attributes; `patch` is the text of a JSON object."""

    patch: str
    seq: int | None


class ContinueAsNew(Struct, frozen=True, gc=False):
    """End this run and go on as a new one, which gets the signals of these event seqs."""

    input: str | None
    carry: tuple[int, ...]


class CompleteWorkflow(Struct, frozen=True, gc=False):
    """The handler returned."""

    result: str | None


class FailWorkflow(Struct, frozen=True, gc=False):
    """The handler raised; `failure` is a JSON object that says more than `error`."""

    error: str
    failure: str | None = None


class CancelWorkflow(Struct, frozen=True, gc=False):
    """The handler ended as cancelled."""

    reason: str | None


TerminalCommand = CompleteWorkflow | FailWorkflow | CancelWorkflow | ContinueAsNew
Command = (
    ScheduleActivity
    | ScheduleTimer
    | WaitForSignal
    | StartChild
    | CancelTimer
    | RecordSideEffect
    | RecordStep
    | RecordPatch
    | RecordSnapshot
    | UpsertSearchAttributes
    | TerminalCommand
)
