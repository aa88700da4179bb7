"""A clock that stands still until somebody moves it, and an engine's time with it."""

import asyncio
from collections.abc import Callable

from assay.engine.clock import Clock

FOR_EVER = 1 << 61  # microseconds; a moment so much later still fits into a column


class VirtualClock:
    """The clock of one engine, and its pace: it never waits for a moment, it waits to be moved on.

    All deadlines are within its horizon, so that the earliest of them is always known.
    """

    horizon = FOR_EVER

    def __init__(self, start: int) -> None:
        self.now = start
        self.next_due: int | None = None
        self.is_resting = False
        self.on_rest: Callable[[], None] = lambda: None

    def __call__(self) -> int:
        return self.now

    def move_to(self, moment: int) -> None:
        """It is so late now; never earlier than before."""
        self.now = max(self.now, moment)

    async def rest(self, news: asyncio.Event, until: int | None, clock: Clock) -> None:
        """The engine has nothing to do until something comes in, or that moment has come."""
        if until is not None and until <= clock():
            await asyncio.sleep(0)
            return
        self.next_due = until
        self.is_resting = True
        self.on_rest()
        try:
            await news.wait()
        finally:
            self.is_resting = False
