"""The one place that reads the clock and lets time pass. It never steps back, over restarts too."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol

from assay.engine.limits import HORIZON
from assay.model.time import MICROS

Clock = Callable[[], int]
log = logging.getLogger("assay.engine")


def wall_clock() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def running_clock() -> int:
    """Microseconds since some moment; nobody sets this clock."""
    return time.monotonic_ns() // 1000


class Pace(Protocol):
    """How an engine lets time go by while it has nothing to do.

    Deadlines within the `horizon` are kept in memory; those beyond are left to the sweep.
    """

    horizon: int

    async def rest(self, news: asyncio.Event, until: int | None, clock: Clock) -> None:
        """Until something has come in, or the clock shows that moment."""


class Passing:
    """Time goes by as it does."""

    horizon = HORIZON

    async def rest(self, news: asyncio.Event, until: int | None, clock: Clock) -> None:
        """Until something has come in, or the clock shows that moment."""
        if until is None:
            await news.wait()
            return
        delay = (until - clock()) / MICROS
        if delay <= 0:
            return
        alarm = asyncio.get_running_loop().call_later(delay, news.set)
        try:
            await news.wait()
        finally:
            alarm.cancel()


class SteadyClock:
    """A clock that never shows less than it has shown, nor less than the store has seen.

    Where the host's clock is behind that (somebody set it back), time goes on from there at the
    pace of the running clock. `offset` takes the host's clock to the store's own, so that instances
    on skewed hosts agree.
    """

    def __init__(self, clock: Clock, running: Clock = running_clock) -> None:
        self._clock = clock
        self._running = running
        self._shown = 0
        self._shown_at = running()
        self.offset = 0

    def raise_floor(self, floor: int) -> None:
        """Somebody was there later already."""
        behind = floor - self()
        if behind > 0:
            log.warning("the clock is %.1f s behind the store's latest commit", behind / MICROS)
            self._shown = floor

    def __call__(self) -> int:
        at = self._running()
        elapsed, self._shown_at = at - self._shown_at, at
        told = self._clock() + self.offset
        self._shown = told if told >= self._shown else self._shown + elapsed
        return self._shown
