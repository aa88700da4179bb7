"""Everything the engine can be asked to change, and what it answers: closed unions."""

from enum import StrEnum

from msgspec import Struct

from assay.model.activity import Activity
from assay.model.commands import Command
from assay.model.run import Run
from assay.model.worker import Worker


class Start(Struct, frozen=True, gc=False):
    """Begin a run. Without `id` the engine makes one up."""

    type: str
    id: str | None = None
    namespace: str = "main"
    input: str | None = None
    queue: str = "default"


class Signal(Struct, frozen=True, gc=False):
    """Append a signal to a run that has not ended."""

    id: str
    name: str
    payload: str | None = None


class Cancel(Struct, frozen=True, gc=False):
    """Ask a run, and every run below it, to stop."""

    id: str
    reason: str | None = None


class Terminate(Struct, frozen=True, gc=False):
    """End a run as failed, without asking it."""

    id: str
    reason: str | None = None


class Retry(Struct, frozen=True, gc=False):
    """Heal a failed run: its last failed activity is tried anew."""

    id: str
    requested_by: str
    reason: str


class SubmitCommands(Struct, frozen=True, gc=False):
    """The outcome of a replay, under the claim it was polled with."""

    id: str
    worker_id: str
    commands: tuple[Command, ...]
    lease: str | None = None


class RejectCommands(Struct, frozen=True, gc=False):
    """A batch that could not even be read: its error shows on the run while the claim is open."""

    id: str
    worker_id: str
    error: str
    lease: str | None = None


class Fence(Struct, frozen=True, gc=False):
    """What a reporter may prove of its claim; absent parts are not compared."""

    worker_id: str | None = None
    attempt: int | None = None
    token: str | None = None


class CompleteActivity(Struct, frozen=True, gc=False):
    """An attempt succeeded."""

    no: int
    result: str | None = None
    fence: Fence = Fence()


class FailActivity(Struct, frozen=True, gc=False):
    """An attempt failed."""

    no: int
    error: str
    fence: Fence = Fence()


class HeartbeatActivity(Struct, frozen=True, gc=False):
    """An attempt is alive; `details` go to the next one."""

    no: int
    details: str | None = None
    fence: Fence = Fence()


class UndoWorkflowClaim(Struct, frozen=True, gc=False):
    """The answer with this claim never reached its worker."""

    no: int
    token: int


class UndoActivityClaim(Struct, frozen=True, gc=False):
    """The answer with this claim never reached its worker."""

    no: int
    token: int


class RenewLeases(Struct, frozen=True, gc=False):
    """A worker says which runs it still works on."""

    worker_id: str
    ids: tuple[str, ...]


class RegisterWorker(Struct, frozen=True, gc=False):
    """A worker introduces itself; its id binds it to its namespace."""

    worker: Worker


class DueKind(StrEnum):
    """What a moment can be due for."""

    RUN = "run"
    ACTIVITY = "activity"
    TIMER = "timer"


class Due(Struct, frozen=True, gc=False):
    """A moment has come for a row; what is really due is judged again on the row."""

    kind: DueKind
    no: int


Operation = (
    Start
    | Signal
    | Cancel
    | Terminate
    | Retry
    | SubmitCommands
    | RejectCommands
    | CompleteActivity
    | FailActivity
    | HeartbeatActivity
    | UndoWorkflowClaim
    | UndoActivityClaim
    | RenewLeases
    | RegisterWorker
    | Due
)


class Started(Struct, frozen=True, gc=False):
    """A run began."""

    run: Run


class Retried(Struct, frozen=True, gc=False):
    """A failed run was set going again."""

    run: Run
    activity: Activity
    invalidated: int


class Heard(Struct, frozen=True, gc=False):
    """A heartbeat was taken; the worker learns whether to stop."""

    cancel_requested: bool


class Done(Struct, frozen=True, gc=False):
    """Nothing to say beyond that it happened (or had happened already)."""


DONE = Done()
Outcome = Started | Retried | Heard | Done
