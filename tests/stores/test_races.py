"""Stores that write the same rows at once: every commit counts once, and none gets stuck."""

from __future__ import annotations

import asyncio
import random

from msgspec.structs import replace

from assay.model.decision import Change
from assay.store.port import Committed, Stale
from tests.stores.places import Instance, Place, run
from tests.stores.rows import a_run, an_activity, an_event, attempt, history, new, runs, write

ROWS = range(2, 14)
COMMITS = 60


async def commit_until_it_counts(instance: Instance, nos: list[int], dice: random.Random) -> int:
    """Count up these rows together; how often somebody else was quicker."""
    late = 0
    while True:
        rows = await runs(instance, *nos)
        dice.shuffle(nos)
        before = [rows[no] for no in nos]
        after = [replace(row, ver=row.ver + 1, last_seq=row.last_seq + 1) for row in before]
        outcome = await attempt(
            instance,
            runs=[Change(*pair) for pair in zip(before, after, strict=True)],
            events=[an_event(row.no, row.last_seq) for row in after],
        )
        if outcome == Committed():
            return late
        assert outcome == Stale(), outcome
        late += 1


def test_overlapping_commits_all_count_once(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            await write(one, runs=[new(a_run(no)) for no in ROWS])
            wanted: dict[int, int] = dict.fromkeys(ROWS, 0)

            async def keep_writing(instance: Instance) -> int:
                dice, late = random.Random(instance.no), 0
                for _ in range(COMMITS):
                    nos = dice.sample(ROWS, 4)
                    for no in nos:
                        wanted[no] += 1
                    late += await commit_until_it_counts(instance, nos, dice)
                return late

            late = await asyncio.gather(keep_writing(one), keep_writing(other))
            assert sum(late) > 0
            found = await runs(one, *ROWS)
            assert {no: row.last_seq for no, row in found.items()} == wanted
            for no in ROWS:
                seqs = [event.seq for event in await history(other, no)]
                assert seqs == list(range(1, wanted[no] + 1))

    run(work(), 40)


def test_of_two_that_take_one_id_one_gets_it(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            for no in range(100, 140, 2):
                outcomes = await asyncio.gather(
                    attempt(one, runs=[new(a_run(no, id=f"id-{no}"))]),
                    attempt(other, runs=[new(a_run(no + 1, id=f"id-{no}"))]),
                )
                assert sorted(map(str, outcomes)) == sorted(map(str, (Committed(), Stale())))

    run(work())


def test_of_two_that_claim_one_task_one_gets_it(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            row = an_activity(2, 2, ready_at=1)
            await write(one, activities=[new(row)])
            for turn in range(20):
                claimed = [
                    replace(row, ver=turn + 1, claimed_by=f"w-{instance.no}", claim_token=turn)
                    for instance in (one, other)
                ]
                outcomes = await asyncio.gather(
                    attempt(one, activities=[Change(row, claimed[0])]),
                    attempt(other, activities=[Change(row, claimed[1])]),
                )
                assert outcomes.count(Committed()) == 1
                row = claimed[outcomes.index(Committed())]

    run(work())
