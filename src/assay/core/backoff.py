"""How long to wait before the next try."""

from assay.model.retry import RetryPolicy
from assay.model.time import LONGEST_SECONDS, MICROS, micros

REFUSED_LONGEST_SECS = 60
EXPIRED_LONGEST_SECS = 600


def retry_delay(policy: RetryPolicy, failed_attempt: int) -> int:
    """The delay after attempt n failed: interval * coefficient^(n-1), at most the longest span."""
    try:
        delay = policy.initial_interval_secs * policy.backoff_coefficient ** (failed_attempt - 1)
    except OverflowError:
        delay = LONGEST_SECONDS if policy.initial_interval_secs > 0 else 0
    return micros(delay)


def blocked_delay(failures: int, longest_secs: int) -> int:
    """The delay before a run whose workflow tasks fail is offered again: 1, 2, 4 … seconds."""
    doublings = min(max(failures - 1, 0), 30)
    return min(1 << doublings, longest_secs) * MICROS
