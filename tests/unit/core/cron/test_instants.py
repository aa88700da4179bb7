"""The next instant, in tables: on the calendar, around clock changes, and at both ends of time."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Generic, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

import pytest

from assay.core.cron import instants, next_instant, parse, zone
from assay.core.cron.local_time import next_local
from assay.model.time import MICROS

BERLIN = "Europe/Berlin"  # ahead at 2026-03-29 01:00 UTC, back at 2026-10-25 01:00 UTC
NEVER: list[str] = []
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def micros(instant: str, zone: str = "UTC") -> int:
    moment = datetime.fromisoformat(instant)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return round(moment.timestamp() * MICROS)


def following(text: str, name: str, after: str, count: int) -> list[str]:
    """The next instants as the zone writes them, to the minute where there are no seconds."""
    found: list[str] = []
    instant: int | None = micros(after, name)
    while len(found) < count:
        assert instant is not None
        instant = next_instant(parse(text), zone(name), instant)
        if instant is None:
            break
        found.append(datetime.fromtimestamp(instant // MICROS, zone(name)).isoformat(" "))
    return found


# -- on the calendar -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "after", "wanted"),
    [
        ("* * * * * *", "2026-01-01 00:00:00", ["2026-01-01 00:00:01", "2026-01-01 00:00:02"]),
        ("* * * * * *", "2026-12-31 23:59:59", ["2027-01-01 00:00:00", "2027-01-01 00:00:01"]),
        ("* * * * *", "2026-01-01 00:00:00", ["2026-01-01 00:01:00", "2026-01-01 00:02:00"]),
        ("30 6 * * 1-5", "2026-01-02 06:30:00", ["2026-01-05 06:30:00", "2026-01-06 06:30:00"]),
        ("15,45 10 7 8 *", "2026-08-07 10:20:00", ["2026-08-07 10:45:00", "2027-08-07 10:15:00"]),
        ("59 59 23 31 12 ?", "2026-12-31 23:59:58", ["2026-12-31 23:59:59", "2027-12-31 23:59:59"]),
        ("0 0 31 * *", "2026-01-31 00:00:00", ["2026-03-31 00:00:00", "2026-05-31 00:00:00"]),
        ("0 0 29 2 *", "2023-01-01 00:00:00", ["2024-02-29 00:00:00", "2028-02-29 00:00:00"]),
        ("0 0 29 2 *", "2092-03-01 00:00:00", ["2096-02-29 00:00:00"]),
        ("0 0 29 2 *", "2100-02-28 12:00:00", []),
        ("0 0 29 2 *", "2027-02-28 12:00:00", ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
        ("0 0 29 2 *", "2000-01-01 00:00:00", ["2000-02-29 00:00:00", "2004-02-29 00:00:00"]),
        ("0 0 0 29 2 MON", "2026-01-01 00:00:00", ["2044-02-29 00:00:00", "2072-02-29 00:00:00"]),
        ("0 0 0 13 * FRI", "2026-01-01 00:00:00", ["2026-02-13 00:00:00", "2026-03-13 00:00:00"]),
        ("0 0 13 * FRI", "2026-01-10 00:00:00", ["2026-01-13 00:00:00", "2026-01-16 00:00:00"]),
        (
            "0 0 0 29-31 * MON",
            "2026-01-01 00:00:00",
            ["2026-03-30 00:00:00", "2026-06-29 00:00:00"],
        ),
        (
            "0 0 0 22-28 11 THU",
            "2026-01-01 00:00:00",
            ["2026-11-26 00:00:00", "2027-11-25 00:00:00"],
        ),
        ("0 0 */2 * 1", "2026-02-01 00:00:00", ["2026-02-02 00:00:00", "2026-02-03 00:00:00"]),
        ("0 0 0 31 12 ? 2100", "2026-01-01 00:00:00", ["2100-12-31 00:00:00"]),
        ("0 0 0 1 1 ? 2025,2030", "2026-01-01 00:00:00", ["2030-01-01 00:00:00"]),
        ("@yearly", "2026-05-05 00:00:00", ["2027-01-01 00:00:00", "2028-01-01 00:00:00"]),
        ("@monthly", "2026-12-05 00:00:00", ["2027-01-01 00:00:00", "2027-02-01 00:00:00"]),
        ("@weekly", "2026-01-01 00:00:00", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
        ("@daily", "2026-01-01 00:00:00", ["2026-01-02 00:00:00", "2026-01-03 00:00:00"]),
        ("@hourly", "2026-01-01 00:00:00", ["2026-01-01 01:00:00", "2026-01-01 02:00:00"]),
    ],
)
def test_instants_follow_the_calendar(text: str, after: str, wanted: list[str]) -> None:
    found = following(text, "UTC", after, 2)
    assert [instant.removesuffix("+00:00") for instant in found] == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 0 31 4 ?", "0 0 0 30 2 1-7"),
        *("0 0 0 29 2 ? 2100", "0 0 0 29 2 ? 2097-2099", "0 0 0 1 1 ? 1999", "* * * * * ? 2025"),
        *("0 0 0 29 2 MON 2027-2043", "0 0 0 31 2-4/2 ?"),
    ],
)
@pytest.mark.parametrize("name", ["UTC", BERLIN, "Pacific/Apia", "Pacific/Kiritimati"])
def test_what_has_no_future_instant_never_fires(text: str, name: str) -> None:
    assert following(text, name, "2026-01-02 00:00:00", 1) == NEVER


def test_an_instant_is_a_whole_second_strictly_later() -> None:
    now, every = micros("2026-01-01 00:00:00"), parse("* * * * * *")
    assert next_instant(every, zone(""), now - MICROS - 1) == now - MICROS
    assert next_instant(every, zone(""), now - 1) == now
    assert next_instant(every, zone(""), now) == now + MICROS
    assert next_instant(every, zone(""), now + 1) == now + MICROS


def test_time_begins_with_the_epoch_and_ends_with_2100_on_the_zone_s_clocks() -> None:
    every = parse("* * * * * *")
    for name in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12", "America/New_York"):
        last = micros("2100-12-31 23:59:59", name)
        assert next_instant(every, zone(name), last - 1) == last
        assert next_instant(every, zone(name), last) is None
    assert next_instant(every, zone(""), -(10**30)) == 0
    assert next_instant(every, zone(""), 10**30) is None
    assert next_instant(parse("@yearly"), zone("Etc/GMT+12"), -1) == 12 * 3600 * MICROS
    assert next_instant(parse("0 0 0 1 1 ? 1970"), zone("Asia/Tokyo"), 0) is None


# -- clocks go ahead -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("30 2 * * *", ["2026-03-30 02:30:00+02:00"]),
        ("0 2 * * *", ["2026-03-30 02:00:00+02:00"]),
        ("0 3 * * *", ["2026-03-29 03:00:00+02:00"]),
        ("30 2 29 3 *", ["2027-03-29 02:30:00+02:00"]),
        ("0 30 2 29 3 ? 2026", NEVER),
        ("0 30 2 25-31 3 SUN", NEVER),
        ("30 * * * *", ["2026-03-29 01:30:00+01:00", "2026-03-29 03:30:00+02:00"]),
        ("0 */2 * * *", ["2026-03-29 04:00:00+02:00", "2026-03-29 06:00:00+02:00"]),
        ("*/30 2-3 * * *", ["2026-03-29 03:00:00+02:00", "2026-03-29 03:30:00+02:00"]),
    ],
)
def test_skipped_local_times_do_not_fire(text: str, wanted: list[str]) -> None:
    assert following(text, BERLIN, "2026-03-29 01:00:00", max(1, len(wanted))) == wanted


def test_a_skipped_day_does_not_fire() -> None:
    wanted = ["2011-12-29 12:00:00-10:00", "2011-12-31 12:00:00+14:00"]
    assert following("0 12 * * *", "Pacific/Apia", "2011-12-29 00:00:00", 2) == wanted
    assert following("0 12 30 12 *", "Pacific/Apia", "2011-12-29 00:00:00", 1) == [
        "2012-12-30 12:00:00+14:00"
    ]
    assert following("0 12 * 8 *", "Kwajalein", "1993-08-20 00:00:00", 2) == [
        "1993-08-20 12:00:00-12:00",
        "1993-08-22 12:00:00+12:00",
    ]


def test_midnight_may_be_skipped() -> None:
    assert following("0 0 * * *", "America/Havana", "2026-03-07 12:00:00", 1) == [
        "2026-03-09 00:00:00-04:00"
    ]


def test_offsets_may_have_seconds() -> None:
    assert following("*/50 * * * *", "Africa/Monrovia", "1972-01-06 23:50:00", 3) == [
        "1972-01-07 00:50:00+00:00",
        "1972-01-07 01:00:00+00:00",
        "1972-01-07 01:50:00+00:00",
    ]
    assert micros("1972-01-06 23:50:00", "Africa/Monrovia") == micros("1972-01-07 00:34:30")


# -- clocks go back --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("30 2 * * *", ["2026-10-25 02:30:00+02:00", "2026-10-26 02:30:00+01:00"]),
        ("0 2 * * *", ["2026-10-25 02:00:00+02:00", "2026-10-26 02:00:00+01:00"]),
        ("0 3 * * *", ["2026-10-25 03:00:00+01:00", "2026-10-26 03:00:00+01:00"]),
        ("30 2,3 * * *", ["2026-10-25 02:30:00+02:00", "2026-10-25 03:30:00+01:00"]),
        ("30 0-23 * * *", ["2026-10-25 02:30:00+02:00", "2026-10-25 03:30:00+01:00"]),
        ("30 * * * *", ["2026-10-25 02:30:00+02:00", "2026-10-25 02:30:00+01:00"]),
        ("30 */2 * * *", ["2026-10-25 02:30:00+02:00", "2026-10-25 02:30:00+01:00"]),
        ("30 2-9/7 * * *", ["2026-10-25 02:30:00+02:00", "2026-10-25 02:30:00+01:00"]),
        ("0 30 2 25 10 ? 2026", ["2026-10-25 02:30:00+02:00"]),
        ("59 59 2 25 10 ? 2026", ["2026-10-25 02:59:59+02:00"]),
    ],
)
def test_repeated_local_times_fire_once_unless_the_schedule_goes_by_the_hour(
    text: str, wanted: list[str]
) -> None:
    assert following(text, BERLIN, "2026-10-25 01:59:00", 2) == wanted


def test_from_within_the_second_pass_the_first_one_is_over() -> None:
    second_pass = "2026-10-25 02:10:00+01:00"
    assert following("30 2 * * *", BERLIN, second_pass, 1) == ["2026-10-26 02:30:00+01:00"]
    assert following("* * 2 * * *", BERLIN, second_pass, 1) == ["2026-10-26 02:00:00+01:00"]
    assert following("* 2-3 * * *", BERLIN, second_pass, 1) == ["2026-10-25 03:00:00+01:00"]
    assert following("30 * * * *", BERLIN, second_pass, 1) == ["2026-10-25 02:30:00+01:00"]


def test_every_ten_minutes_means_every_ten_minutes() -> None:
    instant, found = micros("2026-10-24 23:59:00"), []
    for _ in range(24):
        instant = next_instant(parse("*/10 * * * *"), zone(BERLIN), instant) or 0
        found.append(instant)
    assert {later - sooner for sooner, later in pairwise(found)} == {600 * MICROS}


def test_the_last_hour_of_a_year_may_come_twice() -> None:
    assert following("0 0 * 31 12 ? 2009", "Asia/Dhaka", "2009-12-31 22:30:00", 3) == [
        "2009-12-31 23:00:00+07:00",
        "2009-12-31 23:00:00+06:00",
    ]
    assert following("0 30 23 31 12 ? 2009", "Asia/Dhaka", "2009-12-31 22:30:00", 2) == [
        "2009-12-31 23:30:00+07:00",
    ]


def test_a_clock_may_go_back_by_half_an_hour() -> None:
    after = "2026-04-05 01:00:00"
    assert following("*/15 1-2 5 4 *", "Australia/Lord_Howe", after, 6) == [
        "2026-04-05 01:15:00+11:00",
        "2026-04-05 01:30:00+11:00",
        "2026-04-05 01:45:00+11:00",
        "2026-04-05 02:00:00+10:30",
        "2026-04-05 02:15:00+10:30",
        "2026-04-05 02:30:00+10:30",
    ]
    assert following("*/15 * 5 4 *", "Australia/Lord_Howe", "2026-04-05 01:30:00", 3) == [
        "2026-04-05 01:45:00+11:00",
        "2026-04-05 01:30:00+10:30",
        "2026-04-05 01:45:00+10:30",
    ]


# -- how long it takes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("* * * * * *", "2026-10-25 00:30:00"),
        (
            "* * 2 * * *",
            "2026-10-25 01:00:00",
        ),  # an hour of seconds, all of them in the second pass
        ("59 59 3 25 10 ? 2026", "2026-10-25 00:30:00"),
        ("0 0 29 2 *", "2026-10-25 00:30:00"),
        ("0 0 0 29 2 MON", "2028-03-01 00:00:00"),
        ("0 0 0 31 12 ? 2100", "2026-10-25 00:30:00"),
        ("0 0 30 2 *", "2026-10-25 00:30:00"),
        ("0 0 0 29 2 ? 2097-2099", "2026-10-25 00:30:00"),
    ],
)
def test_a_search_asks_the_calendar_and_the_zone_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch, text: str, after: str
) -> None:
    calendar, clock = CountedCalls(next_local), CountedCalls(instants._offset)
    monkeypatch.setattr(instants, "next_local", calendar)
    monkeypatch.setattr(instants, "_offset", clock)
    next_instant(parse(text), zone(BERLIN), micros(after))
    assert calendar.calls <= 6
    assert clock.calls <= 60


class CountedCalls(Generic[Arguments, Result]):
    """A function that knows how often it was called."""

    def __init__(self, function: Callable[Arguments, Result]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        self.calls += 1
        return self.function(*args, **kwargs)
