"""Time zones by their IANA names, from the files that the machine or the package tzdata has.

Only names that tzdata lists are ever looked for. So a name is no path, is not said in another case,
and counts as known on every machine or on none, whatever else lies in the machine's folder.
"""

import struct
from functools import cache, lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from assay.core.cron.fields import quoted
from assay.errors import BadValue

ZONES_AT_HAND = 64  # of about 600; each takes some kilobytes, or a tenth of a millisecond to read


def zone(name: str) -> ZoneInfo:
    """The zone of that name; no name is UTC."""
    if name.upper() in ("", "UTC"):
        name = "UTC"
    if name not in _names():
        raise BadValue(f"time zone: {quoted(name)} is unknown")
    return _read(name)


@lru_cache(maxsize=ZONES_AT_HAND)
def _read(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, LookupError, ValueError, struct.error) as fault:
        raise BadValue(f"time zone: {quoted(name)} cannot be read: {fault}") from fault


@cache
def _names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())
