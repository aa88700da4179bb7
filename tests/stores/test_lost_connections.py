"""Connections that end at any moment: nothing is doubled, nothing is lost, nobody dies of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec.structs import replace

from assay.core.decide import Rules
from assay.core.view import Key, Need
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.errors import StoreUnavailable
from assay.model.decision import Change
from assay.model.events import Event
from assay.model.operations import Signal, Start
from assay.store.port import Committed, Failed, Stale, Unknown
from assay.store.postgres.store import PostgresStore
from assay.store.views import HistoryRow
from tests.stores.places import Instance, Place, run
from tests.stores.rows import a_run, an_event, attempt, history, load, new, runs, write
from tests.stores.wires import Wire
from tests.support.postgres import PostgresCluster

CUT_ALL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'saboteur'
"""


@contextlib.asynccontextmanager
async def saboteur(place: Place) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(
        place.address, server_settings={"application_name": "saboteur"}
    )
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize(("what", "is_in"), [("answer", True), ("question", False)])
def test_what_happened_to_a_lost_commit_is_found_out(
    shared_place: Place, what: str, is_in: bool
) -> None:
    async def work() -> None:
        wire = Wire(shared_place.address)
        async with wire.laid() as url, Place("postgres", url).opened() as instance:
            # The first of its kind is prepared, which is a question and an answer of its own.
            await write(instance, events=[an_event(2, 1)])
            wire.lose(what)
            assert isinstance(await attempt(instance, events=[an_event(2, 2)]), Unknown)
            assert await instance.store.settle(instance.no, instance.batches) is is_in
            assert len(await history(instance, 2)) == 1 + is_in
            await write(instance, events=[an_event(2, 3)])

    run(work())


@pytest.mark.parametrize("what", ["answer", "question"])
def test_a_locked_batch_that_never_got_to_its_commit_has_failed(
    shared_place: Place, what: str
) -> None:
    async def work() -> None:
        wire = Wire(shared_place.address)
        async with wire.laid() as url, Place("postgres", url).opened() as instance:
            await write(instance, runs=[new(a_run(2))])
            row = next(iter((await runs(instance, 2)).values()))
            await lock(instance, 2)
            wire.lose(what)
            after = replace(row, ver=1)
            assert isinstance(await attempt(instance, runs=[Change(row, after)]), Failed)
            assert await runs(instance, 2) == {2: row}

    run(work())


async def lock(instance: Instance, no: int) -> None:
    await load(instance, Key(Need.RUN, no), lock=True)


