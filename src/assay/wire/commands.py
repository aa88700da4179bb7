"""Commands as a replay sends them: one definition each, and the union of all."""

from msgspec import Raw, Struct

from assay.errors import BadValue
from assay.model import commands as model
from assay.model.retry import RetryPolicy
from assay.wire import values
from assay.wire.codec import NULL, payload_text
from assay.wire.requests import DEFAULT_QUEUE
from assay.wire.values import Whole

DEFAULT_POLICY = RetryPolicy()
DEFAULT_ERROR = "workflow handler raised an error"


class ActivityOptions(Struct, kw_only=True):
    """How an activity is tried, timed and tried again."""

    max_attempts: Whole | None = None
    initial_interval_secs: float | None = None
    backoff_coefficient: float | None = None
    start_to_close_secs: float | None = None
    heartbeat_timeout_secs: float | None = None

    def policy(self) -> RetryPolicy:
        """The options with their defaults, once every value is found good."""
        attempts, interval = self.max_attempts, self.initial_interval_secs
        coefficient, close = self.backoff_coefficient, self.start_to_close_secs
        beat, usual = self.heartbeat_timeout_secs, DEFAULT_POLICY
        if interval is not None and interval < 0:
            raise BadValue("initial_interval_secs must not be negative")
        return RetryPolicy(
            usual.max_attempts if attempts is None else values.integer("max_attempts", attempts, 1),
            usual.initial_interval_secs
            if interval is None
            else values.seconds("initial_interval_secs", interval),
            usual.backoff_coefficient
            if coefficient is None
            else values.positive("backoff_coefficient", coefficient),
            usual.start_to_close_secs if close is None else _span("start_to_close_secs", close),
            None if beat is None else _span("heartbeat_timeout_secs", beat),
        )


class ScheduleActivity(ActivityOptions, tag_field="type", tag="ScheduleActivity", kw_only=True):
    """Do a piece of work on a queue."""

    seq: Whole
    name: str
    task_queue: str | None = None
    input: Raw = NULL

    def __post_init__(self) -> None:
        self.seq = values.whole("seq", self.seq)
        if self.max_attempts is not None:
            self.max_attempts = values.whole("max_attempts", self.max_attempts)

    def command(self) -> model.ScheduleActivity:
        """The command, checked."""
        return model.ScheduleActivity(
            values.integer("seq", self.seq, 1),
            values.name("name", self.name),
            _queue(self.task_queue),
            payload_text(self.input),
            self.policy(),
        )


class ScheduleTimer(Struct, tag_field="type", tag="ScheduleTimer"):
    """Wake the run after a while."""

    seq: Whole
    duration_secs: float | None = None

    def __post_init__(self) -> None:
        self.seq = values.whole("seq", self.seq)

    def command(self) -> model.ScheduleTimer:
        """The command, checked."""
        duration = self.duration_secs or 0.0
        seq = values.integer("seq", self.seq, 1)
        return model.ScheduleTimer(seq, values.seconds("duration_secs", duration))


class WaitForSignal(Struct, tag_field="type", tag="WaitForSignal"):
    """Say what the run waits for."""

    name: str
    timer_seq: Whole | None = None

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

    workflow_type: str
    workflow_id: str
    task_queue: str | None = None
    input: Raw = NULL

    def command(self) -> model.StartChild:
        """The command, checked."""
        return model.StartChild(
            values.name("workflow_type", self.workflow_type),
            values.name("workflow_id", self.workflow_id),
            _queue(self.task_queue),
            payload_text(self.input),
        )


class CompleteWorkflow(Struct, tag_field="type", tag="CompleteWorkflow"):
    """The handler returned."""

    result: Raw = NULL

    def command(self) -> model.CompleteWorkflow:
        """The command, checked."""
        return model.CompleteWorkflow(payload_text(self.result))


class FailWorkflow(Struct, tag_field="type", tag="FailWorkflow"):
    """The handler raised."""

    error: str | None = None

    def command(self) -> model.FailWorkflow:
        """The command, checked."""
        error = self.error
        return model.FailWorkflow(DEFAULT_ERROR if error is None else values.text(error))


class CancelWorkflow(Struct, tag_field="type", tag="CancelWorkflow"):
    """The handler ended as cancelled."""

    reason: str | None = None

    def command(self) -> model.CancelWorkflow:
        """The command, checked."""
        reason = self.reason
        return model.CancelWorkflow(None if reason is None else values.text(reason))


CommandBody = (
    ScheduleActivity
    | ScheduleTimer
    | WaitForSignal
    | StartChildWorkflow
    | CompleteWorkflow
    | FailWorkflow
    | CancelWorkflow
)


def _queue(value: str | None) -> str:
    return DEFAULT_QUEUE if value is None else values.name("task_queue", value)


def _span(field: str, value: float) -> float:
    return values.seconds(field, values.positive(field, value))
