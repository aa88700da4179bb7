"""Cron against brute force: at every clock change of odd zones, at rare dates, on any text.

ASSAY_ZONES=all plays all zones from 1970 to 2100, ASSAY_ZONES=Asia/Gaza,Europe/Rome those named;
ASSAY_EXAMPLES=2000 makes more of the invented ones than the ordinary run.
"""

import itertools
import os
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.core.cron import Expression, next_instant, parse, zone
from assay.core.cron.instants import STEADY
from assay.errors import BadValue
from assay.model.time import MICROS
from tests.properties import cron_invented as invented
from tests.properties.cron_invented import FARTHEST, built, clocks
from tests.properties.cron_reference import Moment, Reference, fires, walk
from tests.properties.cron_zones import ODD_ZONES, Change, changes, listed, names, real, start_of

ASKED = os.environ.get("ASSAY_ZONES")
ZONES = names() if ASKED == "all" else ASKED.split(",") if ASKED else list(ODD_ZONES)
YEARS = (1970, 2100) if ASKED else (2000, 2040)
EXAMPLES = int(os.environ.get("ASSAY_EXAMPLES", "100"))
MINUTE, HOUR, DAY = 60, 3600, 86_400
SPANS = (1, HOUR, DAY, DAY + HOUR, DAY + 9 * HOUR, 2 * DAY, 3 * DAY, 40 * DAY)
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock's
moments = st.integers(0, start_of(2100))

# Put back twice in a quarter of a day: what ends the first repetition is not what ends the second.
TWICE_BACK = [
    Change(start_of(1975) + 1, 0, -MINUTE),
    Change(start_of(1975) + 6 * HOUR + 2, -MINUTE, -2 * MINUTE),
]

# What no zone among the odd ones has done since 2000, or not so oddly.
EXTREMES = [
    ("Africa/Monrovia", 1972),  # 44 minutes and 30 seconds ahead
    ("Antarctica/Vostok", 1994),  # 7 hours back, and later in the year ahead again
    ("Asia/Dhaka", 2009),  # the last hour of the year comes twice
    ("Kwajalein", 1993),  # there is no 21 August
    ("Pacific/Apia", 2011),  # there is no 30 December
    ("Pacific/Kiritimati", 1994),  # there is no 31 December
]


def seconds_fired(expression: Expression, zone: ZoneInfo, first: int, last: int) -> list[int]:
    """Ask for instant after instant, from `first` to `last`."""
    found = []
    instant = next_instant(expression, zone, first * MICROS - 1)
    while instant is not None and instant <= last * MICROS:
        assert instant % MICROS == 0
        found.append(instant // MICROS)
        instant = next_instant(expression, zone, instant)
    return found


def expressions(change: Change) -> list[str]:
    """What may go wrong at a change: times inside, at and beside the walls' gap or fold."""
    walls = sorted(change.second + offset for offset in (change.before, change.after))
    low, high = (EPOCH + timedelta(seconds=wall) for wall in walls)
    inside = low + (high - low) / 2
    weekday, other = inside.isoweekday() % 7, (inside.isoweekday() + 3) % 7
    return [
        "* * * * *" if ASKED else "*/9 * * * *",
        "30 * * * *",
        f"0,17,59 {inside.hour} * * *",
        f"{low.minute} {low.hour} * * *",
        f"{high.minute} {high.hour} * * *",
        f"*/5 {low.hour}-{high.hour if high.hour >= low.hour else 23} * * *",
        f"{inside.minute} */2 * * *",
        f"{inside.minute} {low.hour}/1 * * *",
        f"{inside.minute},{high.minute} {low.hour},{high.hour} * * ?",
        f"0 {inside.minute} {inside.hour} {inside.day} * {weekday + 1} {inside.year}",
        f"0 {inside.minute} * {inside.day} {inside.month} {other + 1}",
        f"{inside.minute} {inside.hour} {inside.day} * {other}",
        f"{inside.minute} {inside.hour} 1-2 {inside.month} {weekday or 7}",
        f"0 */12 * ? {low.month} * {low.year}",
        f"{inside.minute},{high.minute} {low.hour},{high.hour} {inside.day} {inside.month} *",
        f"{inside.minute} {low.hour}/1 {inside.day} {inside.month} *",
    ]


def seconds_of(wall: datetime) -> int:
    return int((wall - EPOCH).total_seconds())


def plays_alike(text: str, zone: ZoneInfo, moments: list[Moment], first: int) -> None:
    """From `first` on, evaluator and reference name the same seconds of the walk."""
    expression, last = parse(text), moments[-1].second
    wanted = [second for second in fires(Reference(text), moments) if second >= first]
    assert seconds_fired(expression, zone, first, last) == wanted, text
    from_afar = next_instant(expression, zone, (first - 5 * DAY) * MICROS)
    if from_afar is not None and first * MICROS <= from_afar <= last * MICROS:
        assert from_afar == wanted[0] * MICROS, text
    elif from_afar is None or from_afar > last * MICROS:
        assert not wanted, text


def change_plays_alike(zone: ZoneInfo, change: Change) -> None:
    """Walk from twice the shift before the change, to know what came twice, to as far behind it."""
    step = 1 if change.before % MINUTE or change.after % MINUTE else MINUTE
    span = min(change.shift, 3 * HOUR) + 90 * MINUTE
    first = change.second - change.shift - span
    moments = walk(zone, first - change.shift, change.second + change.shift + span, step)
    for text in expressions(change):
        plays_alike(text, zone, moments, first)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ZONES)
