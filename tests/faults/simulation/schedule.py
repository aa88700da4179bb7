"""Virtual time: events in the order of their moments; the seed decides the moments."""

import heapq
from collections.abc import Callable
from random import Random

from tests.faults.simulation.trace import Broken, Trace

Action = Callable[[], None]

MILLI = 1_000
SECOND = 1_000_000
START = 1_700_000_000 * SECOND
MOST_EVENTS = 150_000


class Schedule:
    """What happens next."""

    def __init__(self, dice: Random, trace: Trace) -> None:
        self.now = START
        self.leap = 0
        self._dice = dice
        self._trace = trace
        self._events: list[tuple[int, int, str, Action]] = []
        self._count = 0

    @property
    def clock(self) -> int:
        """What clocks show: the schedule's own time, and all the leaps they made."""
        return self.now + self.leap

    def after(self, delay: int, label: str, action: Action) -> None:
        """Let something happen so much later."""
        self._count += 1
        heapq.heappush(self._events, (self.now + delay, self._count, label, action))

    def soon(self, label: str, action: Action, longest: int = 4 * MILLI) -> None:
        """Let something happen in a while that the dice decide."""
        self.after(self._dice.randrange(20, longest), label, action)

    def run(self, until: int, done: Callable[[], bool] = lambda: False) -> None:
        """Let everything happen up to a moment, or until it is done."""
        while self._events and self._events[0][0] <= until and not done():
            at, _, label, action = heapq.heappop(self._events)
            self.now = at
            self._trace.events += 1
            if self._trace.events > MOST_EVENTS:
                raise Broken(f"the story does not end; last: {label}")
            self._trace.note(f"{(at - START) / SECOND:10.6f} {label}")
            action()
        self.now = max(self.now, until) if not done() else self.now
