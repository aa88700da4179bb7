"""What an activity is told of its attempt, and what it tells: heartbeats, details, time-outs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

import assay
from tests.sdk.flavours import with_client
from tests.sdk.world import World, on_every_shape
from tests.support.api import Api

QUICK: Any = {"initial_interval_secs": 0.0}


@on_every_shape
async def test_an_attempt_knows_its_run_its_activity_and_its_number(world: World) -> None:
    @assay.activity
    async def introduce(ctx: assay.ActivityContext) -> list[Any]:
        if ctx.attempt < 3:
            raise ValueError
        return [ctx.workflow_id, ctx.activity_id, ctx.attempt, ctx.heartbeat_details]

    @assay.workflow
    async def ask(ctx: assay.WorkflowContext) -> list[Any]:
        return await ctx.execute_activity(introduce, **QUICK)

    await world.deploy(ask, introduce)
    id = (await world.start(ask)).id
    told = await world.result(id)
    assert told == [id, (await world.activity(id))["id"], 3, None]


@pytest.mark.parametrize("way", ["async", "sync"])
@on_every_shape
async def test_what_a_heartbeat_says_is_handed_to_the_next_attempt(world: World, way: str) -> None:
    async def crawl(ctx: assay.ActivityContext) -> int:
        done: int = ctx.heartbeat_details or 0
        for page in range(done, done + 3):
            assert await ctx.heartbeat(page + 1) is False
        if ctx.attempt < 3:
            raise ValueError
        return done

    def crawl_plainly(ctx: assay.ActivityContext) -> int:
        done: int = ctx.heartbeat_details or 0
        for page in range(done, done + 3):
            assert ctx.heartbeat(page + 1) is False
        if ctx.attempt < 3:
            raise ValueError
        return done

    work = assay.activity("crawl")(crawl if way == "async" else crawl_plainly)

    @assay.workflow
    async def crawling(ctx: assay.WorkflowContext) -> Any:
        return await ctx.execute_activity("crawl", **QUICK)

    await world.deploy(crawling, work)
    assert await world.run(crawling) == 6


@on_every_shape
async def test_a_heartbeat_need_not_be_awaited(world: World) -> None:
    @assay.activity
    async def crawl(ctx: assay.ActivityContext) -> Any:
        if ctx.attempt == 1:
            assert not ctx.heartbeat("seen")
            await ctx.heartbeat("seen later")
            raise ValueError
        return ctx.heartbeat_details

    @assay.workflow
    async def crawling(ctx: assay.WorkflowContext) -> Any:
        return await ctx.execute_activity(crawl, **QUICK)

    await world.deploy(crawling, crawl)
    assert await world.run(crawling) == "seen later"


@on_every_shape
async def test_a_heartbeat_without_details_keeps_those_said_before(world: World) -> None:
    @assay.activity
    async def crawl(ctx: assay.ActivityContext) -> Any:
        if ctx.attempt == 1:
            await ctx.heartbeat({"page": 1})
            await ctx.heartbeat()
            raise ValueError
        return ctx.heartbeat_details

    @assay.workflow
    async def crawling(ctx: assay.WorkflowContext) -> Any:
        return await ctx.execute_activity(crawl, **QUICK)

    await world.deploy(crawling, crawl)
    assert await world.run(crawling) == {"page": 1}


@pytest.mark.parametrize("way", ["async", "sync"])
@on_every_shape
async def test_a_heartbeat_says_that_the_run_is_being_cancelled(world: World, way: str) -> None:
    is_there = threading.Event()
    told: list[bool] = []

    async def work(ctx: assay.ActivityContext) -> None:
        is_there.set()
        while not await ctx.heartbeat():
            await asyncio.sleep(0.01)
        told.append(bool(ctx.heartbeat()))

    def work_plainly(ctx: assay.ActivityContext) -> None:
        is_there.set()
        while not ctx.heartbeat():
            time.sleep(0.01)
        told.append(ctx.heartbeat())

    activity = assay.activity("work")(work if way == "async" else work_plainly)

    @assay.workflow
    async def working(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_activity("work")

    await world.deploy(working, activity)
    run = await world.start(working)
    await asyncio.to_thread(is_there.wait, 10)
    await run.cancel("enough")
    with pytest.raises(assay.WorkflowCancelled, match="enough"):
        await world.result(run.id)
    async with asyncio.timeout(10):
        while not told:  # the run does not wait for it
            await asyncio.sleep(0.01)
    assert told == [True]


@on_every_shape
async def test_the_worker_beats_for_whoever_is_silent(world: World) -> None:
    @assay.activity
    async def slow(ctx: assay.ActivityContext) -> int:
        await asyncio.sleep(1.4)
        return ctx.attempt

    @assay.workflow
    async def waiting(ctx: assay.WorkflowContext) -> int:
        return await ctx.execute_activity(slow, heartbeat_timeout_secs=1.0)

    await world.deploy(waiting, slow)
    assert await world.run(waiting) == 1


@on_every_shape
async def test_the_worker_beats_for_whoever_falls_silent_too(world: World) -> None:
    """What it said of its progress is kept."""

    @assay.activity
    async def slow(ctx: assay.ActivityContext) -> list[Any]:
        if ctx.attempt == 1:
            await ctx.heartbeat("half of it")
            await asyncio.sleep(1.4)
            raise ValueError
        return [ctx.attempt, ctx.heartbeat_details]

    @assay.workflow
    async def waiting(ctx: assay.WorkflowContext) -> list[Any]:
        opts: Any = {**QUICK, "heartbeat_timeout_secs": 1.0, "max_attempts": 2}
        return await ctx.execute_activity(slow, **opts)

    await world.deploy(waiting, slow)
    run = await world.start(waiting)
    assert await world.result(run.id) == [2, "half of it"]
    assert await errors(world, run.id) == ["ValueError"]


@with_client
async def test_the_worker_beats_while_an_attempt_that_has_beaten_blocks(
    client: Any, api: Api
) -> None:
    async def slow(ctx: assay.ActivityContext, _given: Any) -> int:
        await ctx.heartbeat("half of it")
        time.sleep(1.4)  # noqa: ASYNC251 - the whole loop stands still
        return ctx.attempt

    async def waiting(ctx: assay.WorkflowContext, queue: str) -> Any:
        return await ctx.execute_activity("slow", task_queue=queue, heartbeat_timeout_secs=0.8)

    client.define("waiting", waiting)
    client.activity("slow", slow)
    listening = asyncio.ensure_future(client.listen(api.queue))
    id = await api.start(workflow_type="waiting", input=api.queue)
    assert await client.workflows.result(id, 10) == 1
    await client.close()
    await listening


async def errors(world: World, id: str) -> list[str]:
    """What the failed attempts of a run's activity said."""
    path = f"/activities/{(await world.activity(id))['id']}/attempts"
    attempts = json.loads((await world.client.transport.request("GET", path)).body)
    return [attempt["error"] for attempt in attempts if attempt["error"]]