def test_around_every_change_of_a_zone_it_does_what_brute_force_does(name: str) -> None:
    for change in changes(name, *YEARS):
        change_plays_alike(zone(name), change)


@pytest.mark.parametrize(("name", "year"), EXTREMES)
def test_around_extreme_changes_it_does_what_brute_force_does(name: str, year: int) -> None:
    found = changes(name, year, year)
    assert found
    for change in found:
        change_plays_alike(zone(name), change)


def test_two_changes_are_farther_apart_than_the_search_relies_on() -> None:
    for name in names():
        found = real(ZoneInfo(name), listed(name))
        for one, other in itertools.pairwise(found):
            apart = other.second - one.second
            assert apart > max(STEADY, one.shift + other.shift), name


@settings(max_examples=EXAMPLES, deadline=None)
@given(clocks(), st.lists(invented.short, min_size=1, max_size=5))
@example((built(TWICE_BACK), TWICE_BACK), ["* 0 * * *"])
def test_in_zones_of_any_clock_changes_it_does_what_brute_force_does(
    clock: tuple[ZoneInfo, list[Change]], texts: list[str]
) -> None:
    zone, found = clock
    first = found[0].second - FARTHEST
    first -= (first + found[0].before) % MINUTE  # the walk passes where a minute of the wall begins
    moments = walk(zone, first - FARTHEST, found[-1].second + 2 * FARTHEST)
    for text in texts:
        plays_alike(text, zone, moments, first)


@settings(max_examples=EXAMPLES, deadline=None)
@given(invented.expressions, st.sampled_from(ODD_ZONES), st.data())
def test_second_by_second_it_does_what_brute_force_does(
    text: str, name: str, data: st.DataObject
) -> None:
    change = data.draw(st.sampled_from(changes(name, 2000, 2040)))
    first = change.second + data.draw(st.integers(-HOUR, HOUR))
    moments = walk(zone(name), first - change.shift, first + HOUR, 1)
    plays_alike(text, zone(name), moments, first)


@settings(max_examples=EXAMPLES, deadline=None)
@given(invented.expressions, st.dates(date(1970, 1, 1), date(2100, 12, 31)))
def test_the_next_day_is_the_first_that_the_calendar_names(text: str, day: date) -> None:
    reference = Reference(text)
    days = (date.fromordinal(no) for no in range(day.toordinal(), date(2101, 1, 1).toordinal()))
    found = next(filter(reference.names_day, days), None)
    wanted = None
    if found is not None:
        at = time(min(reference.hours), min(reference.minutes), min(reference.seconds))
        wanted = seconds_of(datetime.combine(found, at))
    before = seconds_of(datetime.combine(day, time())) * MICROS - 1
    assert next_instant(parse(text), zone("UTC"), before) == (wanted and wanted * MICROS)


@settings(max_examples=EXAMPLES, deadline=None)
@given(invented.expressions, st.sampled_from(ODD_ZONES), moments, st.lists(st.floats(0, 1)))
def test_it_does_not_matter_from_how_far_one_looks(
    text: str, name: str, second: int, places: list[float]
) -> None:
    expression, after = parse(text), second * MICROS
    instant = next_instant(expression, zone(name), after)
    until = start_of(2101) * MICROS if instant is None else instant
    near = [until - span * MICROS for span in SPANS]
    for between in [*near, *(after + int(place * (until - after)) for place in places)]:
        if after <= between < until:
            assert next_instant(expression, zone(name), between) == instant


@settings(max_examples=EXAMPLES, deadline=None)
@given(invented.expressions, st.sampled_from(ODD_ZONES), moments)
def test_an_instant_is_one_that_the_wall_clock_names(text: str, name: str, second: int) -> None:
    instant = next_instant(parse(text), zone(name), second * MICROS)
    if instant is not None:
        assert instant > second * MICROS
        wall = datetime.fromtimestamp(instant // MICROS, zone(name))
        assert Reference(text).names(wall.replace(tzinfo=None))


@settings(max_examples=5 * EXAMPLES, deadline=None)
@given(invented.texts | invented.spoilt() | invented.expressions)
def test_any_text_is_read_by_both_or_refused_by_both(text: str) -> None:
    assert is_read(text, Reference, ValueError) == is_read(text, parse, BadValue)


def is_read(text: str, read: Callable[[str], object], refusal: type[Exception]) -> bool:
    try:
        read(text)
    except refusal:
        return False
    return True
