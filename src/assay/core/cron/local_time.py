"""The search on the wall clock: local times are seconds since its 1970 began, zones unknown.

Fields are sets of bits, so "the next one from here" is a shift and not a walk. Only months are
gone through one by one, and only those that the expression names.
"""

from calendar import isleap
from collections.abc import Iterator
from datetime import date

from assay.core.cron.expression import Expression
from assay.core.cron.fields import first_from, first_of

DAY = 86_400
FIRST_DAY = date(1970, 1, 1).toordinal()
MONTH_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
SIX_WEEKS = sum(1 << 7 * week for week in range(6))  # times a week's bits: six weeks in a row


def next_local(expression: Expression, local: int) -> int | None:
    """The first local time, `local` or later, that the expression names."""
    day, second = divmod(local, DAY)
    match = _next_day(expression, day)
    if match == day:
        time = _next_time(expression, second)
        if time is not None:
            return day * DAY + time
        match = _next_day(expression, day + 1)
    if match is None:
        return None
    return match * DAY + _time(
        first_of(expression.hours), first_of(expression.minutes), first_of(expression.seconds)
    )


def _next_time(expression: Expression, time: int) -> int | None:
    """The first second of a day, `time` or later, whose hour, minute and second match."""
    hours, minutes, seconds = expression.hours, expression.minutes, expression.seconds
    hour, minute, second = time // 3600, time // 60 % 60, time % 60
    if hours >> hour & 1:
        if minutes >> minute & 1:
            later = first_from(seconds, second)
            if later is not None:
                return _time(hour, minute, later)
        later = first_from(minutes, minute + 1)
        if later is not None:
            return _time(hour, later, first_of(seconds))
    later = first_from(hours, hour + 1)
    return None if later is None else _time(later, first_of(minutes), first_of(seconds))


def _time(hour: int, minute: int, second: int) -> int:
    return hour * 3600 + minute * 60 + second


def _next_day(expression: Expression, day: int) -> int | None:
    """The first day, `day` or later, that matches; days are counted from 1970-01-01."""
    start = date.fromordinal(FIRST_DAY + day)
    for year, month in _months(expression, start):
        first = date(year, month, 1).toordinal()
        least = start.day if (year, month) == (start.year, start.month) else 1
        match = first_from(_days(expression, first, _length(year, month)), least)
        if match is not None:
            return first - FIRST_DAY + match - 1
    return None


def _months(expression: Expression, start: date) -> Iterator[tuple[int, int]]:
    """Years with months that the expression names, from the one of `start` on."""
    year = first_from(expression.years, start.year)
    while year is not None:
        month = first_from(expression.months, start.month if year == start.year else 1)
        while month is not None:
            yield year, month
            month = first_from(expression.months, month + 1)
        year = first_from(expression.years, year + 1)


def _days(expression: Expression, first: int, length: int) -> int:
    """The matching days of the month that begins on the day of that ordinal, as bits 1 to 31."""
    weekdays = (expression.weekdays * SIX_WEEKS >> first % 7) << 1  # ordinal 7 was a Sunday
    days = expression.days | weekdays if expression.either else expression.days & weekdays
    return days & ((2 << length) - 2)


def _length(year: int, month: int) -> int:
    return 29 if month == 2 and isleap(year) else MONTH_LENGTHS[month]
