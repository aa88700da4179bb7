"""A store in dicts: decisions are made on it, one batch each, and what they come to is kept."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Generic

from msgspec.structs import replace

from assay.core.claim import claim_activity, claim_run
from assay.core.decide import Rules, decide
from assay.core.draft import Draft
from assay.core.view import CHILDREN_AT_ONCE, OpenChildren, Row, WholeRun
from assay.errors import Refusal
from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.commands import Command, ScheduleActivity, ScheduleTimer, StartChild
from assay.model.decision import Attribute, Change, Decision
from assay.model.decision import Row as Kept
from assay.model.events import CHILD_OUTCOMES, RECORDED, Event, EventType
from assay.model.operations import Due, DueKind, Operation, Outcome, Start, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.snapshot import Snapshot
from assay.model.task import Claim
from assay.model.time import MICROS
from assay.model.timer import Timer
from assay.model.worker import Worker

NOW = 1_790_000_000 * MICROS
LEASE = 30 * MICROS
RULES = Rules(lease=LEASE)


class DictShelf(Generic[Row]):
    """Activities, or timers, by number."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    def get(self, no: int) -> Row | None:
        return self.rows.get(no)

    def at(self, run_no: int, seq: int) -> Row | None:
        return next((row for row in self.of(run_no) if row.seq == seq), None)

    def live(self, run_no: int) -> Iterable[Row]:
        return [row for row in self.of(run_no) if row.is_live]

    def of(self, run_no: int) -> list[Row]:
        return [row for row in self.rows.values() if row.run_no == run_no]


