"""What a run waits for: timers, signals, children."""

from msgspec import Raw, Struct

from assay.model import commands as model
from assay.wire import values
from assay.wire.codec import NULL, payload_text
from assay.wire.fields import Name, Queue, Seq


class ScheduleTimer(Struct, tag_field="type", tag="ScheduleTimer"):
    """Wake the run after a while."""

    seq: Seq
    duration_secs: float | None = None

    def __post_init__(self) -> None:
        self.seq = values.whole("seq", self.seq)

    def command(self) -> model.ScheduleTimer:
        """The command, checked."""
        duration = self.duration_secs or 0.0
        seq = values.integer("seq", self.seq, 1)
        return model.ScheduleTimer(seq, values.seconds("duration_secs", duration))


class CancelTimer(Struct, tag_field="type", tag="CancelTimer"):
    """A timer is no longer wanted."""

    seq: Seq

    def __post_init__(self) -> None:
        self.seq = values.whole("seq", self.seq)

    def command(self) -> model.CancelTimer:
        """The command, checked."""
        return model.CancelTimer(values.integer("seq", self.seq, 1))


class WaitForSignal(Struct, tag_field="type", tag="WaitForSignal"):
    """Say what the run waits for."""

    name: Name
    timer_seq: Seq | None = None

    def __post_init__(self) -> None:
        if self.timer_seq is not None:
            self.timer_seq = values.whole("timer_seq", self.timer_seq)

    def command(self) -> model.WaitForSignal:
        """The command, checked."""
        timer = self.timer_seq
        seq = None if timer is None else values.integer("timer_seq", timer, 1)
        return model.WaitForSignal(values.name("name", self.name), seq)


class StartChildWorkflow(Struct, tag_field="type", tag="StartChildWorkflow"):
    """Start a run whose outcome comes back."""

    workflow_type: Name
    workflow_id: Name
    task_queue: Queue | None = None
    input: Raw = NULL

    def command(self) -> model.StartChild:
        """The command, checked."""
        return model.StartChild(
            values.name("workflow_type", self.workflow_type),
            values.name("workflow_id", self.workflow_id),
            values.queue(self.task_queue),
            payload_text(self.input),
        )