def test_a_session_cut_between_batches_is_replaced(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance, saboteur(shared_place) as cutter:
            for no in range(2, 6):
                await cutter.execute(CUT_ALL)
                outcome = await attempt(instance, runs=[new(a_run(no))])
                if isinstance(outcome, Unknown):
                    assert not await instance.store.settle(instance.no, instance.batches)
                    outcome = await attempt(instance, runs=[new(a_run(no))])
                assert outcome == Committed()
            assert len(await runs(instance, *range(2, 6))) == 4

    run(work())


def test_sessions_cut_during_commits_double_nothing_and_lose_nothing(shared_place: Place) -> None:
    """Forty raced recoveries: what settling says is what the tables hold."""

    async def work() -> None:
        async with shared_place.opened() as instance, saboteur(shared_place) as cutter:
            await write(instance, runs=[new(a_run(2))])
            done = asyncio.Event()

            async def cut() -> None:
                for pause in itertools.cycle(range(10)):
                    if done.is_set():
                        return
                    await asyncio.sleep(0.01 + pause / 1000)
                    await cutter.execute(CUT_ALL)

            cutting = asyncio.create_task(cut())
            wanted: set[int] = set()
            recoveries = 0
            for seq in itertools.count(1):
                outcome = await attempt(instance, events=[an_event(2, seq)])
                if isinstance(outcome, Committed):
                    wanted.add(seq)
                elif isinstance(outcome, Unknown):
                    recoveries += 1
                    if await settled(instance):
                        wanted.add(seq)
                else:
                    assert isinstance(outcome, Failed)
                    await asyncio.sleep(0.01)
                if recoveries == 40:
                    break
            done.set()
            await cutting
            assert {event.seq for event in await patiently(instance)} == wanted

    run(work(), 50)


async def settled(instance: Instance) -> bool:
    while True:
        try:
            return await instance.store.settle(instance.no, instance.batches)
        except StoreUnavailable:
            await asyncio.sleep(0)


async def patiently(instance: Instance) -> list[Event]:
    while True:
        try:
            return await history(instance, 2)
        except StoreUnavailable:
            await asyncio.sleep(0.01)


def test_a_store_without_a_database_says_so_and_comes_back(
    postgres_cluster: PostgresCluster,
) -> None:
    cluster = postgres_cluster

    async def work() -> None:
        async with Place("postgres", cluster.url()).opened() as instance:
            store = instance.store
            await write(instance, runs=[new(a_run(2))])
            await asyncio.to_thread(cluster.stop)
            outcomes = [await attempt(instance, runs=[new(a_run(no))]) for no in (3, 4, 5)]
            assert all(isinstance(outcome, Failed | Unknown) for outcome in outcomes)
            assert isinstance(outcomes[-1], Failed)
            assert not await store.is_alive()
            for question in (store.claims(), store.deadlines(0), store.settle(instance.no, 2)):
                with pytest.raises(StoreUnavailable):
                    await question
            store.hint([])
            await asyncio.to_thread(cluster.start)
            while not await store.is_alive():
                await asyncio.sleep(0.02)
            while isinstance(await attempt(instance, runs=[new(a_run(9))]), Failed | Unknown):
                await asyncio.sleep(0.02)
            assert set(await runs(instance, 2, 3, 4, 5, 9)) == {2, 9}

    run(work(), 50)


def test_an_engine_whose_sessions_are_cut_doubles_no_signal(shared_place: Place) -> None:
    async def work() -> None:
        runner = Runner(PostgresStore(shared_place.address), wall_clock, Rules(lease=30_000_000))
        await runner.start()
        async with saboteur(shared_place) as cutter:
            await runner.perform(Start("order", "wf-1"))
            done = asyncio.Event()

            async def cut() -> None:
                while not done.is_set():
                    await asyncio.sleep(0.01)
                    await cutter.execute(CUT_ALL)

            async def signal(name: str) -> str | None:
                try:
                    await runner.perform(Signal("wf-1", name))
                except StoreUnavailable:
                    return None
                return name

            cutting = asyncio.create_task(cut())
            taken: list[str] = []
            for turn in range(40):
                names = [f"{turn}-{each}" for each in range(5)]
                answers = await asyncio.gather(*(signal(name) for name in names))
                taken += [name for name in answers if name is not None]
            done.set()
            await cutting
        assert taken
        rows = await all_events(runner)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        told = [json.loads(row.payload or "") for row in rows if row.type == "SignalReceived"]
        assert sorted(payload["signal"] for payload in told) == sorted(taken)
        await runner.stop()

    run(work(), 50)


async def all_events(runner: Runner) -> list[HistoryRow]:
    while True:
        try:
            return list(
                await runner.store.reading.events("wf-1", cursor=None, limit=None, descending=False)
            )
        except StoreUnavailable:
            await asyncio.sleep(0.02)


def test_a_guard_holds_after_a_session_was_replaced(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance, saboteur(shared_place) as cutter:
            row = a_run(2)
            await write(instance, runs=[new(row)])
            await lock(instance, 2)
            await cutter.execute(CUT_ALL)
            async with shared_place.opened() as other:
                await write(other, runs=[Change(row, replace(row, ver=1))])
            outcome = await attempt(instance, runs=[Change(row, replace(row, ver=1))])
            if not isinstance(outcome, Stale):
                assert isinstance(outcome, Failed)
                again = await attempt(instance, runs=[Change(row, replace(row, ver=1))])
                assert again == Stale()

    run(work())
