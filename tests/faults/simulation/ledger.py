"""What was asked and answered, held against the rows: nothing acknowledged is lost or doubled.

Each report and each request carries something nobody else says (a signal its number, a result the
report it came by), so that it can be found in the histories and counted (`told.py`).
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping

from assay.engine.requests import Answer
from assay.errors import AssayError, NonDeterminism, NotFound, Refusal, StoreFault
from assay.model.ids import claim_token
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    ContinueRun,
    FailActivity,
    HeartbeatActivity,
    Operation,
    Outcome,
    ReportMismatch,
    Retry,
    Signal,
    SubmitCommands,
    Terminate,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.states import ActivityStatus
from assay.model.task import TaskKind
from tests.faults.simulation.answers import Answers, Sight
from tests.faults.simulation.chains import Chains
from tests.faults.simulation.row_types import ActivityRow, RunRow
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.trace import Broken

UNSTORABLE = '"unstorable"'
"""A payload this world's database cannot hold: whatever brings it is refused, and nothing else."""

Key = tuple[str, str]


class Ledger:
    """Everything the engines have answered."""

    def __init__(self, rows: Rows, chains: Chains, clock: Callable[[], int]) -> None:
        self.rows = rows
        self.answers = Answers(rows, clock)
        self._chains = chains
        self.kept: dict[Key, Operation] = {}
        self._kept_on: dict[Key, int] = {}
        self.arrivals: Counter[Key] = Counter()
        self.refusals: Counter[Key] = Counter()
        self.retried: Counter[str] = Counter()

    @property
    def starts(self) -> dict[str, int]:
        """Every run an answer has named, by id."""
        return self.answers.starts

    # -- before ----------------------------------------------------------------------------------

    def arrived(self, operations: tuple[Operation, ...]) -> list[Sight]:
        """Operations reach an engine: what they may end counts as released from now on."""
        return [self._arrived(operation) for operation in operations]

    def _arrived(self, operation: Operation) -> Sight:
        rows = self.rows
        key = key_of(operation)
        if key is not None:
            self.arrivals[key] += 1
        match operation:
            case SubmitCommands(holds=True):
                pass  # the claim goes on
            case SubmitCommands() | ReportMismatch():
                run = rows.run(operation.id)
                self._release(TaskKind.WORKFLOW, run.no if run else 0, operation.lease)
            case CompleteActivity() | FailActivity():
                self._release(TaskKind.ACTIVITY, operation.no, operation.fence.token)
            case Retry():
                self.retried[operation.id] += 1
            case ContinueRun():
                self._chains.operated.add(operation.id)
            case UndoWorkflowClaim() | UndoActivityClaim():
                rows.released.add(operation.token)
            case _:
                pass
        kept_on = 0 if key is None else self._kept_on.get(key, 0)
        return self.answers.sight(operation)._replace(kept_on=kept_on)

    def _release(self, kind: TaskKind, no: int, token: str | None) -> None:
        if token is None:
            self.rows.reported_bare.add((kind, no))
        else:
            self.rows.released.add(int(token[1:], 16))

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
            if isinstance(outcome, Refusal):
                self._refused(operation, outcome, sight)
            elif isinstance(outcome, AssayError):
                self._failed(operation, outcome)
            else:
                self._done(operation, outcome, sight, tokens)

    def _failed(self, operation: Operation, outcome: AssayError) -> None:
        unstorable = isinstance(operation, Signal) and operation.payload == UNSTORABLE
        if type(outcome) is StoreFault and not unstorable:
            raise Broken(f"{operation} was answered with another one's fault: {outcome}")

    def _done(
        self,
        operation: Operation,
        outcome: Outcome,
        sight: Sight,
        tokens: Mapping[int, int | None],
    ) -> None:
        if isinstance(operation, Signal) and operation.payload == UNSTORABLE:
            raise Broken("what cannot be stored was acknowledged")
        if key := key_of(operation):
            self.kept[key] = operation
            self._kept_on[key] = sight.run.no if sight.run else 0
        row, fence = fence_of(operation, sight)
        if row and fence is not None and fence != claim_token(tokens.get(row) or 0):
            raise Broken(f"accepted under a claim that is over: {operation}")
        self.answers.check_done(operation, outcome, sight)

    def _refused(self, operation: Operation, refusal: Refusal, before: Sight) -> None:
        if key := key_of(operation):
            self.refusals[key] += 1
        now = self.answers.sight(operation)
        run_before, run = before.run, now.run
        if run_before is not None and run is not None and run_before.no == run.no:
            if isinstance(operation, Signal) and operation.request_id and before.kept_on == run.no:
                raise Broken(f"{operation} was acknowledged before: {refusal}")
            self._run_refused(operation, refusal, run_before, run)
        if before.activity is not None and now.activity is not None:
            self._activity_refused(operation, refusal, before.activity, now.activity)
        self.answers.check_refused(operation, refusal, before, now)

    def _run_refused(
        self, operation: Operation, refusal: Refusal, before: RunRow, now: RunRow
    ) -> None:
        if isinstance(operation, Retry) or self.retried[now.id]:
            return
        if isinstance(operation, SubmitCommands | ReportMismatch):
            if isinstance(refusal, NonDeterminism) or operation.lease is None:
                return
            held = operation.worker_id, operation.lease
            if all(is_held_by(row, *held) for row in (before, now)):
                raise Broken(f"{operation} was refused under an open claim: {refusal}")
        elif isinstance(operation, Signal | Cancel | Terminate) and before.is_open and now.is_open:
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

    def is_taken_back(self, operation: Operation) -> bool:
        """An operator retry forgets what activities came to after their run had ended."""
        if not isinstance(operation, CompleteActivity):
            return False
        return any(self.retried.values()) and operation.no not in self.rows.activities


def key_of(operation: Operation) -> Key | None:
    """What an operation says that no other says; None if it leaves nothing to be found."""
    match operation:
        case Signal():
            return "signal", str(json.loads(operation.payload or "null"))
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


def fence_of(operation: Operation, sight: Sight) -> tuple[int, str | None]:
    """The row a report is about, and the claim it proves."""
    if isinstance(operation, SubmitCommands | ReportMismatch):
        return (0 if sight.run is None else sight.run.no), operation.lease
    if isinstance(operation, CompleteActivity | FailActivity | HeartbeatActivity):
        return operation.no, operation.fence.token
    return 0, None


def is_held_by(run: RunRow, worker_id: str, lease: str) -> bool:
    """Whether that claim is open on the run."""
    token = run.claim_token
    return (
        run.is_open
        and run.claimed_by == worker_id
        and token is not None
        and claim_token(token) == lease
    )
