"""Lists of runs: whatever walk is taken, it finds what a look at every run finds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from assay.model.decision import Attribute
from assay.model.run import Run
from assay.model.states import OPEN_RUN, RunStatus
from assay.store import listing
from assay.store.catalogue import Catalogue
from assay.store.listing import Listing
from assay.store.rows import Row
from tests.stores.places import Instance, Place, run
from tests.stores.rows import NOW, a_run, new, write

NAMESPACES = ("main", "other")
TYPES = ("a", "b", "x" * 150, "x" * 150 + "y", "c" * 100 + "1", "c" * 100 + "2")
CLAIMERS = ("w1", "w2", "v" * 150, "v" * 150 + "y")
PAIRS = (("k", "1"), ("k", "2"), ("tier", '"gold"'), ("all", "true"))
Entry = tuple[Run, frozenset[tuple[str, str]]]


def random_entry(dice: random.Random, no: int) -> Entry:
    status = dice.choice(list(RunStatus))
    pairs = {pair for pair in PAIRS[:3] if dice.random() < 0.3} | {PAIRS[3]}
    row = a_run(
        no,
        id=f"{dice.choice('zZaä𝄞')}{no}",
        namespace=dice.choice(NAMESPACES),
        type=dice.choice(TYPES),
        status=status,
        created_at=NOW + dice.randint(0, 8),  # many share a moment
        completed_at=None if status in OPEN_RUN else NOW + 9,
        # Who is pending was never claimed.
        claimed_by=None if status is RunStatus.PENDING else dice.choice(CLAIMERS),
    )
    return row, frozenset(pairs)


async def fill(instance: Instance, entries: Sequence[Entry]) -> None:
    await write(
        instance,
        runs=[new(row) for row, _ in entries],
        attributes_added=[
            Attribute(row.namespace, key, value, row.created_at, row.no)
            for row, pairs in entries
            for key, value in pairs
        ],
    )


def random_listing(dice: random.Random) -> Listing:
    return Listing(
        dice.choice(NAMESPACES),
        dice.choice([None, None, *RunStatus]),
        dice.choice([None, None, *TYPES]),
        dice.choice([None, None, *CLAIMERS, "nobody"]),
        tuple(dice.sample([*PAIRS, ("none", "0")], dice.choice([0, 0, 1, 2, 3]))),
        dice.choice([1, 5, 1000]),
        dice.choice([0, 0, 1, 7]),
    )


def meant(entries: Sequence[Entry], asked: Listing) -> list[str]:
    rows = [
        row
        for row, pairs in entries
        if row.namespace == asked.namespace
        and asked.status in (None, row.status)
        and asked.type in (None, row.type)
        and asked.claimed_by in (None, row.claimed_by)
        and pairs.issuperset(asked.pairs)
    ]
    rows.sort(key=lambda row: (-row.created_at, row.id))
    return [row.id for row in rows][asked.offset : asked.offset + asked.limit]


@pytest.mark.parametrize("weighed", [1000, 3], ids=["short-walks", "long-walks"])
def test_any_list_is_what_a_look_at_every_run_finds(
    place: Place, weighed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WEIGHED", weighed)
    dice = random.Random(weighed)
    entries = [random_entry(dice, no) for no in range(2, 202)]

    async def work() -> None:
        async with place.opened() as instance:
            await fill(instance, entries)
            for _ in range(400):
                asked = random_listing(dice)
                found = await instance.store.catalogue.runs(asked)
                assert [view.run.id for view in found] == meant(entries, asked), asked

    run(work())


class Watched:
    """A catalogue that notes which queries it asks."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._ask = catalogue._ask
        self.asked: list[str] = []
        self.catalogue = Catalogue(self.ask)

    async def ask(self, name: str, *parameters: Any) -> Sequence[Row]:
        self.asked.append(name)
        return await self._ask(name, *parameters)

    async def walk(self, **fields: Any) -> str:
        """The last query is the list itself."""
        await self.catalogue.runs(Listing("main", **fields))
        return self.asked[-1]


def test_the_shortest_walk_is_taken(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """One selective condition leads, whatever unselective ones stand beside it."""
    monkeypatch.setattr(listing, "WEIGHED", 10)
    common = (("version", "1"), ("region", "2"))
    entries: list[Entry] = []
    for no in range(2, 202):
        # Long ago, 5 runs are of each needle's kind; all is common besides.
        needle = no if no < 6 else None
        fields: dict[str, Any] = {"status": RunStatus.COMPLETED, "completed_at": NOW + no}
        fields |= {"claimed_by": "w", "type": "common", "created_at": NOW + no}
        if needle is not None:
            fields |= {"claimed_by": "w-needle"} if no == 2 else {}
            fields |= {"type": "needle"} if no == 3 else {}
            fields |= {"status": RunStatus.FAILED} if no == 4 else {}
        pairs = {*common, ("needle", "true")} if no == 5 else set(common)
        entries.append((a_run(no, **fields), frozenset(pairs)))
    common_ones: dict[str, Any] = {
        "pairs": common,
        "type": "common",
        "status": RunStatus.COMPLETED,
        "claimed_by": "w",
    }

    async def work() -> None:
        async with place.opened() as instance:
            await fill(instance, entries)
            watched = Watched(instance.store.catalogue)
            walk = watched.walk
            with_needle = {**common_ones, "pairs": (("needle", "true"), *common)}
            assert await walk(**with_needle) == "sift_by_attribute"
            assert await walk(**{**common_ones, "type": "needle"}) == "sift_by_type"
            assert await walk(**{**common_ones, "claimed_by": "w-needle"}) == "sift_by_claimer"
            failed = {**common_ones, "status": RunStatus.FAILED}
            assert await walk(**{**failed, "type": None}) == "sift_by_status"
            assert await walk(claimed_by="w") == "sift_by_claimer"
            assert await walk(pairs=common[:1]) == "sift_by_attribute"
            assert await walk(type="common", status=RunStatus.FAILED) == "list_by_type"
            assert await walk(status=RunStatus.FAILED) == "list_by_status"
            watched.asked.clear()
            # No run has it: that is known without any walk.
            await watched.catalogue.runs(Listing("main", pairs=(("none", "0"), *common)))
            assert watched.asked == ["weigh_attributes"]

    run(work())


def test_what_never_was_at_the_same_time_is_not_looked_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of the old version, runs of the new colour: both many, and none has both."""
    monkeypatch.setattr(listing, "WEIGHED", 10)
    entries = [
        (a_run(no, created_at=NOW + no), frozenset({("old", "1") if no < 50 else ("new", "1")}))
        for no in range(2, 100)
    ]

    async def work() -> None:
        async with place.opened() as instance:
            await fill(instance, entries)
            watched = Watched(instance.store.catalogue)
            asked = Listing("main", pairs=(("old", "1"), ("new", "1")))
            assert await watched.catalogue.runs(asked) == []
            assert watched.asked == ["weigh_attributes"]

    run(work())
