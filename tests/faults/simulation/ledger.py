"""What was asked and answered, held against the rows: nothing acknowledged is lost or doubled.

Each report and each request carries something nobody else says (a signal its number, a result the
report it came by), so that it can be found in the histories and counted.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from assay.engine.requests import Answer
from assay.errors import AssayError, NonDeterminism, NotFound, Refusal, StoreFault
from assay.model.ids import claim_token
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    HeartbeatActivity,
    Operation,
    Retry,
    Signal,
    Start,
    Started,
    SubmitCommands,
    Terminate,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.states import ActivityStatus
from assay.model.task import TaskKind
from tests.faults.simulation.rows import ActivityRow, Rows, RunRow
from tests.faults.simulation.trace import Broken
from tests.support.http import Json

UNSTORABLE = '"unstorable"'
"""A payload this world's database cannot hold: whatever brings it is refused, and nothing else."""


class Sight(NamedTuple):
    """The row an operation is about, as it stood when the operation arrived."""

    run: RunRow | None = None
    activity: ActivityRow | None = None


class Ledger:
    """Everything the engines have answered."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.kept: dict[tuple[str, str], Operation] = {}
        self.arrivals: Counter[tuple[str, str]] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.starts: dict[str, int] = {}
        self.retried: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()

    # -- before ----------------------------------------------------------------------------------

    def arrived(self, operations: tuple[Operation, ...]) -> list[Sight]:
        """Operations reach an engine: what they may end counts as released from now on."""
        return [self._arrived(operation) for operation in operations]

    def _arrived(self, operation: Operation) -> Sight:
        rows = self.rows
        if key := key_of(operation):
            self.arrivals[key] += 1
        match operation:
            case SubmitCommands():
                run = rows.run(operation.id)
                self._release(TaskKind.WORKFLOW, run.no if run else 0, operation.lease)
            case CompleteActivity() | FailActivity():
                self._release(TaskKind.ACTIVITY, operation.no, operation.fence.token)
            case Retry():
                self.retried[operation.id] += 1
            case UndoWorkflowClaim() | UndoActivityClaim():
                rows.released.add(operation.token)
            case _:
                pass
        return self._sight(operation)

    def _release(self, kind: TaskKind, no: int, token: str | None) -> None:
        if token is None:
            self.rows.reported_bare.add((kind, no))
        else:
            self.rows.released.add(int(token[1:], 16))

    def _sight(self, operation: Operation) -> Sight:
        match operation:
            case Signal() | Cancel() | Terminate() | Retry() | SubmitCommands():
                return Sight(run=self.rows.run(operation.id))
            case CompleteActivity() | FailActivity() | HeartbeatActivity():
                return Sight(activity=self.rows.activities.get(operation.no))
            case _:
                return Sight()

    # -- after -----------------------------------------------------------------------------------

    def answered(
        self,
        operations: tuple[Operation, ...],
        answer: Answer,
        sights: list[Sight],
        tokens: Mapping[int, int | None],
    ) -> None:
        """An engine has answered: is it true? `tokens` are the claims before its newest commit."""
        for operation, outcome, sight in zip(operations, answer, sights, strict=True):
            self.answers[type(outcome).__name__] += 1
            if isinstance(outcome, Refusal):
                self._refused(operation, outcome, sight)
            elif isinstance(outcome, AssayError):
                self._failed(operation, outcome)
            else:
                self._done(operation, tokens)
            if isinstance(operation, Start) and isinstance(outcome, Started):
                self._started(operation, outcome)

    def _failed(self, operation: Operation, outcome: AssayError) -> None:
        unstorable = isinstance(operation, Signal) and operation.payload == UNSTORABLE
        if type(outcome) is StoreFault and not unstorable:
            raise Broken(f"{operation} was answered with another one's fault: {outcome}")

    def _done(self, operation: Operation, tokens: Mapping[int, int | None]) -> None:
        if isinstance(operation, Signal) and operation.payload == UNSTORABLE:
            raise Broken("what cannot be stored was acknowledged")
        if key := key_of(operation):
            self.kept[key] = operation
        row, fence = self._fence(operation)
        if fence is not None and fence != claim_token(tokens.get(row) or 0):
            raise Broken(f"accepted under a claim that is over: {operation}")

    def _fence(self, operation: Operation) -> tuple[int, str | None]:
        if isinstance(operation, SubmitCommands):
            run = self.rows.run(operation.id)
            return (0 if run is None else run.no), operation.lease
        if isinstance(operation, CompleteActivity | FailActivity | HeartbeatActivity):
            return operation.no, operation.fence.token
        return 0, None

    def _started(self, operation: Start, outcome: Started) -> None:
        known = self.starts.setdefault(outcome.run.id, outcome.run.no)
        if known != outcome.run.no or operation.id not in (None, outcome.run.id):
            raise Broken(f"{outcome.run.id} was started twice: {known} and {outcome.run.no}")

    def _refused(self, operation: Operation, refusal: Refusal, before: Sight) -> None:
        if key := key_of(operation):
            self.refusals[key] += 1
        now = self._sight(operation)
        if before.run is not None and now.run is not None:
            self._run_refused(operation, refusal, before.run, now.run)
        if before.activity is not None and now.activity is not None:
            self._activity_refused(operation, refusal, before.activity, now.activity)
        if isinstance(operation, Start) and self.rows.run(operation.id or "") is None:
            raise Broken(f"{operation} was refused, but the id is free: {refusal}")

    def _run_refused(
        self, operation: Operation, refusal: Refusal, before: RunRow, now: RunRow
    ) -> None:
        if isinstance(operation, Retry) or self.retried[operation_id(operation)]:
            return
        if isinstance(operation, SubmitCommands):
            if isinstance(refusal, NonDeterminism) or operation.lease is None:
                return
            held = operation.worker_id, operation.lease
            if all(is_held_by(row, *held) for row in (before, now)):
                raise Broken(f"{operation} was refused under an open claim: {refusal}")
        elif before.is_open and now.is_open:
            raise Broken(f"{operation} was refused, but the run is open: {refusal}")

    def _activity_refused(
        self, operation: Operation, refusal: Refusal, before: ActivityRow, now: ActivityRow
    ) -> None:
        assert isinstance(operation, CompleteActivity | FailActivity | HeartbeatActivity)
        token = operation.fence.token
        if isinstance(refusal, NotFound) and before.no == now.no:
            raise Broken(f"{operation} was refused, but the activity is there: {refusal}")
        held = [row.claim_token for row in (before, now) if row.status == ActivityStatus.RUNNING]
        if token is not None and [f"c{no or 0:x}" for no in held] == [token, token]:
            raise Broken(f"{operation} was refused under an open claim: {refusal}")

    # -- at the end ------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything that was acknowledged is in the histories, what was refused is not."""
        told = self._told()
        for key, operation in self.kept.items():
            if told[key] != 1 and not self._is_taken_back(operation):
                raise Broken(f"acknowledged, but {told[key]} times in the rows: {operation}")
        for key, times in self.refusals.items():
            if told[key] and times == self.arrivals[key]:
                raise Broken(f"refused, but in the rows: {key}")
        for workflow_id, no in self.starts.items():
            run = self.rows.run(workflow_id)
            if run is None or run.no != no:
                raise Broken(f"acknowledged, but not there: the start of {workflow_id}")
        for key, times in told.items():
            if times > 1:
                raise Broken(f"{times} times in the rows: {key}")

    def _is_taken_back(self, operation: Operation) -> bool:
        """An operator retry forgets what activities came to after their run had ended."""
        if not isinstance(operation, CompleteActivity):
            return False
        return any(self.retried.values()) and operation.no not in self.rows.activities

    def _told(self) -> Counter[tuple[str, str]]:
        told: Counter[tuple[str, str]] = Counter()
        query = "SELECT run.id, event.type, event.payload FROM event JOIN run ON run.no = run_no"
        for workflow_id, kind, text in self.rows.connection.execute(query):
            payload: Json = None if text is None else json.loads(text)
            match kind:
                case "SignalReceived":
                    told["signal", f"{workflow_id} {payload['payload']}"] += 1
                case "ActivityCompleted":
                    told["result", payload["result"]["by"]] += 1
                case "WorkflowCancelRequested" if payload is not None:
                    told["cancel", f"{workflow_id} {payload['reason']}"] += 1
                case "WorkflowFailed" if "terminated" in payload:
                    told["terminate", payload["error"]] += 1
                case "ActivityRetryRequested":
                    told["retry", payload["reason"]] += 1
        late = "SELECT late_outcome FROM activity WHERE late_outcome IS NOT NULL"
        for (text,) in self.rows.connection.execute(late):
            told["result", json.loads(text)["by"]] += 1
        return told


def key_of(operation: Operation) -> tuple[str, str] | None:
    """What an operation says that no other says; None if it leaves nothing to be found."""
    match operation:
        case Signal():
            return "signal", f"{operation.id} {json.loads(operation.payload or 'null')}"
        case CompleteActivity():
            return "result", json.loads(operation.result or "{}")["by"]
        case Cancel(reason=str(reason)):
            return "cancel", f"{operation.id} {reason}"
        case Terminate(reason=str(reason)):
            return "terminate", reason
        case Retry():
            return "retry", operation.reason
        case _:
            return None


def operation_id(operation: Operation) -> str:
    """The id of the run an operation names."""
    return str(getattr(operation, "id", ""))


def is_held_by(run: RunRow, worker_id: str, lease: str) -> bool:
    """Whether that claim is open on the run."""
    token = run.claim_token
    return (
        run.is_open
        and run.claimed_by == worker_id
        and token is not None
        and claim_token(token) == lease
    )
