"""Many runs at once, few of them kept alive, several workers, other event loops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

import assay
from tests.sdk.shapes import Embedded, Shape
from tests.sdk.world import RESULT_SECS, World, on_every_shape, tell


@assay.activity
async def double(_ctx: assay.ActivityContext, number: int) -> int:
    return number * 2


@assay.activity
def triple(_ctx: assay.ActivityContext, number: int) -> int:
    return number * 3


@assay.workflow
async def busy(ctx: assay.WorkflowContext, number: int) -> list[Any]:
    both = [ctx.execute_activity(double, number), ctx.execute_activity(triple, number)]
    numbers: list[Any] = list(await asyncio.gather(*both))
    await ctx.sleep(0.01 * (number % 3))
    noted = await ctx.side_effect("note", lambda: number)
    stepped = await ctx.step(lambda: noted + 1)
    heard = await ctx.wait_for_signal("go", 30)
    return [*numbers, stepped, heard]


async def all_of(world: World, count: int) -> None:
    """So many runs at once; each ends as it should."""

    async def one(number: int) -> None:
        run = await world.start(busy, number)
        await run.signal("go", number)
        assert await world.result(run.id) == [number * 2, number * 3, number + 1, number]

    await asyncio.gather(*map(one, range(count)))


@pytest.mark.parametrize("kept_runs", [0, 1, 5, 1000])
@on_every_shape
async def test_however_few_runs_are_kept_all_end_well(world: World, kept_runs: int) -> None:
    await world.deploy(busy, double, triple, kept_runs=kept_runs)
    await all_of(world, 40)


@on_every_shape
async def test_one_run_and_one_activity_at_a_time_is_enough(world: World) -> None:
    await world.deploy(
        busy, double, triple, max_concurrent_workflows=1, max_concurrent_activities=1
    )
    await all_of(world, 20)


@on_every_shape
async def test_workers_of_one_queue_share_its_work(world: World) -> None:
    await world.deploy(busy, double, triple)
    await world.serve("default")
    await world.serve("default", kept_runs=1)
    await all_of(world, 60)


@on_every_shape
async def test_runs_in_flight_outlive_their_workers(world: World) -> None:
    await world.deploy(busy, double, triple)
    ids = [(await world.start(busy, number)).id for number in range(12)]
    await world.event(ids[3], "ActivityCompleted")
    for _ in range(3):
        await world.deploy(busy, double, triple)
    for number, id in enumerate(ids):
        await world.signal(id, "go", number)
    for number, id in enumerate(ids):
        assert await world.result(id) == [number * 2, number * 3, number + 1, number]


@on_every_shape
async def test_sets_of_branches_are_gone_through_in_the_same_order(world: World) -> None:
    """Tasks hash by their number: else each process, and each replay, had an order of its own."""

    @assay.workflow
    async def tour(ctx: assay.WorkflowContext) -> list[int]:
        tasks = {asyncio.ensure_future(ctx.wait_for_signal(str(name))) for name in range(30)}
        order: list[int] = []
        while tasks:
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            order.extend([await ctx.execute_activity(double, task.result()) for task in done])
        return order

    await world.deploy(tour, double)
    run = await world.start(tour)
    await world.event(run.id, "WorkflowAwaitingSignal")
    for number in range(30):
        await run.signal(str(number), number)
    assert sorted(await world.result(run.id)) == [number * 2 for number in range(30)]


@on_every_shape
async def test_listening_serves_a_queue_until_it_is_cancelled(world: World) -> None:
    await world.deploy(busy, double, triple, queue="elsewhere")
    if isinstance(world.shape, Embedded):
        return  # an app serves by itself
    queue = world.fresh("queue")
    listening = asyncio.create_task(world.client.listen(queue, "an-identity", kept_runs=3))
    run = await world.start(busy, 1, task_queue=queue)
    await world.event(run.id, "ActivityScheduled", 2)
    listed = await world.client.workers.list()
    assert "an-identity" in [worker["identity"] for worker in listed]
    listening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await listening
    assert listening.cancelled()


def on_uvloop(story: Coroutine[Any, Any, None]) -> None:
    uvloop.run(story)


def in_debug_mode(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story, debug=True)


@pytest.mark.parametrize("run", [on_uvloop, in_debug_mode])
def test_other_loops_will_do(
    run: Callable[[Coroutine[Any, Any, None]], None], shape: Shape
) -> None:
    async def story(world: World) -> None:
        await world.deploy(busy, double, triple)
        await all_of(world, 10)

    run(tell(story, World(shape), {}))


# Large things


@on_every_shape
async def test_a_long_history_with_large_payloads_is_replayed(world: World) -> None:
    @assay.activity
    async def large(_ctx: assay.ActivityContext, number: int) -> str:
        return str(number) * 300_000

    @assay.workflow
    async def collect(ctx: assay.WorkflowContext) -> list[str]:
        heads = []
        for number in range(9):
            text = await ctx.execute_activity(large, number)
            heads.append(text[:3])
        await ctx.wait_for_signal("go")
        return heads

    await world.deploy(collect, large)
    run = await world.start(collect)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(collect, large)
    await world.signal(run.id, "go")
    assert await world.result(run.id) == [str(number) * 3 for number in range(9)]


@pytest.mark.parametrize("what", ["side effect", "step", "child", "attributes", "new"])
@on_every_shape
async def test_what_is_too_large_to_be_kept_fails_its_run(world: World, what: str) -> None:
    text = "x" * 2_200_000

    @assay.workflow
    async def greedy(ctx: assay.WorkflowContext) -> None:
        calls: dict[str, Any] = {
            "side effect": lambda: ctx.side_effect("large", lambda: text),
            "step": lambda: ctx.step(lambda: text),
            "child": lambda: ctx.start_child_workflow(busy, f"{ctx.workflow_id}/x", text),  # type: ignore[arg-type]
            "attributes": lambda: ctx.upsert_search_attributes({"large": text}),
            "new": lambda: ctx.continue_as_new(text),
        }
        await calls[what]()

    await world.deploy(greedy, double)
    id = (await world.start(greedy)).id
    with pytest.raises(assay.WorkflowFailed, match="2 MiB"):
        await world.result(id)


@on_every_shape
async def test_a_query_whose_answer_is_too_large_hurts_nobody(world: World) -> None:
    @assay.workflow
    async def boast(ctx: assay.WorkflowContext) -> str:
        ctx.register_query("large", lambda: "x" * 2_200_000)
        ctx.register_query("small", lambda: 1)
        await ctx.sleep(0.01)
        return "fine"

    await world.deploy(boast)
    assert await world.run(boast) == "fine"


@on_every_shape
async def test_a_large_step_beside_a_slow_one(world: World) -> None:
    begun: list[str] = []
    over = asyncio.Event()

    async def slow() -> str:
        begun.append("slow")
        await over.wait()
        return "slow"

    @assay.workflow
    async def both(ctx: assay.WorkflowContext) -> list[Any]:
        step = ctx.step(slow)
        text = await ctx.step(lambda: "x" * 1_800_000)
        over.set()
        return [len(text), await step]

    await world.deploy(both)
    assert await world.run(both) == [1_800_000, "slow"]
    assert begun == ["slow"]


@on_every_shape
async def test_a_heartbeat_that_is_too_large_is_an_error_and_no_cancellation(world: World) -> None:
    @assay.activity
    async def boast(ctx: assay.ActivityContext) -> list[Any]:
        with pytest.raises(assay.PayloadError, match="details of a heartbeat"):
            await ctx.heartbeat("x" * 2_200_000)
        return [await ctx.heartbeat("small")]

    @assay.workflow
    async def beating(ctx: assay.WorkflowContext) -> Any:
        return await ctx.execute_activity(boast)

    await world.deploy(beating, boast)
    assert await world.run(beating) == [False]


@on_every_shape
async def test_a_call_that_is_too_large_is_refused_and_one_that_fits_is_not(world: World) -> None:
    @assay.workflow
    async def hear(ctx: assay.WorkflowContext, given: str) -> list[int]:
        return [len(given), len(await ctx.wait_for_signal("go"))]

    await world.deploy(hear)
    with pytest.raises(assay.RequestRefused):
        await world.start(hear, "x" * 2_200_000)
    run = await world.start(hear, "x" * 1_900_000)
    with pytest.raises(assay.RequestRefused):
        await run.signal("go", "x" * 2_200_000)
    await run.signal("go", "x" * 1_900_000)
    assert await world.result(run.id) == [1_900_000, 1_900_000]


@on_every_shape
async def test_many_middling_calls_in_one_turn_fit(world: World) -> None:
    """Together they are more than one request may hold."""

    @assay.workflow
    async def wide(ctx: assay.WorkflowContext) -> int:
        text = "x" * 100_000
        calls: list[Any] = [ctx.execute_activity("measure", text) for _ in range(30)]
        calls += [ctx.side_effect("text", lambda: text) for _ in range(5)]
        calls += [ctx.step(lambda: text) for _ in range(30)]
        return sum(len(each) if isinstance(each, str) else each for each in await wait_for(calls))

    async def wait_for(calls: list[Any]) -> list[Any]:
        return list(await asyncio.gather(*calls))

    @assay.activity
    async def measure(_ctx: assay.ActivityContext, text: str) -> int:
        return len(text)

    await world.deploy(wide, measure)
    id = (await world.start(wide)).id
    assert await world.client.workflows.result(id, RESULT_SECS) == 65 * 100_000
