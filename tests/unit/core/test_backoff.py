"""Delays: exact for small numbers, bounded for all, never shrinking, never an overflow."""

from collections import Counter
from statistics import correlation

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.core.backoff import (
    EXPIRED_LONGEST_SECS,
    REFUSED_LONGEST_SECS,
    blocked_delay,
    lot_of,
    retry_delay,
)
from assay.model.retry import RetryPolicy
from assay.model.time import LONGEST_SECONDS, MICROS

intervals = st.floats(0, 1e10, allow_nan=False)
coefficients = st.floats(0, 1e300, exclude_min=True, allow_nan=False)
attempts = st.integers(1, 2**53)


def policy(interval: float, coefficient: float) -> RetryPolicy:
    return RetryPolicy(2**53, interval, coefficient)


@given(intervals, coefficients, attempts)
def test_any_delay_lies_between_none_and_the_longest_span(
    interval: float, coefficient: float, attempt: int
) -> None:
    assert 0 <= retry_delay(policy(interval, coefficient), attempt) <= LONGEST_SECONDS * MICROS


@given(intervals, st.floats(1, 1e300), st.integers(1, 10_000))
def test_with_a_coefficient_of_one_or_more_delays_never_shrink(
    interval: float, coefficient: float, attempt: int
) -> None:
    options = policy(interval, coefficient)
    assert retry_delay(options, attempt) <= retry_delay(options, attempt + 1)


@given(intervals, st.floats(1e-300, 1), st.integers(1, 10_000))
def test_with_a_coefficient_of_one_or_less_delays_never_grow(
    interval: float, coefficient: float, attempt: int
) -> None:
    options = policy(interval, coefficient)
    assert retry_delay(options, attempt) >= retry_delay(options, attempt + 1)


@given(coefficients, attempts)
def test_no_interval_is_no_delay_however_it_grows(coefficient: float, attempt: int) -> None:
    assert retry_delay(policy(0, coefficient), attempt) == 0


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 12))
def test_whole_numbers_are_exact(interval: int, coefficient: int, attempt: int) -> None:
    wanted = min(interval * coefficient ** (attempt - 1), LONGEST_SECONDS) * MICROS
    assert retry_delay(policy(interval, coefficient), attempt) == wanted


@pytest.mark.parametrize(
    ("interval", "coefficient", "attempt", "secs"),
    [
        (1.0, 10.0, 400, 1e10),
        (1e-9, 1e300, 3, 1e10),
        (1.0, 1e-300, 3, 0),
        (0.0000015, 1.0, 1, 0.000002),
    ],
)
def test_overflow_and_underflow_end_at_the_bounds(
    interval: float, coefficient: float, attempt: int, secs: float
) -> None:
    assert retry_delay(policy(interval, coefficient), attempt) == round(secs * MICROS)


# The longest interval, and jitter


@given(intervals, coefficients, attempts, st.floats(0, 1e10, exclude_min=True))
def test_the_longest_interval_cuts_a_delay_and_nothing_else(
    interval: float, coefficient: float, attempt: int, longest: float
) -> None:
    plain = policy(interval, coefficient)
    delay = retry_delay(replace(plain, max_interval_secs=longest), attempt)
    assert delay == min(retry_delay(plain, attempt), round(longest * MICROS))


@given(
    interval=intervals,
    coefficient=coefficients,
    attempt=attempts,
    jitter=st.floats(0, 1),
    lot=st.floats(0, 1, exclude_max=True),
    longest=st.none() | st.floats(1, 1e10),
)
def test_jitter_takes_at_most_its_share_of_a_delay(
    *,
    interval: float,
    coefficient: float,
    attempt: int,
    jitter: float,
    lot: float,
    longest: float | None,
) -> None:
    plain = replace(policy(interval, coefficient), max_interval_secs=longest)
    whole = retry_delay(plain, attempt)
    delay = retry_delay(replace(plain, jitter=jitter), attempt, lot)
    assert whole * (1 - jitter) - 1 <= delay <= whole
    assert retry_delay(plain, attempt, lot) == whole


@given(st.integers(0, 2**63), st.integers(1, 2**53))
def test_a_lot_is_the_same_each_time_and_a_share_of_one(no: int, attempt: int) -> None:
    lot = lot_of(no, attempt)
    assert 0 <= lot < 1
    assert lot_of(no, attempt) == lot


@pytest.mark.parametrize("first", [1, 10_000, 2**40, 2**53 - 5_000])
@pytest.mark.parametrize("attempt", [1, 2, 7])
def test_lots_of_neighbours_are_spread_evenly_and_know_nothing_of_each_other(
    first: int, attempt: int
) -> None:
    """A crowd that failed at once comes back spread out, and at its next attempt in another order.

    Of 5,000 even draws a tenth holds 500 ± 21; what has nothing in common correlates by 0 ± 0.014.
    """
    now, later = (
        [lot_of(first + at, each) for at in range(5_000)] for each in (attempt, attempt + 1)
    )
    for lots in (now, later):
        tenths = Counter(int(lot * 10) for lot in lots)
        assert all(390 < tenths[tenth] < 610 for tenth in range(10))
    assert abs(correlation(now, later)) < 0.08
    assert abs(correlation(now[1:], now[:-1])) < 0.08


@given(st.integers(-5, 2**53), st.sampled_from([REFUSED_LONGEST_SECS, EXPIRED_LONGEST_SECS]))
def test_a_blocked_run_waits_from_a_second_to_its_longest(failures: int, longest: int) -> None:
    delay = blocked_delay(failures, longest)
    assert MICROS <= delay <= longest * MICROS
    assert delay <= blocked_delay(failures + 1, longest)


def test_a_blocked_run_waits_twice_as_long_each_time() -> None:
    delays = [blocked_delay(n, 600) // MICROS for n in range(1, 13)]
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
