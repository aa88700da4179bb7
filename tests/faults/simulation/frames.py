"""The event stream: what a commit adds to it follows from the events and rows of that commit."""

import json
from collections import Counter

from assay.model.states import ActivityStatus, RunStatus
from tests.faults.simulation.chains import Chains
from tests.faults.simulation.rows import Rows, Step
from tests.faults.simulation.trace import Broken
from tests.support.http import Json

Told = tuple[str, str]
TOLD = {
    "WorkflowStarted": "workflow_started",
    "WorkflowCompleted": "workflow_completed",
    "WorkflowContinuedAsNew": "workflow_completed",
    "WorkflowFailed": "workflow_failed",
    "WorkflowCancelled": "workflow_cancelled",
    "WorkflowTimedOut": "workflow_timed_out",
    "ActivityRetryRequested": "workflow_retry_requested",
    "SignalReceived": "signal_received",
    "ActivityScheduled": "activity_inserted",
    "ActivityCompleted": "task_completed",
    "ActivityFailed": "task_failed",
}
LATE = {ActivityStatus.COMPLETED: "task_completed", ActivityStatus.FAILED: "task_failed"}
NEW = "SELECT last, size, frames FROM stream WHERE last > ? ORDER BY last"


class Frames:
    """Reads after each commit what it added, and compares."""

    def __init__(self, rows: Rows, chains: Chains) -> None:
        self._rows = rows
        self._chains = chains
        self._newest = 0

    def check(self, step: Step) -> None:
        """After a commit: one row at most, numbered without a gap."""
        frames: list[Json] = []
        for last, size, text in self._rows.connection.execute(NEW, (self._newest,)):
            frames += json.loads(text)
            if frames != json.loads(text) or last - size != self._newest or size != len(frames):
                raise Broken(f"the stream went from {self._newest} to {last} with {frames}")
            self._newest = last
        told = [(kind, workflow_id) for kind, _, workflow_id, _ in frames]
        self._compare([each for each in told if each[0] in FROM_EVENTS], step)
        others = Counter(each for each in told if each[0] not in FROM_EVENTS)
        must, may = self._others(step)
        if must - others or others - must - may:
            raise Broken(f"the stream tells {others}, the rows {must}, perhaps {may}")

    def _compare(self, told: list[Told], step: Step) -> None:
        """In the order of the events; what came too late for a history is told between them."""
        expected, late = self._events(step), self._late(step)
        at = 0
        for each in told:
            if at < len(expected) and each == expected[at]:
                at += 1
            elif late[each]:
                late[each] -= 1
            else:
                raise Broken(f"the stream tells {told}, the events {expected}")
        if at < len(expected) or +late:
            raise Broken(f"the stream tells {told}, the events {expected}, the rows {late}")

    def _late(self, step: Step) -> Counter[Told]:
        """Activities that ended after their run had."""
        late = Counter[Told]()
        for change in step.decision.activities:
            before, after = change.before, change.after
            if before is None or after is None or not before.is_live or after.outcome_seq:
                continue
            run = self._rows.even_if_gone(after.run_no)
            if after.status in LATE and run is not None:
                late[LATE[after.status], run.id] += 1
        return late

    def _events(self, step: Step) -> list[Told]:
        """News of histories, in their order: what enters one a second time is none."""
        told: list[Told] = []
        retried: set[int] = set()
        for event in step.decision.events:
            run = self._rows.even_if_gone(event.run_no)
            kind = TOLD.get(event.type)
            if run is None or kind is None or event.seq in self._chains.carried.get(run.no, ()):
                continue
            if kind == "workflow_retry_requested":
                retried.add(run.no)
            if kind in ("task_completed", "task_failed") and run.no in retried:
                continue
            if kind == "workflow_failed" and "terminated" in json.loads(event.payload or "{}"):
                kind = "workflow_terminated"
            told.append((kind, run.id))
        return told

    def _others(self, step: Step) -> tuple[Counter[Told], Counter[Told]]:
        """What rows tell, and what may have been so between the operations of the commit."""
        must, may = Counter[Told](), Counter[Told]()
        for no, old in step.runs.items():
            new = self._rows.even_if_gone(no)
            assert new is not None
            if no in step.decision.purged:
                must["workflow_deleted", new.id] += 1
                continue
            if old is None and new.is_scheduled:
                must["schedule_triggered", new.id] += 1
            running, blocked = ("workflow_running", new.id), ("workflow_blocked", new.id)
            if old is None or old.status != RunStatus.RUNNING:
                (must if new.status == RunStatus.RUNNING else may)[running] += 1
            if new.blocked is None or (old is not None and new.blocked == old.blocked):
                may[blocked] += 1
            else:
                must[blocked] += 1
        return must, may


FROM_EVENTS = frozenset(TOLD.values()) | {"workflow_terminated"}
