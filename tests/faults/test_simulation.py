"""Seeded stories of engines, workers and clients among faults (tests/faults/simulation/).

Two engines on one store play 200 seeds, a single one among crashes 60. ASSAY_SEEDS says otherwise:
a number (the first so many of each), or FIRST-LAST.
"""

import os

import pytest

from tests.faults.simulation.world import MODES, simulate

SEEDS_AT_ONCE = 5
DEFAULT = {"shared": "200", "exclusive": "60"}


def seeds(mode: str) -> range:
    first, _, last = os.environ.get("ASSAY_SEEDS", DEFAULT[mode]).rpartition("-")
    return range(int(first or 0), int(last) + bool(first))


STORIES = [
    (mode, seeds(mode)[at:][:SEEDS_AT_ONCE])
    for mode in MODES
    for at in range(0, len(seeds(mode)), SEEDS_AT_ONCE)
]


@pytest.mark.parametrize(("mode", "some"), STORIES)
def test_a_story_keeps_every_promise_and_is_the_same_when_played_again(
    mode: str, some: range
) -> None:
    for seed in some:
        once, again = simulate(seed, mode), simulate(seed, mode)
        assert once.digest == again.digest, f"seed {seed} of {mode} told two stories"
        assert once.commits > 0
