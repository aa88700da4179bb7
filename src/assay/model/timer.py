"""A durable timer of a run."""

from msgspec import Struct

from assay.model.states import TimerState


class Timer(Struct, frozen=True, gc=False):
    """Open until `fire_at`, unless it is silenced before."""

    no: int
    run_no: int
    seq: int
    fire_at: int
    scheduled_seq: int
    state: TimerState = TimerState.OPEN
    silenced_at: int | None = None
    silenced_seq: int | None = None
    ver: int = 0

    @property
    def is_live(self) -> bool:
        """Neither fired nor silenced."""
        return self.state is TimerState.OPEN
