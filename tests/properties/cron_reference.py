"""Cron by brute force: walk through the instants, look at the wall clock, compare every field.

It shares nothing with the evaluator but the contract. Which local times are skipped or come twice
it knows from the walk alone: a wall time seen before is a repeated one.
"""

import re
from datetime import date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

SHORTHANDS = {
    "@yearly": "0 0 0 1 1 ?",
    "@monthly": "0 0 0 1 * ?",
    "@weekly": "0 0 0 ? * 1",
    "@daily": "0 0 0 * * ?",
    "@hourly": "0 0 * * * ?",
}
NUMBER = "[0-9]+"
MEMBER = re.compile(
    rf"(?:\*|(?P<a>[a-z]+|{NUMBER})(?:-(?P<b>[a-z]+|{NUMBER}))?)(?:/(?P<n>{NUMBER}))?"
)
MONTHS = [date(2024, month, 1).strftime("%B").lower() for month in range(1, 13)]
DAYS = [date(2023, 1, day).strftime("%A").lower() for day in range(1, 8)]  # from a Sunday on


class Reference:
    """An expression as a test of wall times; ValueError when it is none."""

    def __init__(self, text: str) -> None:
        words = re.findall("[^ \t]+", text)
        if len(words) == 1:
            words = SHORTHANDS.get(words[0], "").split()
        if len(text) > 1000 or not 5 <= len(words) <= 7:
            raise ValueError(text)
        self.short = len(words) == 5
        whole = ["0", *words, "*"] if self.short else [*words, "*"]
        second, minute, hour, day, month, weekday, year = whole[:7]
        sunday = 0 if self.short else 1
        self.seconds = values(second, 0, 59)
        self.minutes = values(minute, 0, 59)
        self.hours = values(hour, 0, 23)
        self.days = values("*" if day == "?" else day, 1, 31)
        self.months = values(month, 1, 12, MONTHS)
        weekdays = values("*" if weekday == "?" else weekday, sunday, 7, DAYS)
        self.weekdays = {(value - sunday) % 7 for value in weekdays}
        self.years = values(year, 1970, 2100)
        self.restricted = day not in ("*", "?"), weekday not in ("*", "?")
        self.pauses = not re.search(r"[*/]", hour)

    def names_day(self, day: date) -> bool:
        if day.month not in self.months or day.year not in self.years:
            return False
        fits = [day.day in self.days, day.isoweekday() % 7 in self.weekdays]
        return any(fits) if self.short and all(self.restricted) else all(fits)

    def names(self, wall: datetime) -> bool:
        return (
            wall.minute in self.minutes
            and wall.hour in self.hours
            and wall.second in self.seconds
            and self.names_day(wall)
        )


def values(text: str, low: int, high: int, words: list[str] | None = None) -> set[int]:
    """Ask of each value that the field could have whether a member of the list admits it."""
    members = [spans(member, low, high, words or []) for member in text.lower().split(",")]
    return {
        value
        for value in range(low, high + 1)
        if any(a <= value <= b and (value - a) % n == 0 for a, b, n in members)
    }


def spans(member: str, low: int, high: int, words: list[str]) -> tuple[int, int, int]:
    parts = MEMBER.fullmatch(member)
    if parts is None:
        raise ValueError(member)
    step = 1 if parts["n"] is None else int(parts["n"])
    if parts["a"] is None:
        first, last = low, high
    else:
        first = number(parts["a"], low, words)
        last = high if parts["n"] else first
        last = number(parts["b"], low, words) if parts["b"] else last
        if words is DAYS and low == 0 and parts["b"] in ("sun", "sunday") and first > last:
            last = 7  # the other Sunday of a week from 0 to 7
    if not (low <= first <= last <= high and step >= 1):
        raise ValueError(member)
    return first, last, step


def number(text: str, low: int, words: list[str]) -> int:
    if text.isdecimal():
        return int(text)
    found = [index for index, word in enumerate(words, low) if text in (word, word[:3])]
    if not found:
        raise ValueError(text)
    return found[0]


class Moment(NamedTuple):
    """A second, what the wall clock shows then, and whether it shows it for the first time."""

    second: int
    wall: datetime
    is_first: bool


def walk(zone: ZoneInfo, first: int, last: int, step: int = 60) -> list[Moment]:
    """Go through instants; what came twice before the walk began it cannot know."""
    moments = []
    seen = set()
    for second in range(first, last + 1, step):
        wall = datetime.fromtimestamp(second, zone).replace(tzinfo=None, fold=0)
        moments.append(Moment(second, wall, wall not in seen))
        seen.add(wall)
    return moments


def fires(reference: Reference, moments: list[Moment]) -> list[int]:
    """The seconds of the walk at which the expression fires."""
    return [
        moment.second
        for moment in moments
        if reference.names(moment.wall) and (moment.is_first or not reference.pauses)
    ]
