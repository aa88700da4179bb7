"""Zones with odd clocks, and when each of them changes its offset."""

import struct
import zoneinfo
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

ODD_ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "Africa/Juba",
    "Africa/Sao_Tome",
    "Africa/Tripoli",
    "Africa/Windhoek",
    "America/Argentina/San_Luis",
    "America/Argentina/Tucuman",
    "America/Asuncion",
    "America/Boa_Vista",
    "America/Caracas",
    "America/Havana",
    "America/Metlakatla",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Scoresbysund",
    "America/St_Johns",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Asia/Amman",
    "Asia/Colombo",
    "Asia/Dhaka",
    "Asia/Gaza",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Australia/Eucla",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/Volgograd",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Easter",
    "Pacific/Fiji",
    "Pacific/Norfolk",
    "Pacific/Tongatapu",
)
HALF_DAY = 12 * 3600


class Change(NamedTuple):
    """The first second with a new offset, the old one, and the new one."""

    second: int
    before: int
    after: int

    @property
    def shift(self) -> int:
        return abs(self.after - self.before)


def start_of(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())


def offset(zone: ZoneInfo, second: int) -> int:
    difference = datetime.fromtimestamp(second, zone).utcoffset()
    assert difference is not None
    return int(difference.total_seconds())


@cache
def changes(name: str, first_year: int, last_year: int) -> list[Change]:
    """Every change of offset in these years: those the file lists, then those its rule makes."""
    zone, first, last = ZoneInfo(name), start_of(first_year), start_of(last_year + 1)
    seconds = listed(name)
    for second in range(max([first, *seconds]), last, HALF_DAY):
        if offset(zone, second) != offset(zone, second + HALF_DAY):
            seconds.append(between(zone, second, second + HALF_DAY))
    return [change for change in real(zone, seconds) if first <= change.second < last]


def real(zone: ZoneInfo, seconds: list[int]) -> list[Change]:
    """Some of what files list changes the name of the time alone."""
    found = [Change(second, offset(zone, second - 1), offset(zone, second)) for second in seconds]
    return [change for change in found if change.shift]


def between(zone: ZoneInfo, low: int, high: int) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(zone, middle) == offset(zone, low) else (low, middle)
    return high


def listed(name: str) -> list[int]:
    """The changes since 1970 in a zone's file (RFC 8536): its second block has eight bytes each."""
    data = contents(name)
    isut, isstd, leap, times, types, characters = struct.unpack_from(">6l", data, 20)
    block = 44 + times * 5 + types * 6 + characters + leap * 8 + isstd + isut
    (times,) = struct.unpack_from(">l", data, block + 32)
    return [second for second in struct.unpack_from(f">{times}q", data, block + 44) if second >= 0]


def contents(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.exists():
            return path.read_bytes()
    return files("tzdata").joinpath("zoneinfo", name).read_bytes()


def names() -> list[str]:
    return sorted(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())
