"""Several instances number one stream: in order, once, and whatever becomes of any of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest

from assay.model.decision import Count
from assay.model.states import RunStatus
from assay.store.postgres import sequencer
from assay.store.postgres.hints import Hints
from assay.store.postgres.store import PostgresStore
from tests.stores.places import Instance, Place, run
from tests.stores.rows import NOW, attempt, write
from tests.stores.test_stream import a_frame, bounds, numbered, rows, some

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LOCK = 418548769146
WRITERS = 3
COMMITS = 40
WAITING = """
INSERT INTO batch (instance, no, at, size, frames, counts)
VALUES ($1, $2, 7, 1, '[["signal_received","main","left",{}]]',
        '[{"namespace":"main","status":"FAILED","by":1}]')
"""
CUT_PASSES = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE '%assay_number%' AND pid <> pg_backend_pid()
"""


@contextlib.asynccontextmanager
async def connected(place: Place) -> AsyncIterator[Connection]:
    connection: Connection = await asyncpg.connect(place.address)
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def several(place: Place, count: int) -> AsyncIterator[list[Instance]]:
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(place.opened()) for _ in range(count)]


async def follow(instance: Instance, until: int) -> list[str]:
    """Read as a listener does, each number once and none left out; the names that were told."""
    names: list[str] = []
    async with asyncio.timeout(20):
        while len(names) < until:
            page = await instance.store.stream.page(len(names), 50)
            for row in page:
                assert row.before == len(names)
                names += [frame.workflow_id for frame in row.frames()]
            await asyncio.sleep(0)
    return names


async def keep_telling(instance: Instance) -> list[str]:
    """Commits, one after the other; the names in their order."""
    names = []
    for turn in range(COMMITS):
        frames = some(turn % 3, instance.no * 1000 + turn)
        await write(instance, frames=frames)
        names += [frame.workflow_id for frame in frames]
    return names


def test_many_instances_number_together_while_others_read(shared_place: Place) -> None:
    async def work() -> None:
        async with several(shared_place, WRITERS) as instances:
            total = WRITERS * sum(turn % 3 for turn in range(COMMITS))
            reader = asyncio.create_task(follow(instances[0], total))
            told = await asyncio.gather(*map(keep_telling, instances))
            seen = await reader
            assert sorted(seen) == sorted(name for names in told for name in names)
            for names in told:
                assert [name for name in seen if name in set(names)] == names
            assert await bounds(instances[1]) == await bounds(instances[2])

    run(work())


def test_what_comes_of_something_has_the_higher_number(shared_place: Place) -> None:
    """Two instances answer each other, each knowing that the other's commit is done."""

    async def work() -> None:
        async with several(shared_place, 2) as instances:
            for turn in range(60):
                # The clock of one of them is far behind.
                at = NOW - 1000 * (turn % 2)
                await write(instances[turn % 2], frames=[a_frame(f"wf-{turn}")], at=at)
            names = await follow(instances[0], 60)
            assert names == [f"wf-{turn}" for turn in range(60)]

    run(work())


