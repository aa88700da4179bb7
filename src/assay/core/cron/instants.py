"""From local times to instants: which of them are real, and which of two is meant.

The search goes through stretches of time in which the zone's offset stays the same; there a local
time is one instant, and earlier means earlier. What a clock change skips lies in no stretch. What
it repeats lies in two, and the second counts for those expressions only that say so.

Changes are found by asking the zone for its offset now and then, and halving what lies between two
answers. That relies on two changes being farther apart than the questions, and than they move the
clock; since 1970 they are days apart (tests/properties/test_cron.py). Seconds count from the epoch.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from assay.core.cron.expression import Expression
from assay.core.cron.local_time import DAY, next_local
from assay.model.time import MICROS

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the wall clock of no zone in particular
END = int(datetime(2101, 1, 2, tzinfo=UTC).timestamp())  # 2100 is over in every zone
STEADY = 3 * 3600  # a clock is not changed and changed back within so many seconds


def next_instant(expression: Expression, zone: ZoneInfo, after: int) -> int | None:
    """The first instant after another one, in microseconds; none if no year to 2100 has one."""
    at = max(after // MICROS + 1, 0)
    while at < END:
        offset = _offset(zone, at)
        local = next_local(expression, at + offset)
        match = at + 2 * DAY if local is None else local - offset
        until = min(match, at + DAY)
        change = _first_change(zone, at, until)
        if change is not None:
            at = change
        elif until < match:
            later = _skip(expression, zone, until)
            if later is None:
                return None
            at = later
        elif expression.twice or (behind := _put_back(zone, match)) == 0:
            return match * MICROS
        else:
            at = _first(lambda second: _put_back(zone, second) == 0, match, match + behind)
    return None


def _first_change(zone: ZoneInfo, at: int, until: int) -> int | None:
    """The first second after `at`, `until` at the latest, with another offset than at `at`."""
    offset = _offset(zone, at)
    while at < until:
        step = min(at + STEADY, until)
        if _offset(zone, step) != offset:
            return _first(lambda second: _offset(zone, second) != offset, at, step)
        at = step
    return None


def _skip(expression: Expression, zone: ZoneInfo, at: int) -> int | None:
    """A second, `at` or later, before which nothing more matches; none if nothing ever does."""
    local = next_local(expression, at - DAY)  # no zone is a day behind UTC
    if local is None:
        return None
    wall = EPOCH + timedelta(seconds=local)
    # Around a change the two folds give the offsets before and after it; the greater one leads to
    # the earlier instant, at which this local time has not yet been reached or just is.
    offsets = zone.utcoffset(wall), zone.utcoffset(wall.replace(fold=1))
    return max(at, local - max(map(_seconds, offsets)))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first second after `low` for which something holds that then stays so until `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _offset(zone: ZoneInfo, second: int) -> int:
    return _seconds(datetime.fromtimestamp(second, zone).utcoffset())


def _seconds(offset: timedelta | None) -> int:
    assert offset is not None
    return offset.days * DAY + offset.seconds


def _put_back(zone: ZoneInfo, second: int) -> int:
    """By how much the clock was put back, if it shows for the second time what it shows then."""
    moment = datetime.fromtimestamp(second, zone)
    if moment.fold == 0:
        return 0
    return _seconds(moment.replace(fold=0).utcoffset()) - _seconds(moment.utcoffset())