class Desk:
    """Rows as they stand, the clock, and short ways to say what happens."""

    def __init__(self) -> None:
        self.now = NOW
        self.runs: dict[int, Run] = {}
        self.activities: DictShelf[Activity] = DictShelf()
        self.timers: DictShelf[Timer] = DictShelf()
        self.history: dict[int, list[Event]] = {}
        self.workers: list[Worker] = []
        self.schedules: dict[int, Schedule] = {}
        self.snapshots: dict[int, Snapshot] = {}
        self.requests: set[tuple[int, str]] = set()
        self.attempts: dict[tuple[int, int], Attempt] = {}
        self.namespaces = {"main"}
        self.attributes: set[Attribute] = set()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.children_at_once = CHILDREN_AT_ONCE
        self.decision = Decision(at=NOW)
        self._next = 1

    # -- what decisions see ----------------------------------------------------------------------

    def run(self, no: int) -> Run | None:
        return self.runs.get(no)

    def run_by_id(self, workflow_id: str) -> Run | None:
        return next((run for run in self.runs.values() if run.id == workflow_id), None)

    def open_children(self, run_no: int) -> OpenChildren:
        parent = self.runs[run_no]
        reached = None if parent.cascade is None else parent.asked_by
        children = (run for run in self._children(run_no) if run.is_open)
        nos = tuple(run.no for run in children if reached is None or run.asked_by != reached)
        return OpenChildren(nos[: self.children_at_once], len(nos) <= self.children_at_once)

    def payload(self, run_no: int, seq: int) -> str | None:
        return self.history[run_no][seq - 1].payload

    def told_children(self, run_no: int) -> frozenset[str]:
        told = [event for event in self.history[run_no] if event.type in CHILD_OUTCOMES]
        return frozenset(said(event)["child_workflow_id"] for event in told)

    def whole_run(self, no: int) -> WholeRun:
        ended = [run for run in self._children(no) if not run.is_open]
        return WholeRun(
            activities=tuple(self.activities.of(no)),
            timers=tuple(self.timers.of(no)),
            events=tuple(self.history[no]),
            ended_children=tuple(sorted(ended, key=lambda run: (run.completed_at or 0, run.no))),
        )

    def recorded(self, run_no: int) -> tuple[Event, ...]:
        return self._standing(run_no, RECORDED)

    def signals(self, run_no: int) -> tuple[Event, ...]:
        return self._standing(run_no, frozenset({EventType.SIGNAL_RECEIVED}))

    def signal_request(self, run_no: int, request_id: str) -> bool:
        return (run_no, request_id) in self.requests

    def last_link(self, run_no: int) -> int | None:
        run = self.runs.get(run_no)
        while run is not None and run.successor_no is not None:
            run = self.runs.get(run.successor_no)
        return None if run is None else run.no

    def blocked_runs(self, queue: str) -> tuple[int, ...]:
        return tuple(run.no for run in self.all() if run.queue == queue and run.blocked)

    def namespace(self, name: str) -> bool:
        return name in self.namespaces

    def schedule(self, no: int) -> Schedule | None:
        return self.schedules.get(no)

    def schedule_named(self, namespace: str, name: str) -> Schedule | None:
        names = {(each.namespace, each.name): each for each in self.schedules.values()}
        return names.get((namespace, name))

    def take(self) -> int:
        self._next += 1
        return self._next

    # -- what happens ----------------------------------------------------------------------------

    def draft(self) -> Draft:
        return Draft(self, self.now, self)

    def ask(self, *operations: Operation) -> list[Outcome | Refusal]:
        """Decide one batch; what it comes to is kept, refusals come back as they are."""
        draft = self.draft()
        outcomes = [decide(draft, operation, RULES) for operation in operations]
        self.keep(draft)
        return outcomes

    def do(self, operation: Operation) -> Outcome:
        """Decide one operation; a refusal is raised."""
        outcome = self.ask(operation)[0]
        if isinstance(outcome, Refusal):
            raise outcome
        return outcome

    def start(self, id: str = "wf") -> Run:
        self.do(Start("order", id))
        return self.at(id)

    def claim(self, id: str = "wf", worker: str = "w1") -> Claim:
        draft = self.draft()
        claim = claim_run(draft, self.at(id), worker, LEASE)
        self.keep(draft)
        return claim

    def submit(self, *commands: Command, id: str = "wf", worker: str = "w1") -> None:
        self.do(SubmitCommands(id, worker, commands))

    def step(self, *commands: Command, id: str = "wf") -> None:
        """A worker claims the run and answers at once."""
        self.claim(id)
        self.submit(*commands, id=id)

    def work(self, seq: int = 1, id: str = "wf", worker: str = "w1") -> Claim:
        """A worker claims an activity."""
        draft = self.draft()
        claim = claim_activity(draft, self.activity(seq, id), worker)
        self.keep(draft)
        return claim

    def later(self, secs: float) -> None:
        self.now += round(secs * MICROS)

    def expire(self, id: str = "wf") -> None:
        """The lease runs out without an answer."""
        self.now = self.at(id).claim_until or self.now
        self.do(Due(DueKind.RUN, self.at(id).no))

    def keep(self, draft: Draft) -> None:
        """What a commit does: rows replaced under their guards, events appended."""
        decision = self.decision = draft.seal()
        for change in decision.runs:
            self._keep(self.runs, change)
        for activity in decision.activities:
            self._keep(self.activities.rows, activity)
        for timer in decision.timers:
            self._keep(self.timers.rows, timer)
        for event in decision.events:
            told = self.history.setdefault(event.run_no, [])
            assert event.seq == len(told) + 1
            told.append(event)
        for voided in decision.voided:
            told = self.history[voided.run_no]
            for seq in voided.seqs:
                assert told[seq - 1].voided_by is None
                told[seq - 1] = replace(told[seq - 1], voided_by=voided.by)
        self.workers += decision.workers
        self._keep_parts(decision)

    def _keep_parts(self, decision: Decision) -> None:
        """What follows runs, and what is not of runs."""
        for schedule in decision.schedules:
            self._keep(self.schedules, schedule)
        for gone in decision.forgotten:
            for key in [key for key in self.attempts if key[0] == gone.activity_no]:
                assert self.attempts.pop(key).run_no == gone.run_no
        for attempt in decision.attempts:
            key = (attempt.activity_no, attempt.attempt)
            assert key not in self.attempts
            self.attempts[key] = attempt
        self.snapshots.update({each.run_no: each for each in decision.snapshots})
        self.requests.update((each.run_no, each.request_id) for each in decision.requests)
        for change in decision.namespaces:
            assert (change.name in self.namespaces) is not change.created
            (self.namespaces.add if change.created else self.namespaces.remove)(change.name)
        self.attributes.difference_update(decision.attributes_removed)
        self.attributes.update(decision.attributes_added)
        self.counts.update({(each.namespace, each.status): each.by for each in decision.counts})
        for no in decision.purged:
            for shelf in (self.activities.rows, self.timers.rows):
                for row in [row for row in shelf.values() if row.run_no == no]:
                    del shelf[row.no]
            for key in [key for key, each in self.attempts.items() if each.run_no == no]:
                del self.attempts[key]
            del self.history[no]
            self.snapshots.pop(no, None)

    # -- what came of it -------------------------------------------------------------------------

    def all(self) -> list[Run]:
        return list(self.runs.values())

    def at(self, id: str = "wf") -> Run:
        run = self.run_by_id(id)
        assert run is not None
        return run

    def activity(self, seq: int = 1, id: str = "wf") -> Activity:
        row = self.activities.at(self.at(id).no, seq)
        assert row is not None
        return row

    def timer(self, seq: int = 1, id: str = "wf") -> Timer:
        row = self.timers.at(self.at(id).no, seq)
        assert row is not None
        return row

    def failed_attempts(self, seq: int = 1, id: str = "wf") -> list[Attempt]:
        no = self.activity(seq, id).no
        return [attempt for attempt in self.attempts.values() if attempt.activity_no == no]

    def events(self, id: str = "wf") -> list[Event]:
        return self.history[self.at(id).no]

    def told(self, id: str = "wf") -> list[EventType]:
        return [event.type for event in self.events(id)]

    def standing(self, id: str = "wf") -> list[EventType]:
        return [event.type for event in self.events(id) if event.voided_by is None]

    def _standing(self, run_no: int, kinds: frozenset[EventType]) -> tuple[Event, ...]:
        told = self.history[run_no]
        return tuple(each for each in told if each.voided_by is None and each.type in kinds)

    def _children(self, run_no: int) -> list[Run]:
        return [run for run in self.all() if run.parent_no == run_no]

    def _keep(self, rows: dict[int, Kept], change: Change[Kept]) -> None:
        no = (change.after or change.before).no  # type: ignore[union-attr] # one of them is there
        assert rows.get(no) is change.before
        if change.after is None:
            del rows[no]
        else:
            assert change.before is None or change.after.ver == change.before.ver + 1
            rows[no] = change.after


def said(event: Event) -> Any:
    """An event's payload, read."""
    return json.loads(event.payload or "null")


def activity(
    seq: int = 1, name: str = "pay", policy: RetryPolicy | None = None
) -> ScheduleActivity:
    return ScheduleActivity(seq, name, "default", f"[{seq}]", policy or RetryPolicy())


def timer(seq: int = 1, secs: float = 60) -> ScheduleTimer:
    return ScheduleTimer(seq, secs)


def child(id: str = "child") -> StartChild:
    return StartChild("step", id, "default", None)
