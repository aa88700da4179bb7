"""What a batch of operations comes to: the rows before and after, and the events between."""

from typing import Generic, TypeVar

from msgspec import Struct

from assay.model.activity import Activity
from assay.model.attempt import Attempt, Forgotten
from assay.model.events import Event
from assay.model.frame import Frame
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.snapshot import Snapshot
from assay.model.states import RunStatus
from assay.model.timer import Timer
from assay.model.worker import Worker

Row = TypeVar("Row", Run, Activity, Timer, Schedule)


class Change(Struct, Generic[Row], frozen=True, gc=False):
    """A row as it was (None: it is new) and as it is to be (None: it is gone)."""

    before: Row | None
    after: Row | None


class Voided(Struct, frozen=True, gc=False):
    """Events of a run that an operator retry took back."""

    run_no: int
    seqs: tuple[int, ...]
    by: int


class SignalRequest(Struct, frozen=True, gc=False):
    """A signal that carried an id of its sender's: a repeat of it is none."""

    run_no: int
    request_id: str


class Attribute(Struct, frozen=True, gc=False):
    """One search attribute of a run as the filter looks it up: `value` is canonical JSON."""

    namespace: str
    key: str
    value: str
    created_at: int
    run_no: int


class Count(Struct, frozen=True, gc=False):
    """By how much the number of a namespace's runs in a status changes."""

    namespace: str
    status: RunStatus
    by: int


class NamespaceChange(Struct, frozen=True, gc=False):
    """A namespace comes or goes."""

    name: str
    created: bool


class Decision(Struct, frozen=True, gc=False):
    """All that one commit writes. `purged` are runs that go with everything that belongs to them.

    Attributes, counts and frames follow from the rest (core/projections.py, core/frames.py).
    """

    at: int
    runs: tuple[Change[Run], ...] = ()
    activities: tuple[Change[Activity], ...] = ()
    timers: tuple[Change[Timer], ...] = ()
    events: tuple[Event, ...] = ()
    voided: tuple[Voided, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    forgotten: tuple[Forgotten, ...] = ()
    workers: tuple[Worker, ...] = ()
    schedules: tuple[Change[Schedule], ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    requests: tuple[SignalRequest, ...] = ()
    namespaces: tuple[NamespaceChange, ...] = ()
    purged: tuple[int, ...] = ()
    frames: tuple[Frame, ...] = ()
    attributes_added: tuple[Attribute, ...] = ()
    attributes_removed: tuple[Attribute, ...] = ()
    counts: tuple[Count, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing to write."""
        return not (
            self.runs
            or self.activities
            or self.timers
            or self.events
            or self.voided
            or self.workers
            or self.schedules
            or self.namespaces
        )
