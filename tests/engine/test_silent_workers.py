"""Workers that fall silent leave lists and counts, and come back with any sign of life."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from assay.core.decide import Rules
from assay.engine.clock import wall_clock
from assay.engine.limits import WORKER_SILENT_AFTER, WORKERS_KEPT_FOR
from assay.engine.runner import Runner
from assay.engine.seeds import Seeds
from assay.model.commands import ScheduleActivity
from assay.model.ids import claim_token
from assay.model.operations import Start, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.model.worker import Introduction
from assay.store.catalogue import QueueView
from assay.store.open import open_store

LEASE = 3600 * MICROS
LONG_AGO = 1_000_000_000 * MICROS
TOLD = Introduction("main", "me", "default", None, None, 10, 20)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = LONG_AGO

    def __call__(self) -> int:
        return self.now


@contextlib.asynccontextmanager
async def running(backend: str, clock: Clock) -> AsyncIterator[Runner]:
    """An engine without background work: what is seen is written when the test says so."""
    store, rules = open_store(backend), Rules(lease=LEASE)
    runner = Runner(store, clock, rules, Seeds(b"workers"), background=False)
    await runner.start()
    try:
        async with asyncio.timeout(20):
            yield runner
    finally:
        await runner.stop()


async def seen(runner: Runner) -> list[str]:
    """Who is listed; the counts must agree."""
    questions = runner.questions
    listed = [view.worker.id for view in await questions.workers("main")]
    counts = await questions.namespace("main")
    assert counts is not None
    assert counts.others.workers == len(listed)
    queues = await questions.queues("main")
    assert sum(queue.workers for queue in queues) == len(listed)
    return listed


@pytest.mark.parametrize("written", [False, True], ids=["unwritten", "written"])
def test_silence_removes_and_any_sign_of_life_restores(backend: str, written: bool) -> None:
    async def story() -> None:
        clock = Clock()
        async with running(backend, clock) as runner:
            ann, bob = await runner.register(TOLD), await runner.register(TOLD)
            assert set(await seen(runner)) == {ann, bob}
            clock.now += WORKER_SILENT_AFTER
            assert set(await seen(runner)) == {ann, bob}
            await runner.heartbeat(bob)
            clock.now += 1
            if written:
                await runner.presence.write_behind()
            assert await seen(runner) == [bob]
            clock.now += WORKER_SILENT_AFTER
            assert await seen(runner) == []
            await runner.poll(TaskKind.ACTIVITY, "default", ann)
            if written:
                await runner.presence.write_behind()
            assert await seen(runner) == [ann]

    asyncio.run(story())


def test_a_worker_of_another_instance_is_seen_once_it_is_written(backend: str) -> None:
    """What this instance remembers of a worker is no more than what it heard itself."""

    async def story() -> None:
        clock = Clock()
        async with running(backend, clock) as runner:
            worker = await runner.register(TOLD)
            await runner.heartbeat(worker)
        clock.now += WORKER_SILENT_AFTER + 1
        async with running(backend, clock) as runner:
            assert await seen(runner) == []
            await runner.store.note_seen({worker: clock.now})
            assert await seen(runner) == [worker]

    asyncio.run(story())


def test_the_tasks_of_a_silent_worker_stay_its_own(backend: str) -> None:
    async def story() -> None:
        clock = Clock()
        async with running(backend, clock) as runner:
            worker = await runner.register(TOLD)
            await runner.perform(Start("T", "wf"))
            grant = await runner.poll(TaskKind.WORKFLOW, "default", worker)
            assert grant is not None
            command = ScheduleActivity(1, "work", "default", None, RetryPolicy())
            lease = claim_token(grant.claim.token)
            await runner.perform(SubmitCommands("wf", worker, (command,), lease))
            assert await runner.poll(TaskKind.ACTIVITY, "default", worker) is not None
            clock.now += WORKER_SILENT_AFTER + 1
            assert await runner.questions.workers("main") == []
            assert await runner.questions.queues("main") == [QueueView("default", 0, 1, 0)]
            await runner.heartbeat(worker)
            [view] = await runner.questions.workers("main")
            assert (view.active_tasks, view.worker.last_seen) == (1, clock.now)

    asyncio.run(story())


def test_a_worker_is_forgotten_long_after_it_fell_silent(backend: str) -> None:
    async def story() -> None:
        clock = Clock()
        async with running(backend, clock) as runner:
            silent, alive = await runner.register(TOLD), await runner.register(TOLD)
            clock.now += WORKERS_KEPT_FOR
            await runner.heartbeat(alive)
            await runner.presence.write_behind()
            forget = runner.store.forget_workers
            assert await forget(clock.now - WORKERS_KEPT_FOR) == 0
            assert await runner.store.worker_namespace(silent) == "main"
            clock.now += 1
            assert await forget(clock.now - WORKERS_KEPT_FOR) == 1
            assert await forget(clock.now - WORKERS_KEPT_FOR) == 0
            assert await runner.store.worker_namespace(silent) is None
            assert await runner.store.worker_namespace(alive) == "main"

    asyncio.run(story())


def test_an_engine_forgets_by_itself_who_was_silent_for_so_long(backend: str) -> None:
    async def story() -> None:
        clock = Clock()
        async with running(backend, clock) as runner:
            silent = await runner.register(TOLD)
        runner = Runner(open_store(backend), wall_clock, Rules(lease=LEASE))
        await runner.start()
        alive = await runner.register(TOLD)
        async with asyncio.timeout(20):
            while await runner.store.worker_namespace(silent) is not None:
                await asyncio.sleep(0.01)
        assert await runner.store.worker_namespace(alive) == "main"
        await runner.stop()

    asyncio.run(story())


def test_describe_says_whether_anybody_lives_on_the_queue(backend: str) -> None:
    async def story() -> None:
        clock = Clock()
        async with running(backend, clock) as runner:
            await runner.perform(Start("T", "wf"))
            await runner.perform(Start("T", "other", queue="nobody"))

            async def lonely(run: str) -> bool:
                found = await runner.questions.describe(run)
                assert found is not None
                assert found.waiting_for is not None
                [reason] = found.waiting_for
                return "no living worker" in reason.note

            assert await lonely("wf")
            worker = await runner.register(TOLD)
            assert not await lonely("wf")
            assert await lonely("other")
            clock.now += WORKER_SILENT_AFTER + 1
            assert await lonely("wf")
            await runner.heartbeat(worker)
            assert not await lonely("wf"), "not written yet"

    asyncio.run(story())
