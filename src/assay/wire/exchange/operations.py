"""The operations of an exchange: one definition each, and the union of all."""

from msgspec import UNSET, Struct, UnsetType

from assay.errors import BadValue, Refusal
from assay.model import operations as model
from assay.model.operations import (
    Operation,
    ReportMismatch,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.task import TaskKind
from assay.wire import values
from assay.wire.batches import at_index
from assay.wire.commands import CommandBody
from assay.wire.fields import Name, Whole
from assay.wire.requests.runs import SendSignal, StartWorkflow
from assay.wire.requests.tasks import CompleteTask, FailTask, HeartbeatTask

VERSION = 1


class StartRun(StartWorkflow, tag_field="op", tag="start", kw_only=True):
    """Begin a run."""

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        return self.operation()


class SignalRun(SendSignal, tag_field="op", tag="signal", kw_only=True):
    """Tell a run something."""

    id: Name
    name: Name

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        return self.operation(self.id, self.name)


class SubmitCommands(Struct, tag_field="op", tag="commands", kw_only=True, omit_defaults=True):
    """The outcome of a replay; `keeps`, `holds` and `seen` as in the model."""

    id: Name
    lease: Name
    commands: list[CommandBody]
    keeps: bool | None = False
    holds: bool | None = False
    seen: Whole | None = None

    def __post_init__(self) -> None:
        if self.seen is not None:
            self.seen = values.whole("seen", self.seen)

    def of(self, session: str) -> Operation:
        """As the engine performs it; of a bad command the run shows what is wrong."""
        values.identifier("workflow id", self.id)
        values.identifier("lease", self.lease)
        seen = None if self.seen is None else values.integer("seen", self.seen)
        commands = []
        for index, body in enumerate(self.commands):
            try:
                commands.append(body.command())
            except Refusal as refusal:
                raise BadBatch(self.id, session, self.lease, at_index(index, refusal)) from None
        keeps, holds = self.keeps is True, self.holds is True
        return model.SubmitCommands(
            self.id, session, tuple(commands), self.lease, keeps, holds, seen=seen
        )


class BadBatch(BadValue):
    """A batch is refused for what it holds; its run is to show that."""

    def __init__(self, id: str, session: str, lease: str, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.rejection = model.RejectCommands(id, session, values.text(str(refusal)), lease)


class ShowMismatch(Struct, tag_field="op", tag="mismatch", kw_only=True):
    """A replay asks for something else than history holds."""

    id: Name
    lease: Name
    error: str

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        values.identifier("workflow id", self.id)
        values.identifier("lease", self.lease)
        return ReportMismatch(self.id, session, values.text(self.error), self.lease)


class Complete(CompleteTask, tag_field="op", tag="complete", kw_only=True):
    """An attempt succeeded."""

    no: Whole

    def __post_init__(self) -> None:
        super().__post_init__()
        self.no = values.whole("no", self.no)

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        return self.operation(str(values.integer("activity id", self.no)))


class Fail(FailTask, tag_field="op", tag="fail", kw_only=True):
    """An attempt failed."""

    no: Whole

    def __post_init__(self) -> None:
        super().__post_init__()
        self.no = values.whole("no", self.no)

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        return self.operation(str(values.integer("activity id", self.no)))


class Heartbeat(HeartbeatTask, tag_field="op", tag="heartbeat", kw_only=True):
    """An attempt is alive."""

    no: Whole

    def __post_init__(self) -> None:
        super().__post_init__()
        self.no = values.whole("no", self.no)

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        return self.operation(str(values.integer("activity id", self.no)))


class HandBack(Struct, tag_field="op", tag="return", kw_only=True):
    """A task that was not begun goes back: its mark and its age are as before."""

    kind: TaskKind
    no: Whole
    token: str

    def __post_init__(self) -> None:
        self.no = values.whole("no", self.no)

    def of(self, session: str) -> Operation:
        """As the engine performs it."""
        no, token = values.integer("no", self.no), values.claim_number(self.token)
        if self.kind is TaskKind.WORKFLOW:
            return UndoWorkflowClaim(no, token)
        return UndoActivityClaim(no, token)


Operations = (
    StartRun | SignalRun | SubmitCommands | ShowMismatch | Complete | Fail | Heartbeat | HandBack
)


class Outcome(Struct, omit_defaults=True):
    """How an operation went, with the status that its own route would answer."""

    status: int
    error: str | UnsetType = UNSET
    workflow_id: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    cancel_requested: bool | UnsetType = UNSET