@pytest.mark.parametrize("way", ["async", "sync"])
@on_every_shape
async def test_an_attempt_that_takes_too_long_fails(world: World, way: str) -> None:
    over = threading.Event()

    async def slow(ctx: assay.ActivityContext) -> int:
        if ctx.attempt == 1:
            await asyncio.get_running_loop().create_future()
        return ctx.attempt

    def slow_plainly(ctx: assay.ActivityContext) -> int:
        if ctx.attempt == 1:
            over.wait(10)
        return ctx.attempt

    activity = assay.activity("slow")(slow if way == "async" else slow_plainly)

    @assay.workflow
    async def waiting(ctx: assay.WorkflowContext, attempts: int) -> Any:
        opts: Any = {**QUICK, "start_to_close_secs": 0.15, "max_attempts": attempts}
        return await ctx.execute_activity("slow", **opts)

    await world.deploy(waiting, activity)
    try:
        assert await world.run(waiting, 2) == 2
        with pytest.raises(assay.WorkflowFailed) as caught:
            await world.run(waiting, 1)
    finally:
        over.set()
    assert caught.value.error == "activity 'slow' failed: start_to_close timeout"


@on_every_shape
async def test_a_plain_activity_that_hangs_keeps_its_room(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    over = threading.Event()

    @assay.activity
    def hang(_ctx: assay.ActivityContext) -> None:
        over.wait(10)

    @assay.activity
    def work(_ctx: assay.ActivityContext) -> str:
        return "done"

    @assay.workflow
    async def call(ctx: assay.WorkflowContext, name: str) -> Any:
        return await ctx.execute_activity(name, start_to_close_secs=0.3, max_attempts=1)

    await world.deploy(call, hang, work, max_concurrent_activities=1)
    try:
        with pytest.raises(assay.WorkflowFailed, match="start_to_close"):
            await world.run(call, "hang")
        async with asyncio.timeout(10):
            while "activity hang of" not in caplog.text:
                await asyncio.sleep(0.01)
        assert "start_to_close_secs (0.3 s)" in caplog.text
        following = await world.start(call, "work")
        await asyncio.sleep(0.6)  # taken and not begun, it would have failed by then
    finally:
        over.set()
    assert await world.result(following.id) == "done"


@on_every_shape
async def test_the_room_of_an_attempt_that_took_too_long_is_free_at_once(world: World) -> None:
    @assay.activity
    async def hang(ctx: assay.ActivityContext) -> int:
        if ctx.attempt == 1:
            await asyncio.get_running_loop().create_future()
        return ctx.attempt

    @assay.workflow
    async def call(ctx: assay.WorkflowContext) -> int:
        return await ctx.execute_activity(hang, start_to_close_secs=0.2, **QUICK)

    await world.deploy(call, hang, max_concurrent_activities=1)
    began = time.monotonic()
    assert await world.run(call) == 2
    assert time.monotonic() - began < 6  # far less than a request is held


@on_every_shape
async def test_an_attempt_outlived_by_its_run_is_told_so(world: World) -> None:
    told = asyncio.Event()

    @assay.activity
    async def orphan(ctx: assay.ActivityContext) -> None:
        while not await ctx.heartbeat():
            await asyncio.sleep(0.01)
        told.set()

    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> str:
        _left = ctx.execute_activity(orphan)
        await ctx.wait_for_signal("go")
        return "gone"

    await world.deploy(parent, orphan)
    run = await world.start(parent)
    await world.event(run.id, "ActivityScheduled")
    await run.signal("go")
    assert await world.result(run.id) == "gone"
    await asyncio.wait_for(told.wait(), 10)


@on_every_shape
async def test_no_more_activities_at_once_than_a_worker_takes(world: World) -> None:
    now = most = 0

    @assay.activity
    async def crowd(_ctx: assay.ActivityContext) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    @assay.workflow
    async def rush(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_parallel([{"name": crowd}] * 12)

    await world.deploy(rush, crowd, max_concurrent_activities=3)
    await world.run(rush)
    assert most == 3
