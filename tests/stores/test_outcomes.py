"""After a lost answer: whether a batch is in can always be found out, and is true for ever."""

from __future__ import annotations

import asyncio

import asyncpg

from assay.store.port import Failed
from tests.stores.places import Instance, Place, run
from tests.stores.rows import NOW, a_run, attempt, new, write

INSERT = "INSERT INTO batch (instance, no, at) VALUES ($1, $2, $3)"


def test_what_was_committed_is_in(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(instance, runs=[new(a_run(2))])
            assert await instance.store.settle(instance.no, instance.batches)
            assert await instance.store.settle(instance.no, instance.batches)

    run(work())


def test_what_was_not_committed_is_not_in(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(instance, runs=[new(a_run(2))])
            assert not await instance.store.settle(instance.no, 2)
            assert not await instance.store.settle(instance.no + 1, 1)

    run(work())


def test_a_batch_that_was_settled_cannot_come_in_later(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance:
            assert not await instance.store.settle(instance.no, 1)
            assert isinstance(await attempt(instance, runs=[new(a_run(2))]), Failed)
            await write(instance, runs=[new(a_run(2))])

    run(work())


def test_asking_again_after_a_lost_answer_says_the_same(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance:
            for _ in range(3):
                assert not await instance.store.settle(instance.no, 1)

    run(work())


def test_settling_waits_for_a_commit_under_way(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance:
            assert await settled_while_under_way(shared_place, instance, 1, "COMMIT")
            assert not await settled_while_under_way(shared_place, instance, 2, "ROLLBACK")

    run(work())


async def settled_while_under_way(place: Place, instance: Instance, no: int, end: str) -> bool:
    """Ask while the lost session has written the batch's row and not yet come to its end."""
    lost = await asyncpg.connect(place.address)
    try:
        await lost.execute("BEGIN")
        await lost.execute(INSERT, instance.no, no, NOW)
        asked = asyncio.create_task(instance.store.settle(instance.no, no))
        while not await lost.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert not asked.done()
        await lost.execute(end)
        return await asked
    finally:
        await lost.close()
