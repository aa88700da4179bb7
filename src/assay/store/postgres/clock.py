"""How far the host's clock is from the database's, which all instances go by."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from assay.store.postgres.limits import CLOCK_SAMPLES


class Sample(NamedTuple):
    """One measurement: the difference, and by how much it may be wrong either way."""

    offset: int
    error: int


class Offset:
    """The quickest of the latest measurements; a slow answer says little about the time."""

    def __init__(self) -> None:
        self.value = 0
        self.clock: Callable[[], int] | None = None
        self._samples: deque[Sample] = deque(maxlen=CLOCK_SAMPLES)

    def now(self) -> int:
        """The clock to compare with; without one nothing is measured."""
        return 0 if self.clock is None else self.clock()

    def note(self, asked_at: int, said: int) -> None:
        """The database said what time it was, some time between `asked_at` and now."""
        if self.clock is None:
            return
        answered_at = self.clock()
        error = max(answered_at - asked_at, 0) // 2
        sample = Sample(said - (asked_at + error), error)
        # A measurement that cannot be true together with those before it: a clock was set.
        if any(abs(old.offset - sample.offset) > old.error + error + 1000 for old in self._samples):
            self._samples.clear()
        self._samples.append(sample)
        self.value = min(self._samples, key=lambda each: each.error).offset
