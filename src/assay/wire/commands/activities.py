"""How an activity is asked for, by command or by request."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Raw, Struct

from assay.model import commands as model
from assay.model.retry import RetryPolicy
from assay.wire import values
from assay.wire.codec import NULL, payload_text
from assay.wire.fields import Name, Nothing, Queue, Seconds, Seq, Share, Span, said

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
    max_interval_secs: Span | None = None
    jitter: Annotated[Share, said(default=DEFAULT_POLICY.jitter)] | None = None
    non_retryable: list[Name] | Nothing | None = None

    def policy(self) -> RetryPolicy:
        """The options with their defaults, once every value is found good."""
        given: dict[str, Any] = {}
        for name, check in _CHECKS:
            if (value := getattr(self, name)) is not None:
                given[name] = check(name, value)
        return RetryPolicy(**given) if given else DEFAULT_POLICY


def _types(field: str, given: list[str] | Nothing) -> str | None:
    """The types of failure as the text of a list; none of them is like no list."""
    if not isinstance(given, list) or not given:
        return None
    return msgspec.json.encode([values.name(field, name) for name in given]).decode()


_CHECKS: tuple[tuple[str, Callable[[str, Any], object]], ...] = (
    ("max_attempts", partial(values.integer, least=1)),
    ("initial_interval_secs", values.delay),
    ("backoff_coefficient", values.positive),
    ("start_to_close_secs", values.span),
    ("heartbeat_timeout_secs", values.span),
    ("max_interval_secs", values.span),
    ("jitter", values.share),
    ("non_retryable", _types),
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
