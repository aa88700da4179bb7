"""How an activity is tried, timed and tried again."""

from msgspec import Struct


class RetryPolicy(Struct, frozen=True, gc=False):
    """Options of an activity, in the seconds its caller gave.

    A delay is at most `max_interval_secs`, and `jitter` takes up to that share of it away.
    `non_retryable` is a JSON list of types of failure that end the activity at once.
    """

    max_attempts: int = 3
    initial_interval_secs: float = 1.0
    backoff_coefficient: float = 2.0
    start_to_close_secs: float = 300.0
    heartbeat_timeout_secs: float | None = None
    max_interval_secs: float | None = None
    jitter: float = 0.0
    non_retryable: str | None = None
