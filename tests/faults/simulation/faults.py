"""What goes wrong, how often; and which bounds are made small so that they are met."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from tests.faults.simulation.schedule import SECOND


@dataclass(frozen=True)
class Profile:
    """Chances of faults, and the mean time between those that just happen."""

    answer_lost: float = 0.0
    message_lost: float = 0.0
    repeated: float = 0.0
    hangs_up: float = 0.0
    commit_failed: float = 0.0
    commit_unknown: float = 0.0
    load_failed: float = 0.0
    settle_failed: float = 0.0
    hint_lost: float = 0.0
    worker_dies: float = 0.0
    worker_slow: float = 0.0
    worker_wrong: float = 0.0
    worker_echoes: float = 0.0
    crash_secs: float = 0.0
    leap_secs: float = 0.0
    skew: int = 0


CALM = Profile()
RACES = Profile(hint_lost=0.2, repeated=0.1, worker_slow=0.05, worker_echoes=0.1, skew=SECOND // 20)
NETWORK = Profile(
    answer_lost=0.08,
    message_lost=0.05,
    repeated=0.1,
    hangs_up=0.15,
    hint_lost=0.5,
    worker_dies=0.02,
    worker_slow=0.05,
    worker_wrong=0.03,
    worker_echoes=0.05,
    skew=SECOND // 4,
)
DATABASE = Profile(
    commit_failed=0.05,
    commit_unknown=0.08,
    load_failed=0.03,
    settle_failed=0.3,
    hint_lost=0.1,
    repeated=0.05,
    worker_slow=0.03,
    skew=SECOND // 10,
)
CRASHES = Profile(
    answer_lost=0.02,
    repeated=0.05,
    commit_unknown=0.02,
    hint_lost=0.2,
    worker_dies=0.03,
    worker_slow=0.08,
    worker_echoes=0.1,
    crash_secs=5.0,
    leap_secs=12.0,
    skew=SECOND // 5,
)
STORM = Profile(
    answer_lost=0.05,
    message_lost=0.03,
    repeated=0.1,
    hangs_up=0.1,
    commit_failed=0.03,
    commit_unknown=0.05,
    load_failed=0.02,
    settle_failed=0.2,
    hint_lost=0.3,
    worker_dies=0.03,
    worker_slow=0.08,
    worker_wrong=0.03,
    worker_echoes=0.05,
    crash_secs=8.0,
    leap_secs=15.0,
    skew=SECOND // 4,
)
PROFILES = (RACES, NETWORK, DATABASE, CRASHES, STORM)


class Faults:
    """The dice of everything that goes wrong."""

    def __init__(self, profile: Profile, dice: Random) -> None:
        self.profile = profile
        self.dice = dice

    @property
    def over(self) -> bool:
        """Nothing goes wrong any more."""
        return self.profile is CALM

    def end(self) -> None:
        """From now on all is well."""
        self.profile = CALM

    def strike(self, chance: float) -> bool:
        """Whether it goes wrong this time."""
        return chance > 0 and self.dice.random() < chance

    def pause(self, mean_secs: float) -> int:
        """How long until it happens again."""
        return round(self.dice.expovariate(1 / mean_secs) * SECOND) + 1


SMALL = {
    "OPERATIONS_PER_BATCH": 3,
    "CACHED_RUNS": 10,
    "WINDOW_TASKS": 2,
    "NUMBERS_PER_BLOCK": 11,
    "DEADLINES_PER_BATCH": 2,
    "CASCADE_AT_ONCE": 2,
    "LEVELS_AT_ONCE": 2,
    "CONFLICTS_BEFORE_SPLIT": 1,
    "CONFLICTS_BEFORE_LOCK": 2,
}


@contextmanager
def small_bounds() -> Iterator[None]:
    """Every bound so small that a short story crosses it many times."""
    kept: list[tuple[object, str, object]] = []
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("assay.")]
    for module in modules:
        for name, value in SMALL.items():
            if hasattr(module, name):
                kept.append((module, name, getattr(module, name)))
                setattr(module, name, value)
    try:
        yield
    finally:
        for holder, name, old in kept:
            setattr(holder, name, old)
