"""What the event stream tells of a batch: one table from events to frames, and the notes between.

A frame tells what has changed. So what enters a history a second time tells nothing: a signal that
is carried over to a successor, an outcome that came after its run had ended and is appended when an
operator retries the run.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from assay.model.activity import Activity
from assay.model.decision import Change
from assay.model.events import Event, EventType
from assay.model.frame import Details, Frame
from assay.model.note import Kind, Note
from assay.model.run import Run


class _Said(Struct, gc=False):
    """What frames repeat of the payloads of events."""

    error: str | None = None
    terminated: bool = False
    signal: str | None = None
    new_workflow_id: str | None = None
    requested_by: str | None = None
    reason: str | None = None
    activity_seq: int | None = None


NOTHING: Details = {}
_decode = msgspec.json.Decoder(_Said).decode


class Changes:
    """The rows that the events of a batch are about."""

    def __init__(self, runs: Iterable[Change[Run]], activities: Sequence[Change[Activity]]) -> None:
        self.runs: dict[int, Run] = {}
        # Successors that are being made, until their predecessor's last event is told.
        self.carrying: set[int] = set()
        for change in runs:
            before = change.before
            run = change.after or before
            if run is not None:
                self.runs[run.no] = run
                if run.successor_no is not None:
                    if before is None or before.successor_no is None:
                        self.carrying.add(run.successor_no)
        self._activities = activities
        self._by_event: dict[tuple[int, int], Activity] | None = None

    def activity(self, event: Event) -> Activity | None:
        """The activity that an event has scheduled, or that has ended with it in this batch."""
        if self._by_event is None:
            self._by_event = by_event = {}
            for change in self._activities:
                before, row = change.before, change.after
                if row is None:
                    continue
                if before is None:
                    by_event[row.run_no, row.scheduled_seq] = row
                if row.outcome_seq is not None and (before is None or before.is_live):
                    by_event[row.run_no, row.outcome_seq] = row
        return self._by_event.get((event.run_no, event.seq))


Tell = Callable[[Changes, Run, Event], Frame | None]


def frames_of(
    runs: Iterable[Change[Run]],
    activities: Sequence[Change[Activity]],
    events: Sequence[Event],
    notes: Sequence[Note],
) -> tuple[Frame, ...]:
    """The frames of a batch in the order in which its operations were decided."""
    if not (events or notes):
        return ()
    changes, frames, told = Changes(runs, activities), list[Frame](), 0
    for note in notes:
        if note.after > told:
            _tell(changes, events[told : note.after], frames)
            told = note.after
        run = changes.runs[note.run_no]
        frames.append(Frame(note.kind, run.namespace, run.id, note.details))
    _tell(changes, events[told:] if told else events, frames)
    return tuple(frames)


def about(activity: Activity) -> Details:
    """What frames say of an activity."""
    return {"activity_id": activity.no, "activity_seq": activity.seq, "name": activity.name}


def _tell(changes: Changes, events: Sequence[Event], frames: list[Frame]) -> None:
    runs = changes.runs
    for event in events:
        tell = _TOLD.get(event.type)
        if tell is not None:
            frame = tell(changes, runs[event.run_no], event)
            if frame is not None:
                frames.append(frame)


def _plain(kind: Kind) -> Tell:
    return lambda _changes, run, _event: Frame(kind, run.namespace, run.id, NOTHING)


def _saying(kind: Kind, *fields: str) -> Tell:
    """A frame that repeats these fields of its event's payload."""

    def tell(_: Changes, run: Run, event: Event) -> Frame:
        said = _decode(event.payload or "{}")
        details = {field: getattr(said, field) for field in fields}
        return Frame(kind, run.namespace, run.id, details)

    return tell


def _started(_: Changes, run: Run, __: Event) -> Frame:
    details = {"workflow_type": run.type, "task_queue": run.queue, "parent_id": run.parent_id}
    return Frame(Kind.WORKFLOW_STARTED, run.namespace, run.id, details)


def _failed(_: Changes, run: Run, event: Event) -> Frame:
    said = _decode(event.payload or "{}")
    kind = Kind.WORKFLOW_TERMINATED if said.terminated else Kind.WORKFLOW_FAILED
    return Frame(kind, run.namespace, run.id, {"error": said.error})


def _continued(changes: Changes, run: Run, event: Event) -> Frame | None:
    if run.successor_no is not None:
        changes.carrying.discard(run.successor_no)
    return _named_successor(changes, run, event)


def _signalled(changes: Changes, run: Run, event: Event) -> Frame | None:
    return None if run.no in changes.carrying else _named_signal(changes, run, event)


def _scheduled(changes: Changes, run: Run, event: Event) -> Frame | None:
    activity = changes.activity(event)
    if activity is None:
        return None
    details = {**about(activity), "task_queue": activity.queue}
    return Frame(Kind.ACTIVITY_INSERTED, run.namespace, run.id, details)


def _ended(kind: Kind) -> Tell:
    def tell(changes: Changes, run: Run, event: Event) -> Frame | None:
        activity = changes.activity(event)
        if activity is None:
            return None
        return Frame(kind, run.namespace, run.id, about(activity))

    return tell


_named_successor = _saying(Kind.WORKFLOW_COMPLETED, "new_workflow_id")
_named_signal = _saying(Kind.SIGNAL_RECEIVED, "signal")
_TOLD: dict[EventType, Tell] = {
    EventType.WORKFLOW_STARTED: _started,
    EventType.WORKFLOW_COMPLETED: _plain(Kind.WORKFLOW_COMPLETED),
    EventType.WORKFLOW_CONTINUED_AS_NEW: _continued,
    EventType.WORKFLOW_FAILED: _failed,
    EventType.WORKFLOW_CANCELLED: _plain(Kind.WORKFLOW_CANCELLED),
    EventType.WORKFLOW_TIMED_OUT: _plain(Kind.WORKFLOW_TIMED_OUT),
    EventType.ACTIVITY_RETRY_REQUESTED: _saying(
        Kind.WORKFLOW_RETRY_REQUESTED, "requested_by", "reason", "activity_seq"
    ),
    EventType.SIGNAL_RECEIVED: _signalled,
    EventType.ACTIVITY_SCHEDULED: _scheduled,
    EventType.ACTIVITY_COMPLETED: _ended(Kind.TASK_COMPLETED),
    EventType.ACTIVITY_FAILED: _ended(Kind.TASK_FAILED),
}
