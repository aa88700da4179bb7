"""A cron expression, read: two dialects and some shorthands become sets of numbers.

                          6 or 7 fields                  5 fields
    order                 second minute hour day month   minute hour day month weekday
                          weekday [year]                 (at second 0)
    weekday numbers       1-7, Sunday is 1               0-7, Sunday is 0 and 7 (`fri-sun` is 5-7)
    both days restricted  both must match                either matches

A day field is restricted when it is anything else than `*` or `?`: `*/2` is, and so is `1-31`.
"""

from msgspec import Struct

from assay.core.cron.fields import ANY, EVERY, Field, first_of, quoted
from assay.errors import BadValue

LONGEST = 1000  # bytes: what is longer is a mistake, and reading it would hold up everybody else
BLANKS = " \t"

SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}

MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
WEEKDAY_NAMES = "sunday monday tuesday wednesday thursday friday saturday"


def _numbered(names: str, first: int) -> dict[str, int]:
    """Numbers by name: in full, and its first three letters."""
    return {key: no for no, name in enumerate(names.split(), first) for key in (name, name[:3])}


SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day of month", 1, 31, takes_any=True)
MONTH = Field("month", 1, 12, _numbered(MONTH_NAMES, 1))
WEEKDAY_FROM_0 = Field(
    "day of week",
    0,
    7,
    _numbered(WEEKDAY_NAMES, 0),
    takes_any=True,
    end_names=_numbered("sunday", 7),
)
WEEKDAY_FROM_1 = Field("day of week", 1, 7, _numbered(WEEKDAY_NAMES, 1), takes_any=True)
YEAR = Field("year", 1970, 2100)

# Where the first day asked for exists: 30 February need not be looked for in every year.
MONTHS_WITH = {30: MONTH.numbers("1,3-12"), 31: MONTH.numbers("1,3,5,7,8,10,12")}
ALL_MONTHS = MONTH.numbers(EVERY)


class Expression(Struct, frozen=True):
    """The numbers each field admits, as bits; weekday 0 is Sunday."""

    seconds: int
    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    years: int
    either: bool  # one matching day field is enough
    twice: bool  # of a local time that comes twice, both instants count


def parse(text: str) -> Expression:
    """Read an expression; the refusal of a bad one says which field is wrong, and why."""
    fields = _split(text)
    short = len(fields) == 5
    if short:
        fields = ["0", *fields]
    second, minute, hour, day, month, weekday, year = [*fields, EVERY][:7]
    either = short and _is_restricted(day) and _is_restricted(weekday)
    days, months = DAY.numbers(day), MONTH.numbers(month)
    return Expression(
        seconds=SECOND.numbers(second),
        minutes=MINUTE.numbers(minute),
        hours=HOUR.numbers(hour),
        days=days,
        months=months if either else months & MONTHS_WITH.get(first_of(days), ALL_MONTHS),
        weekdays=_from_0(weekday) if short else WEEKDAY_FROM_1.numbers(weekday) >> 1,
        years=YEAR.numbers(year),
        either=either,
        twice=EVERY in hour or "/" in hour,
    )


def _split(text: str) -> list[str]:
    if len(text) > LONGEST:
        raise BadValue(f"cron expression: longer than {LONGEST} bytes")
    text = text.strip(BLANKS)
    parts = SHORTHANDS.get(text, text).replace("\t", " ").split(" ")
    fields = [part for part in parts if part]
    if not fields:
        raise BadValue("cron expression: blank")
    if text.startswith("@") and text not in SHORTHANDS:
        raise BadValue(f"cron expression: {quoted(text)} is not one of {', '.join(SHORTHANDS)}")
    if len(fields) not in (5, 6, 7):
        raise BadValue(f"cron expression: {quoted(text)} has {len(fields)} fields, not 5, 6 or 7")
    return fields


def _from_0(weekday: str) -> int:
    """Sunday, which is 0 and 7 here, is kept as 0."""
    weekdays = WEEKDAY_FROM_0.numbers(weekday)
    return (weekdays | weekdays >> 7) & 0b111_1111


def _is_restricted(day: str) -> bool:
    return day not in (ANY, EVERY)
