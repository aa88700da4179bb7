"""Which names of zones are known, whatever else lies where the zones lie."""

from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones, reset_tzpath

import pytest

from assay.core.cron import zone
from assay.core.cron.zones import _names, _read
from assay.errors import BadValue


@pytest.mark.parametrize("name", ["", "UTC", "utc", "Utc", "uTc"])
def test_utc_may_be_written_in_any_case_and_left_out(name: str) -> None:
    assert zone(name) is zone("UTC")
    assert zone(name).key == "UTC"


@pytest.mark.parametrize(
    "name", ["Europe/Berlin", "America/Argentina/San_Luis", "Etc/GMT+12", "EST5EDT", "Zulu"]
)
def test_a_zone_goes_by_its_iana_name(name: str) -> None:
    assert zone(name) == ZoneInfo(name)


def test_every_zone_of_the_list_can_be_read() -> None:
    assert len(_names()) > 500
    assert all(zone(name).key == name for name in _names())
    assert _names() <= available_timezones()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Mars/Olympus",
            "europe/berlin",
            "EUROPE/BERLIN",
            "Berlin",
            "CEST",
            "UTC+1",
            "+01:00",
            "Z",
        ),
        *(" UTC", "UTC ", " ", "Europe/Berlin\n", "Europe/Berlin ", "Europe/Berlin\x00", "\x00"),
        *("America", "America/Argentina", "Europe/", "/", ".", "..", "./UTC", "UTC/", "Etc//UTC"),
        *(
            "posixrules",
            "localtime",
            "posix/UTC",
            "right/UTC",
            "tzdata.zi",
            "zone.tab",
            "leapseconds",
        ),
        *("/usr/share/zoneinfo/UTC", "../zoneinfo/UTC", "Europe/../UTC", "C:\\UTC", "Etc\\UTC"),
        *("__init__.py", "tzdata", "Europe/__init__.py"),
        *("\ud800", "Europe/K\u00f6ln", "\u212a", "x" * 10_000, "a/" * 1_000_000),
    ],
)
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(BadValue, match=r"^time zone: ") as refused:
        zone(name)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("contents", [b"", b"no zone", b"TZif2" + bytes(30)])
def test_a_file_that_is_no_zone_is_refused(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "Zulu").write_bytes(contents)
    reset_tzpath([tmp_path])
    forget()
    try:
        with pytest.raises(BadValue, match="'Zulu' cannot be read"):
            zone("Zulu")
    finally:
        reset_tzpath()
        forget()


def test_a_machine_without_zones_takes_them_from_the_package() -> None:
    reset_tzpath([])
    forget()
    try:
        assert all(zone(name).key == name for name in _names())
    finally:
        reset_tzpath()
        forget()


def forget() -> None:
    _read.cache_clear()
    ZoneInfo.clear_cache()
