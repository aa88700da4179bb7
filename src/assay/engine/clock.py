"""The one place that reads the clock. It never steps back, over restarts too."""

import time
from collections.abc import Callable

Clock = Callable[[], int]


def wall_clock() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


class SteadyClock:
    """A clock that never shows less than it has shown, nor less than the store has seen.

    `offset` takes it to the store's own clock, so that instances on skewed hosts agree.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._floor = 0
        self.offset = 0

    def raise_floor(self, floor: int) -> None:
        """Somebody was there later already."""
        self._floor = max(self._floor, floor)

    def __call__(self) -> int:
        self._floor = max(self._floor, self._clock() + self.offset)
        return self._floor
