"""Seeded stories of engines, workers and clients among faults (tests/faults/simulation/).

ASSAY_SEEDS says which seeds are played: a number (the first so many), or FIRST-LAST.
"""

import os

import pytest

from tests.faults.simulation.world import MODES, simulate

SEEDS_AT_ONCE = 5


def seeds() -> range:
    first, _, last = os.environ.get("ASSAY_SEEDS", "100").rpartition("-")
    return range(int(first or 0), int(last) + bool(first))


@pytest.mark.parametrize("first", seeds()[::SEEDS_AT_ONCE])
@pytest.mark.parametrize("mode", MODES)
def test_a_story_keeps_every_promise_and_is_the_same_when_played_again(
    mode: str, first: int
) -> None:
    for seed in range(first, min(first + SEEDS_AT_ONCE, seeds().stop)):
        once, again = simulate(seed, mode), simulate(seed, mode)
        assert once.digest == again.digest, f"seed {seed} of {mode} told two stories"
        assert once.commits > 0
