"""How an activity is tried, timed and tried again."""

from msgspec import Struct


class RetryPolicy(Struct, frozen=True, gc=False):
    """Options of an activity, in the seconds its caller gave."""

    max_attempts: int = 3
    initial_interval_secs: float = 1.0
    backoff_coefficient: float = 2.0
    start_to_close_secs: float = 300.0
    heartbeat_timeout_secs: float | None = None
