"""An exclusive engine on a store in memory, asked one thing at a time; its rows as one picture."""

import json
from collections.abc import Sequence

from assay.core.decide import Rules
from assay.engine.engine import Engine
from assay.engine.limits import HORIZON, WINDOW_TASKS
from assay.engine.requests import CommitStep, LoadStep, Request, SettleStep, Step
from assay.engine.wants import Grant, Want
from assay.errors import AssayError
from assay.model.operations import Operation, Outcome
from assay.model.task import TaskKind
from assay.store.port import Look
from assay.store.sqlite.store import SqliteStore
from tests.properties.contract_model import Contract
from tests.properties.stories import LEASE
from tests.support.http import Json

RUNS = "SELECT no, id, status, ready_at, claim_token, claim_until, cancel_seq, waits FROM run"
WORK = "SELECT no, seq, name, status, attempt, ready_at, claim_until FROM activity WHERE run_no = ?"
ALARMS = "SELECT seq, state, fire_at FROM timer WHERE run_no = ?"
HISTORY = "SELECT type, voided_by IS NOT NULL FROM event WHERE run_no = ? ORDER BY seq"


class Driver:
    """Does one operation after the other."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.store = SqliteStore(":memory:")
        instance = self.store.open_now()
        self.engine = Engine(instance=instance, exclusive=True, rules=Rules(lease=LEASE))

    def close(self) -> None:
        self.store.close_now()

    def do(self, operation: Operation) -> Outcome | AssayError:
        """One operation in a batch of its own."""
        answers: list[Outcome | AssayError] = []
        self.engine.submit(Request((operation,), answers.extend))
        self.run()
        [answer] = answers
        return answer

    def poll(self, kind: TaskKind, worker: str) -> Grant | None:
        """A task that is there now."""
        grants: list[Grant | AssayError | None] = []
        self.engine.want(Want(Look(kind, None, "queue"), worker, held=False, answer=grants.append))
        self.run()
        [grant] = grants
        assert not isinstance(grant, AssayError), grant
        return grant

    def pass_time(self, now: int) -> None:
        """Whatever is due by then happens."""
        self.now = now
        self.engine.recover(self.store.deadlines_now(now + HORIZON))
        self.run()

    def run(self) -> None:
        for _ in range(20):
            step = self.engine.begin(self.now)
            if step is None and not self.engine.has_work:
                return
            while step is not None:
                step = self._take(step)
        raise AssertionError("the engine does not come to rest")

    def _take(self, step: Step) -> Step | None:
        match step:
            case LoadStep(keys, looks):
                rows = self.store.load_now(keys)
                found = self.store.ready_now(looks, WINDOW_TASKS)
                return self.engine.loaded(rows, list(zip(looks, found, strict=True)))
            case CommitStep(batch):
                return self.engine.committed(self.store.commit_now(batch))
            case SettleStep():
                raise AssertionError("nothing is unknown here")

    def number(self, workflow_id: str, seq: int) -> int:
        """The number of an activity, 0 if it is not there."""
        query = (
            "SELECT activity.no FROM activity JOIN run ON run.no = run_no WHERE id = ? AND seq = ?"
        )
        rows = self._rows(query, workflow_id, seq)
        return int(rows[0][0]) if rows else 0

    def run_number(self, workflow_id: str) -> int:
        rows = self._rows("SELECT no FROM run WHERE id = ?", workflow_id)
        return int(rows[0][0]) if rows else 0

    def picture(self) -> dict[str, Json]:
        """All that the model speaks about."""
        return {
            id: {
                "run": (status, ready_at, token, until, cancelled),
                "waits": sorted(str(tuple(wait[:2])) for wait in json.loads(waits or "[]")),
                "history": self._rows(HISTORY, no),
                "work": {row[1]: tuple(row[2:]) for row in self._rows(WORK, no)},
                "alarms": {row[0]: tuple(row[1:]) for row in self._rows(ALARMS, no)},
            }
            for no, id, status, ready_at, token, until, cancelled, waits in self._rows(RUNS)
        }

    def _rows(self, query: str, *parameters: object) -> Sequence[tuple[Json, ...]]:
        return self.store._connection.execute(query, parameters).fetchall()


def picture(contract: Contract) -> dict[str, Json]:
    """The model in the same form."""
    return {
        run.id: {
            "run": (run.status, run.ready_at, run.token, run.until, run.cancelled),
            "waits": sorted(map(str, run.waits)),
            "history": [(event.kind, int(event.void)) for event in run.history],
            "work": {
                work.seq: (work.name, work.status, work.attempt, work.ready_at, work.until)
                for work in run.work.values()
            },
            "alarms": {alarm.seq: (alarm.state, alarm.fire_at) for alarm in run.alarms.values()},
        }
        for run in contract.runs.values()
    }
