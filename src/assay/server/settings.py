"""The environment, read in one place."""

import logging
import math
import sys
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from assay.engine.limits import LEASE_SECS
from assay.model.time import micros

log = logging.getLogger("assay.server")

LEASE = "ASSAY_WF_DISPATCH_TIMEOUT_SECS"
LOG_LEVELS = ("ASSAY_LOG", "RUST_LOG")  # the first that is set
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}


class Settings(Struct, frozen=True):
    """What the operator has chosen, apart from the command line."""

    lease: int = micros(LEASE_SECS)
    log_level: int = logging.INFO
    build_profile: Literal["release", "debug"] = "release"
    keep_alive_secs: float = 15.0  # between the comments of an event stream (contract §14)


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings; an unusable one counts as its default, with a warning."""
    return Settings(
        lease=micros(_seconds(environment, LEASE, LEASE_SECS)),
        log_level=log_level(environment),
        build_profile="debug" if sys.flags.dev_mode else "release",
    )


def log_level(environment: Mapping[str, str]) -> int:
    """The level; what is none counts as info."""
    chosen = next((environment[name] for name in LOG_LEVELS if environment.get(name)), "info")
    return LEVELS.get(chosen.strip().lower(), logging.INFO)


def _seconds(environment: Mapping[str, str], name: str, usual: float) -> float:
    text = environment.get(name, "").strip()
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if value > 0:
        return value
    log.warning("%s is %r, not a number of seconds above 0: %s is used", name, text, usual)
    return usual
