"""Everything the engine can be asked to change, and what it answers: closed unions."""

from enum import StrEnum

from msgspec import Struct

from assay.model.activity import Activity
from assay.model.commands import Command, ScheduleActivity
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.worker import Worker


class Start(Struct, frozen=True, gc=False):
    """Begin a run. Without `id` the engine makes one up; `use_existing`: a like run will do."""

    type: str
    id: str | None = None
    namespace: str = "main"
    input: str | None = None
    queue: str = "default"
    search_attributes: str | None = None
    timeout_secs: float | None = None
    delay_secs: float = 0.0
    use_existing: bool = False


class Signal(Struct, frozen=True, gc=False):
    """Append a signal to a run that has not ended; the same `request_id` again is a repeat."""

    id: str
    name: str
    payload: str | None = None
    request_id: str | None = None


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


class ContinueRun(Struct, frozen=True, gc=False):
    """Start the successor of a run, which ends if it has not yet."""

    id: str
    input: str | None = None
    new_id: str | None = None


class DeleteRun(Struct, frozen=True, gc=False):
    """A run that has ended goes, with all that belongs to it."""

    id: str


class AddActivity(Struct, frozen=True, gc=False):
    """Schedule an activity of a run from outside."""

    id: str
    activity: ScheduleActivity


class CreateNamespace(Struct, frozen=True, gc=False):
    """A new tenant."""

    name: str


class DeleteNamespace(Struct, frozen=True, gc=False):
    """Nothing new can be started there; what is there goes on."""

    name: str


class CreateSchedule(Struct, frozen=True, gc=False):
    """A new schedule."""

    namespace: str
    name: str
    type: str
    cron: str
    timezone: str
    input: str | None
    queue: str
    overlap: OverlapPolicy


class PatchSchedule(Struct, frozen=True, gc=False):
    """Change a schedule; what is None stays."""

    namespace: str
    name: str
    cron: str | None = None
    timezone: str | None = None
    input: str | None = None
    queue: str | None = None
    overlap: OverlapPolicy | None = None


class PauseSchedule(Struct, frozen=True, gc=False):
    """It starts nothing until it is resumed."""

    namespace: str
    name: str


class ResumeSchedule(Struct, frozen=True, gc=False):
    """It goes on from now; what was missed stays missed."""

    namespace: str
    name: str


class DeleteSchedule(Struct, frozen=True, gc=False):
    """It starts nothing any more; its runs go on."""

    namespace: str
    name: str


class SubmitCommands(Struct, frozen=True, gc=False):
    """The outcome of a replay, under the claim it was polled with.

    `keeps`: its worker keeps the run alive; `holds`: it does, and has more to send under the claim.
    `places`: where the commands stood in what was sent, if some of that is skipped.
    `seen`: the last event the worker had then; later ones may be on their way to it.
    """

    id: str
    worker_id: str
    commands: tuple[Command, ...]
    lease: str | None = None
    keeps: bool = False
    holds: bool = False
    places: tuple[int, ...] = ()
    seen: int | None = None


class ReportMismatch(Struct, frozen=True, gc=False):
    """A replay asks for something else than history holds: its worker submits nothing."""

    id: str
    worker_id: str
    error: str
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
    """An attempt failed. `failure` is a JSON object that says more than `error`.

    With `retry_after_secs` the next attempt comes after so long, whatever the activity's options.
    """

    no: int
    error: str
    fence: Fence = Fence()
    failure: str | None = None
    retryable: bool = True
    retry_after_secs: float | None = None


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
    SCHEDULE = "schedule"


class Due(Struct, frozen=True, gc=False):
    """A moment has come for a row; what is really due is judged again on the row."""

    kind: DueKind
    no: int


Administration = (
    CreateNamespace
    | DeleteNamespace
    | CreateSchedule
    | PatchSchedule
    | PauseSchedule
    | ResumeSchedule
    | DeleteSchedule
)
Operation = (
    Start
    | Signal
    | Cancel
    | Terminate
    | Retry
    | ContinueRun
    | DeleteRun
    | AddActivity
    | Administration
    | SubmitCommands
    | ReportMismatch
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
    """A run began, or (`existing`) such a run was there."""

    run: Run
    existing: bool = False


class Retried(Struct, frozen=True, gc=False):
    """A failed run was set going again."""

    run: Run
    activity: Activity
    invalidated: int


class Heard(Struct, frozen=True, gc=False):
    """A heartbeat was taken; the worker learns whether to stop."""

    cancel_requested: bool
    by: str | None


class Reported(Struct, frozen=True, gc=False):
    """An attempt is over, and whose it was; that one is alive."""

    by: str | None


class Continued(Struct, frozen=True, gc=False):
    """A run has a successor, with this input."""

    run: Run
    input: str | None


class Added(Struct, frozen=True, gc=False):
    """An activity is scheduled, or was under this seq."""

    activity: Activity


class Planned(Struct, frozen=True, gc=False):
    """A schedule as it stands now."""

    schedule: Schedule


class Done(Struct, frozen=True, gc=False):
    """Nothing to say beyond that it happened (or had happened already)."""


class NotDue(Struct, frozen=True, gc=False):
    """Somebody has moved the moment, or it was taken care of."""


DONE = Done()
NOT_DUE = NotDue()
Outcome = Started | Retried | Heard | Reported | Continued | Added | Planned | Done | NotDue
