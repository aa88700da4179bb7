"""The desk a batch is decided on: rows as they were underneath, rows as they are to be on top.

Core writes here and nowhere else. A refused operation is rolled back to its mark, so that it fails
alone and the rest of the batch goes on (tests/unit/core/test_draft.py).
"""

from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from assay.core.frames import NOTHING, frames_of
from assay.core.layer import ABSENT, Journal, Layer, write
from assay.core.projections import attribute_changes, count_changes
from assay.core.schedule_layer import ScheduleLayer
from assay.core.view import View
from assay.model.activity import Activity
from assay.model.attempt import Attempt, Forgotten
from assay.model.decision import Change, Decision, NamespaceChange, SignalRequest, Voided
from assay.model.events import CHILD_OUTCOMES, Event, EventType
from assay.model.frame import Details
from assay.model.note import Kind, Note
from assay.model.run import Run
from assay.model.snapshot import Snapshot
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
    notes: int


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
        self.notes: list[Note] = []
        self.snapshots: dict[int, Snapshot] = {}
        self.requests: dict[tuple[int, str], SignalRequest] = {}
        self.attempts: dict[tuple[int, int], Attempt] = {}
        self.forgotten: dict[int, Forgotten] = {}
        self.namespaces: dict[str, NamespaceChange] = {}
        self.purged: dict[int, None] = {}
        # Inputs of activities scheduled in this batch: handing one over need not read it back.
        self.inputs: dict[int, str | None] = {}
        self._opened: dict[str, int] = {}
        self._born: set[int] = set()
        self._children: dict[int, list[int]] = {}
        # Runs that cancel requests of this batch have reached from above (see cancel.py).
        self.cascaded = 0
        # What replays of a run had recorded (recorded.py); forgotten when anything is rolled back.
        self.recorded: dict[int, set[tuple[str, str | int, int]]] = {}
        self._journal: Journal = []
        self.activities: Layer[Activity] = Layer(view.activities, self._born, self._journal)
        self.timers: Layer[Timer] = Layer(view.timers, self._born, self._journal)
        self.schedules = ScheduleLayer(view, self._journal)

    def run(self, no: int) -> Run | None:
        """The run of that number as it stands now."""
        run = self.runs.get(no)
        if run is None and no not in self.purged:
            return self.view.run(no)
        return run

    def run_by_id(self, workflow_id: str) -> Run | None:
        """The run of that id as it stands now, None if the id is free."""
        no = self._opened.get(workflow_id)
        if no is not None and no in self.runs:
            return self.runs[no]
        run = self.view.run_by_id(workflow_id)
        if run is None or run.no in self.purged:
            return None
        return self.runs.get(run.no, run)

    def unasked_children(self, run_no: int, asker: int) -> tuple[list[Run], bool]:
        """Open children that the asker's cancel request has not reached; whether these are all."""
        nos, whole = self._children.get(run_no, []), True
        if run_no not in self._born:
            stored = self.view.run(run_no)
            if stored is not None and stored.cascade is not None and stored.asked_by != asker:
                return [], False  # what could be read now are those another request has not reached
            before = self.view.open_children(run_no)
            nos, whole = [*before.nos, *nos], before.whole
        found = [self.run(no) for no in nos]
        unasked = (run for run in found if run is not None and run.asked_by != asker)
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

    def standing(self, run: Run, kinds: frozenset[EventType]) -> list[Event]:
        """Events of these kinds, recorded ones or signals, in a run's history up to now."""
        before: tuple[Event, ...] = ()
        if run.no not in self._born:
            view = self.view
            signals = EventType.SIGNAL_RECEIVED in kinds
            before = view.signals(run.no) if signals else view.recorded(run.no)
        return [
            *before,
            *(each for each in self.events if each.run_no == run.no and each.type in kinds),
        ]

    def last_link(self, run: Run) -> Run | None:
        """The run at the end of the chain of successors from here; None if a link is gone."""
        while (next_no := run.successor_no) is not None:
            last_no = next_no if next_no in self.runs else self.view.last_link(next_no)
            following = None if last_no is None else self.run(last_no)
            if following is None:
                return None
            run = following
        return run

    def namespace(self, name: str) -> bool:
        """Whether it exists now."""
        change = self.namespaces.get(name)
        return self.view.namespace(name) if change is None else change.created

    def is_repeat(self, run: Run, request_id: str) -> bool:
        """Whether a signal with that id of its sender's has reached the run."""
        if (run.no, request_id) in self.requests:
            return True
        return run.no not in self._born and self.view.signal_request(run.no, request_id)

    def is_born(self, run: Run) -> bool:
        """The run began in this very batch."""
        return run.no in self._born

    def open(self, run: Run) -> Run:
        """Keep a run that did not exist before."""
        self._opened[run.id] = run.no
        self._born.add(run.no)
        if run.parent_no is not None:
            self._children.setdefault(run.parent_no, []).append(run.no)
        return self.put(run)

    def put(self, run: Run) -> Run:
        """Keep a run's new state. Putting it unchanged guards what a decision read of it."""
        write(self._journal, self.runs, run.no, run)
        return run

    def keep_snapshot(self, snapshot: Snapshot) -> None:
        """The newest snapshot of a run; the one before it goes."""
        write(self._journal, self.snapshots, snapshot.run_no, snapshot)

    def keep_request(self, run: Run, request_id: str) -> None:
        """A signal came with this id of its sender's."""
        request = SignalRequest(run.no, request_id)
        write(self._journal, self.requests, (run.no, request_id), request)

    def change_namespace(self, name: str, *, created: bool) -> None:
        """A namespace comes or goes."""
        write(self._journal, self.namespaces, name, NamespaceChange(name, created))

    def purge(self, run: Run) -> None:
        """A run goes, and all that belongs to it."""
        write(self._journal, self.purged, run.no, None)

    def keep_attempt(self, attempt: Attempt) -> None:
        """An attempt failed."""
        write(self._journal, self.attempts, (attempt.activity_no, attempt.attempt), attempt)

    def forget_attempts(self, activity: Activity) -> None:
        """An activity goes or starts anew: its failed attempts are not kept any longer."""
        gone = Forgotten(activity.run_no, activity.no)
        write(self._journal, self.forgotten, activity.no, gone)

    def note(self, kind: Kind, run: Run, details: Details = NOTHING) -> None:
        """Tell the stream what no event tells."""
        self.notes.append(Note(kind, run.no, len(self.events), details))

    def append(self, run: Run, kind: EventType, payload: str | None) -> Run:
        """Add the next event to a run's history. The caller puts the run that comes back."""
        seq = run.last_seq + 1
        self.events.append(Event(run.no, seq, self.take_number(), kind, self.now, payload))
        return replace(run, last_seq=seq)

    def mark(self) -> Mark:
        """A point to roll back to."""
        return Mark(
            len(self._journal),
            len(self.events),
            len(self.voided),
            len(self.workers),
            len(self.notes),
        )

    def changed_since(self, mark: Mark) -> bool:
        """Whether anything was written after that point."""
        return len(self._journal) > mark.writes or len(self.workers) > mark.workers

    def roll_back(self, mark: Mark) -> None:
        """Forget everything after that point."""
        self.recorded.clear()
        while len(self._journal) > mark.writes:
            rows, name, old = self._journal.pop()
            if old is ABSENT:
                del rows[name]
            else:
                rows[name] = old
        del self.events[mark.events :]
        del self.voided[mark.voided :]
        del self.workers[mark.workers :]
        del self.notes[mark.notes :]

    def seal(self) -> Decision:
        """Everything the batch came to."""
        runs = tuple(self._change(no, run) for no, run in self._changed_runs())
        activities = self.activities.changes()
        added, removed = attribute_changes(runs)
        return Decision(
            at=self.now,
            runs=runs,
            activities=activities,
            timers=self.timers.changes(),
            events=tuple(self.events),
            voided=tuple(self.voided),
            attempts=tuple(self.attempts.values()),
            forgotten=tuple(self.forgotten.values()),
            workers=tuple(self.workers),
            schedules=self.schedules.changes(),
            snapshots=tuple(self.snapshots.values()),
            requests=tuple(self.requests.values()),
            namespaces=tuple(self._changed_namespaces()),
            purged=tuple(self.purged),
            frames=frames_of(runs, activities, self.events, self.notes),
            attributes_added=added,
            attributes_removed=removed,
            counts=count_changes(runs),
        )

    def _changed_namespaces(self) -> list[NamespaceChange]:
        """What went and came again does both; what came and went was never there."""
        changes: list[NamespaceChange] = []
        for change in self.namespaces.values():
            if self.view.namespace(change.name):
                changes.append(NamespaceChange(change.name, created=False))
            if change.created:
                changes.append(change)
        return changes

    def _changed_runs(self) -> list[tuple[int, Run | None]]:
        gone: list[tuple[int, Run | None]] = [(no, None) for no in self.purged]
        return gone + [(no, run) for no, run in self.runs.items() if no not in self.purged]

    def _change(self, no: int, run: Run | None) -> Change[Run]:
        before = None if no in self._born else self.view.run(no)
        if run is None or before is None:
            return Change(before, run)
        return Change(before, replace(run, ver=before.ver + 1))


def _tells(event: Event, child_id: str) -> bool:
    if event.type not in CHILD_OUTCOMES or event.payload is None:
        return False
    return _outcome.decode(event.payload).child_workflow_id == child_id
