"""How long to wait before the next try."""

from assay.model.retry import RetryPolicy
from assay.model.time import LONGEST_SECONDS, MICROS, micros

REFUSED_LONGEST_SECS = 60
EXPIRED_LONGEST_SECS = 600

_WORD = (1 << 64) - 1


def retry_delay(policy: RetryPolicy, failed_attempt: int, lot: float = 0.0) -> int:
    """The delay after attempt n failed: interval * coefficient^(n-1), at most the longest span.

    The lot, drawn from 0 to 1, says how much of the jitter is taken off.
    """
    try:
        delay = policy.initial_interval_secs * policy.backoff_coefficient ** (failed_attempt - 1)
    except OverflowError:
        delay = LONGEST_SECONDS if policy.initial_interval_secs > 0 else 0
    longest = policy.max_interval_secs
    delay = min(delay, LONGEST_SECONDS if longest is None else longest)
    return micros(delay * (1 - policy.jitter * lot))


def lot_of(activity_no: int, attempt: int) -> float:
    """A number from 0 up to 1 that looks like chance and is always the same for this attempt."""
    return (_mixed(_mixed(activity_no) ^ attempt) >> 11) / (1 << 53)


def blocked_delay(failures: int, longest_secs: int) -> int:
    """The delay before a run whose workflow tasks fail is offered again: 1, 2, 4 … seconds."""
    doublings = min(max(failures - 1, 0), 30)
    return min(1 << doublings, longest_secs) * MICROS


def _mixed(word: int) -> int:
    """One step of splitmix64: every bit of the answer hangs on every bit of the word."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)
