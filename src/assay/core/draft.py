"""The desk a batch is decided on: rows as they were underneath, rows as they are to be on top.

Core writes here and nowhere else. A refused operation is rolled back to its mark, so that it fails
alone and the rest of the batch goes on (tests/unit/core/test_draft.py).
"""

from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from assay.core.layer import ABSENT, Journal, Layer
from assay.core.view import View
from assay.model.activity import Activity
from assay.model.decision import Change, Decision, Voided
from assay.model.events import CHILD_OUTCOMES, Event, EventType
from assay.model.run import Run
from assay.model.timer import Timer
from assay.model.worker import Worker


class _Outcome(msgspec.Struct):
    child_workflow_id: str


_outcome = msgspec.json.Decoder(_Outcome)


class Numbers(Protocol):
    """Where new numbers come from: never twice the same, over restarts and instances too."""

    def take(self) -> int:
        """A number nobody had."""


class Mark(NamedTuple):
    """A point to roll back to."""

    writes: int
    events: int
    voided: int
    workers: int


class Draft:
    """Changes of one batch, over a view of the rows before it."""

    def __init__(self, view: View, now: int, numbers: Numbers) -> None:
        self.view = view
        self.now = now
        self.take_number = numbers.take
        self.runs: dict[int, Run] = {}
        self.events: list[Event] = []
        self.voided: list[Voided] = []
        self.workers: list[Worker] = []
        # Inputs of activities scheduled in this batch: handing one over need not read it back.
        self.inputs: dict[int, str | None] = {}
        self._opened: dict[str, int] = {}
        self._born: set[int] = set()
        self._children: dict[int, list[int]] = {}
        # Runs that cancel requests of this batch have reached from above (see cancel.py).
        self.cascaded = 0
        self._journal: Journal = []
        self.activities: Layer[Activity] = Layer(view.activities, self._born, self._journal)
        self.timers: Layer[Timer] = Layer(view.timers, self._born, self._journal)

    def run(self, no: int) -> Run | None:
        """The run of that number as it stands now."""
        run = self.runs.get(no)
        return run if run is not None else self.view.run(no)

    def run_by_id(self, workflow_id: str) -> Run | None:
        """The run of that id as it stands now, None if the id is free."""
        no = self._opened.get(workflow_id)
        if no is not None and no in self.runs:
            return self.runs[no]
        run = self.view.run_by_id(workflow_id)
        return None if run is None else self.runs.get(run.no, run)

    def unasked_children(self, run_no: int) -> tuple[list[Run], bool]:
        """Children that have not ended and were not asked to, oldest first; and whether all."""
        nos, whole = self._children.get(run_no, []), True
        if run_no not in self._born:
            before = self.view.open_children(run_no)
            nos, whole = [*before.nos, *nos], before.whole
        found = [self.run(no) for no in nos]
        unasked = (run for run in found if run is not None and run.cancel_seq is None)
        return [run for run in unasked if run.is_open], whole

    def result_of(self, run: Run) -> str | None:
        """The result of a run that has completed, perhaps in this very batch."""
        if run.result_seq is None:
            return None
        for event in self.events:
            if event.run_no == run.no and event.seq == run.result_seq:
                return event.payload
        return self.view.payload(run.no, run.result_seq)

    def is_told(self, run: Run, child_id: str) -> bool:
        """Whether a run's history tells how that child ended."""
        if any(event.run_no == run.no and _tells(event, child_id) for event in self.events):
            return True
        return run.no not in self._born and child_id in self.view.told_children(run.no)

    def open(self, run: Run) -> Run:
        """Keep a run that did not exist before."""
        self._opened[run.id] = run.no
        self._born.add(run.no)
        if run.parent_no is not None:
            self._children.setdefault(run.parent_no, []).append(run.no)
        return self.put(run)

    def put(self, run: Run) -> Run:
        """Keep a run's new state. Putting it unchanged guards what a decision read of it."""
        rows: dict[int, object] = self.runs  # type: ignore[assignment] # the journal puts back only what it took
        self._journal.append((rows, run.no, rows.get(run.no, ABSENT)))
        rows[run.no] = run
        return run

    def append(self, run: Run, kind: EventType, payload: str | None) -> Run:
        """Add the next event to a run's history. The caller puts the run that comes back."""
        seq = run.last_seq + 1
        self.events.append(Event(run.no, seq, self.take_number(), kind, self.now, payload))
        return replace(run, last_seq=seq)

    def mark(self) -> Mark:
        """A point to roll back to."""
        return Mark(len(self._journal), len(self.events), len(self.voided), len(self.workers))

    def changed_since(self, mark: Mark) -> bool:
        """Whether anything was written after that point."""
        return len(self._journal) > mark.writes or len(self.workers) > mark.workers

    def roll_back(self, mark: Mark) -> None:
        """Forget everything after that point."""
        while len(self._journal) > mark.writes:
            rows, no, old = self._journal.pop()
            if old is ABSENT:
                del rows[no]
            else:
                rows[no] = old
        del self.events[mark.events :]
        del self.voided[mark.voided :]
        del self.workers[mark.workers :]

    def seal(self) -> Decision:
        """Everything the batch came to."""
        return Decision(
            at=self.now,
            runs=tuple(self._change(run) for run in self.runs.values()),
            activities=self.activities.changes(),
            timers=self.timers.changes(),
            events=tuple(self.events),
            voided=tuple(self.voided),
            workers=tuple(self.workers),
        )

    def _change(self, run: Run) -> Change[Run]:
        before = None if run.no in self._born else self.view.run(run.no)
        return Change(before, run if before is None else replace(run, ver=before.ver + 1))


def _tells(event: Event, child_id: str) -> bool:
    if event.type not in CHILD_OUTCOMES or event.payload is None:
        return False
    return _outcome.decode(event.payload).child_workflow_id == child_id
