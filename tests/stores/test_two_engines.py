"""Two running engines on one database: whatever they do at once comes out as if one had done it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import asyncpg

from assay.core.decide import Rules
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.errors import Refusal
from assay.model.commands import ScheduleActivity, ScheduleTimer
from assay.model.events import EventType
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    CreateSchedule,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
)
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy
from assay.model.task import TaskKind
from assay.store.views import HistoryRow
from tests.stores.places import Place, run

WORKFLOWS, ACTIVITIES = TaskKind.WORKFLOW, TaskKind.ACTIVITY


@contextlib.asynccontextmanager
async def engines(place: Place, count: int = 2) -> AsyncIterator[list[Runner]]:
    runners = [Runner(place.store(), wall_clock, Rules(lease=30_000_000)) for _ in range(count)]
    for runner in runners:
        await runner.start()
    try:
        yield runners
    finally:
        for runner in runners:
            await runner.stop()


async def schedule(runner: Runner, id: str, count: int) -> list[int]:
    """Start a run whose first task schedules activities; claim them all."""
    await runner.perform(Start("order", id, queue=id))
    assert await runner.poll(WORKFLOWS, id, "w", 5)
    commands = tuple(
        ScheduleActivity(seq, "charge", id, None, RetryPolicy()) for seq in range(1, count + 1)
    )
    await runner.perform(SubmitCommands(id, "w", commands))
    claimed = [await runner.poll(ACTIVITIES, id, "w", 5) for _ in range(count)]
    return [grant.claim.no for grant in claimed if grant is not None]


async def events(runner: Runner, id: str) -> list[HistoryRow]:
    found = await runner.store.reading.events(id, cursor=None, limit=None, descending=False)
    assert [row.seq for row in found] == list(range(1, len(found) + 1))
    return found


def count_of(rows: list[HistoryRow], kind: EventType) -> int:
    return sum(row.type == kind for row in rows)


def test_completions_through_both_leave_no_gap(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            nos = await schedule(one, "wf", 20)
            assert len(set(nos)) == 20
            await asyncio.gather(
                *(
                    (one, other)[at % 2].perform(CompleteActivity(no, str(no)))
                    for at, no in enumerate(nos)
                )
            )
            rows = await events(other, "wf")
            assert count_of(rows, EventType.ACTIVITY_COMPLETED) == 20
            assert len(rows) == 1 + 20 + 20

    run(work(), 40)


def test_a_completion_told_to_both_counts_once(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            nos = await schedule(one, "wf", 10)
            told = [
                runner.exchange((CompleteActivity(no, "1"),))
                for no in nos
                for runner in (one, other)
            ]
            await asyncio.gather(*told)
            assert count_of(await events(one, "wf"), EventType.ACTIVITY_COMPLETED) == 10

    run(work(), 40)


def test_a_cancel_races_completions(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            for turn in range(5):
                id = f"wf-{turn}"
                nos = await schedule(one, id, 6)
                completions = [
                    (one, other)[no % 2].perform(CompleteActivity(no, None)) for no in nos
                ]
                done = await asyncio.gather(
                    *completions[:3],
                    other.perform(Cancel(id)),
                    *completions[3:],
                    return_exceptions=True,
                )
                assert not [each for each in done if isinstance(each, Exception)], done
                rows = await events(other, id)
                assert count_of(rows, EventType.WORKFLOW_CANCEL_REQUESTED) == 1
                assert count_of(rows, EventType.ACTIVITY_COMPLETED) == 6

    run(work(), 40)


def test_signals_through_both_all_arrive(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            await one.perform(Start("order", "wf"))
            names = [f"signal-{no}" for no in range(60)]
            await asyncio.gather(
                *((one, other)[at % 2].perform(Signal("wf", name)) for at, name in enumerate(names))
            )
            assert count_of(await events(one, "wf"), EventType.SIGNAL_RECEIVED) == 60

    run(work(), 40)


def test_one_id_starts_one_run(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            for turn in range(10):
                starts = [runner.perform(Start("order", f"wf-{turn}")) for runner in (one, other)]
                outcomes = await asyncio.gather(*starts, return_exceptions=True)
                assert sum(isinstance(outcome, Refusal) for outcome in outcomes) == 1

    run(work(), 40)


def test_no_task_is_handed_out_twice(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            starts = tuple(Start("order", f"wf-{no}") for no in range(300))
            await one.exchange(starts)

            async def take(runner: Runner, worker: str) -> list[int]:
                taken = []
                while grant := await runner.poll(WORKFLOWS, "default", worker, 0):
                    taken.append(grant.claim.no)
                return taken

            pollers = [take((one, other)[no % 2], f"w-{no}") for no in range(50)]
            taken = await asyncio.gather(*pollers)
            claimed = [no for each in taken for no in each]
            assert len(claimed) == len(set(claimed)) == 300

    run(work(), 50)


def test_a_task_made_ready_there_wakes_who_waits_here(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place) as (one, other):
            waits = []
            for turn in range(5):
                held = asyncio.create_task(other.poll(WORKFLOWS, "default", "w", 10))
                await asyncio.sleep(0.05)
                began = time.perf_counter()
                await one.perform(Start("order", f"wf-{turn}"))
                assert await held is not None
                waits.append(time.perf_counter() - began)
            assert sorted(waits)[2] < 0.1, waits

    run(work(), 40)


def test_a_start_that_waits_is_made_at_once_wherever_the_run_before_it_ends(
    shared_place: Place,
) -> None:
    async def work() -> None:
        async with engines(shared_place) as both:
            every_second = CreateSchedule(
                "main", "tick", "order", "* * * * * *", "", None, "q", OverlapPolicy.QUEUE
            )
            await both[0].perform(every_second)
            grant, waits = await both[0].poll(WORKFLOWS, "q", "w", 10), []
            for turn in range(6):
                row = None
                while row is None or row.queued_start is None:
                    await asyncio.sleep(0.01)
                    row = await both[0].store.catalogue.schedule("main", "tick")
                assert grant is not None
                assert isinstance(grant.row, Run)
                held = asyncio.create_task(both[0].poll(WORKFLOWS, "q", "w", 10))
                await asyncio.sleep(0.05)
                began = time.perf_counter()
                await both[turn % 2].perform(Terminate(grant.row.id))
                grant = await held
                waits.append(time.perf_counter() - began)
            assert sorted(waits)[3] < 0.1, waits

    run(work(), 40)


def test_a_timer_of_an_engine_that_stopped_fires_elsewhere(shared_place: Place) -> None:
    async def work() -> None:
        async with engines(shared_place, 1) as (one,):
            async with engines(shared_place, 1) as (other,):
                await other.perform(Start("order", "wf"))
                assert await other.poll(WORKFLOWS, "default", "w", 5)
                await other.perform(SubmitCommands("wf", "w", (ScheduleTimer(1, 0.3),)))
            assert await one.poll(WORKFLOWS, "default", "w", 10)
            assert count_of(await events(one, "wf"), EventType.TIMER_FIRED) == 1

    run(work(), 40)


def test_an_idle_engine_asks_seldom(shared_place: Place) -> None:
    """Fewer than three statements a second, a waiting worker included."""

    async def work() -> None:
        async with engines(shared_place, 1) as (runner,):
            held = asyncio.create_task(runner.poll(WORKFLOWS, "default", "w", 10))
            await asyncio.sleep(1.0)
            before = await transactions(shared_place)
            await asyncio.sleep(3.0)
            # The connection that asks counts its own as well.
            assert await transactions(shared_place) - before <= 9 + 6
            held.cancel()
            await asyncio.gather(held, return_exceptions=True)

    run(work(), 40)


async def transactions(place: Place) -> int:
    connection = await asyncpg.connect(place.address)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        row = await connection.fetchrow(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database"
            " WHERE datname = current_database()"
        )
        assert row is not None
        return int(row[0])
    finally:
        await connection.close()
