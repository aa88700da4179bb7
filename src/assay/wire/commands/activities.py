"""How an activity is asked for, by command or by request."""

from typing import Annotated

from msgspec import Raw, Struct

from assay.errors import BadValue
from assay.model import commands as model
from assay.model.retry import RetryPolicy
from assay.wire import values
from assay.wire.codec import NULL, payload_text
from assay.wire.fields import Name, Queue, Seconds, Seq, Span, said

DEFAULT_POLICY = RetryPolicy()


class ActivityOptions(Struct, kw_only=True):
    """How an activity is tried, timed and tried again."""

    max_attempts: Annotated[Seq, said(default=DEFAULT_POLICY.max_attempts)] | None = None
    initial_interval_secs: (
        Annotated[Seconds, said(default=DEFAULT_POLICY.initial_interval_secs)] | None
    ) = None
    backoff_coefficient: (
        Annotated[float, said(exclusiveMinimum=0, default=DEFAULT_POLICY.backoff_coefficient)]
        | None
    ) = None
    start_to_close_secs: (
        Annotated[Span, said(default=DEFAULT_POLICY.start_to_close_secs)] | None
    ) = None
    heartbeat_timeout_secs: Span | None = None

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
            usual.start_to_close_secs
            if close is None
            else values.span("start_to_close_secs", close),
            None if beat is None else values.span("heartbeat_timeout_secs", beat),
        )


class Activity(ActivityOptions, kw_only=True):
    """What an activity is made of, by command or by request."""

    seq: Seq
    name: Name
    task_queue: Queue | None = None
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
            values.queue(self.task_queue),
            payload_text(self.input),
            self.policy(),
        )


class ScheduleActivity(Activity, tag_field="type", tag="ScheduleActivity", kw_only=True):
    """Do a piece of work on a queue."""
