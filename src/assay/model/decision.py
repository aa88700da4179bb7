"""What a batch of operations comes to: the rows before and after, and the events between."""

from typing import Generic, TypeVar

from msgspec import Struct

from assay.model.activity import Activity
from assay.model.events import Event
from assay.model.run import Run
from assay.model.timer import Timer
from assay.model.worker import Worker

Row = TypeVar("Row", Run, Activity, Timer)


class Change(Struct, Generic[Row], frozen=True, gc=False):
    """A row as it was (None: it is new) and as it is to be (None: it is gone)."""

    before: Row | None
    after: Row | None


class Voided(Struct, frozen=True, gc=False):
    """Events of a run that an operator retry took back."""

    run_no: int
    seqs: tuple[int, ...]
    by: int


class Decision(Struct, frozen=True, gc=False):
    """All that one commit writes."""

    at: int
    runs: tuple[Change[Run], ...] = ()
    activities: tuple[Change[Activity], ...] = ()
    timers: tuple[Change[Timer], ...] = ()
    events: tuple[Event, ...] = ()
    voided: tuple[Voided, ...] = ()
    workers: tuple[Worker, ...] = ()

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
        )