def test_commits_do_not_wait_for_who_numbers(
    shared_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is held, as by a session that hangs in the middle: it ends, and all goes on."""
    monkeypatch.setattr(sequencer, "NUMBER_ALL_SECS", 0.05)

    async def work() -> None:
        async with several(shared_place, 2) as instances, connected(shared_place) as stuck:
            await stuck.execute("BEGIN")
            await stuck.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            for instance in instances:
                await write(instance, frames=some(2), counts=[Count("main", RunStatus.FAILED, 1)])
            assert (await instances[0].store.reading.run_counts("main")) == {RunStatus.FAILED: 2}
            await instances[0].store.stream.number_all()
            assert await rows(instances[0]) == []
            stuck.terminate()
            assert len(await follow(instances[1], 4)) == 4
            assert (await instances[0].store.reading.run_counts("main")) == {RunStatus.FAILED: 2}

    run(work())


def test_a_commit_that_is_slow_to_end_is_numbered_when_it_has(shared_place: Place) -> None:
    """It has the lower place, and others have passed it: it comes after them, not in between."""

    async def work() -> None:
        async with several(shared_place, 1) as [instance], connected(shared_place) as slow:
            await slow.execute("BEGIN")
            await slow.execute(WAITING, 999, 1)
            await write(instance, frames=some(2))
            await instance.store.stream.number_all()
            assert list(await numbered(instance)) == [1, 2]
            await slow.execute("COMMIT")
            await instance.store.stream.number_all()
            assert (await numbered(instance))[3].workflow_id == "left"

    run(work())


def test_what_an_instance_left_behind_is_numbered_by_the_next_sweep(shared_place: Place) -> None:
    async def work() -> None:
        async with several(shared_place, 1) as [instance], connected(shared_place) as gone:
            await gone.execute(WAITING, 999, 1)
            await instance.store.deadlines(0)
            assert await follow(instance, 1) == ["left"]
            # And it is no sweep of ours that takes it away before.
            await gone.execute(WAITING, 999, 2)
            await gone.execute(WAITING, instance.no, 0)
            await instance.store.prune_batches(instance.no, 1)
            await instance.store.stream.number_all()
            assert len(await numbered(instance)) == 3
            assert await instance.store.reading.run_counts("main") == {RunStatus.FAILED: 3}

    run(work())


def test_passes_that_are_cut_number_nothing_twice(shared_place: Place) -> None:
    async def work() -> None:
        async with several(shared_place, 2) as instances, connected(shared_place) as cutter:
            done = asyncio.Event()

            async def keep_cutting() -> None:
                while not done.is_set():
                    await cutter.execute(CUT_PASSES)

            async def keep_numbering() -> None:
                while not done.is_set():
                    await asyncio.gather(*(each.store.stream.number_all() for each in instances))

            disturbances = [asyncio.create_task(keep_cutting())]
            disturbances += [asyncio.create_task(keep_numbering())]
            told = await asyncio.gather(*map(keep_telling, instances))
            done.set()
            await asyncio.gather(*disturbances)
            for instance in instances:
                await instance.store.deadlines(0)
            seen = await follow(instances[0], sum(map(len, told)))
            assert sorted(seen) == sorted(name for names in told for name in names)

    run(work())


def test_sessions_that_number_at_once_share_the_work(shared_place: Place) -> None:
    """Without the store around them: the call alone is safe, and says when another is at it."""

    async def work() -> None:
        async with contextlib.AsyncExitStack() as stack:
            instance = await stack.enter_async_context(shared_place.opened())
            others = [await stack.enter_async_context(connected(shared_place)) for _ in range(4)]
            written = asyncio.create_task(keep_telling(instance))
            answers: list[asyncpg.Record] = []
            while not written.done():
                passes = (each.fetchrow("SELECT * FROM assay_number(3)") for each in others)
                answers += [row for row in await asyncio.gather(*passes) if row is not None]
            await instance.store.stream.number_all()
            assert len(await numbered(instance)) == len(await written)
            assert all(row["newest"] is not None or row["given"] is None for row in answers)

    run(work())


# -- telling each other --------------------------------------------------------------------------


def postgres(instance: Instance) -> PostgresStore:
    assert isinstance(instance.store, PostgresStore)
    return instance.store


def test_others_are_told_and_the_sweep_tells_who_was_not(
    shared_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with several(shared_place, 2) as [one, other]:
            await one.store.deadlines(0)  # so that it knows of the other
            news = asyncio.Event()
            other.store.stream.on_news(news.set)
            await write(one, frames=some(1))
            await asyncio.wait_for(news.wait(), 5)
            assert await follow(other, 1)
            await other.store.deadlines(0)
            monkeypatch.setattr(postgres(one)._hints, "add", lambda *_: None)
            news.clear()
            await write(one, frames=some(1))
            await follow(other, 2)
            assert not news.is_set()
            await other.store.deadlines(0)
            assert news.is_set()
            news.clear()
            await other.store.deadlines(0)
            assert not news.is_set()

    run(work())


def test_who_is_alone_tells_nobody(shared_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(Hints, "add", lambda _, __, news: told.extend(news))

    async def work() -> None:
        async with several(shared_place, 1) as [instance]:
            await attempt(instance, frames=some(1))
            await instance.store.stream.number_all()
        assert told == []

    run(work())
