"""Child runs: started, awaited, failing, and ids that are taken."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape


@dataclasses.dataclass
class Part:
    weight: int


@assay.workflow
async def weigh(_ctx: assay.WorkflowContext, part: Part) -> Part:
    return Part(part.weight * 10)


@assay.workflow
async def wait(ctx: assay.WorkflowContext) -> Any:
    return await ctx.wait_for_signal("go")


@assay.workflow
async def fail(_ctx: assay.WorkflowContext, text: str) -> None:
    raise ValueError(text)


@on_every_shape
async def test_a_child_gives_its_result_as_its_function_says(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> list[Any]:
        typed = await ctx.start_child_workflow(weigh, f"{ctx.workflow_id}/a", Part(1))
        assert isinstance(typed, Part)
        plain = await ctx.start_child_workflow("weigh", f"{ctx.workflow_id}/b", {"weight": 2})
        read = await ctx.start_child_workflow(
            "weigh", workflow_id=f"{ctx.workflow_id}/c", input=Part(3), result=Part
        )
        return [typed, plain, read.weight]

    await world.deploy(parent, weigh)
    id = (await world.start(parent)).id
    assert await world.result(id) == [{"weight": 10}, {"weight": 20}, 30]
    children = await world.client.workflows.list_children(id)
    assert {child["id"] for child in children} == {f"{id}/{name}" for name in "abc"}


@on_every_shape
async def test_several_children_at_once(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext, count: int) -> int:
        children = [
            ctx.start_child_workflow(weigh, f"{ctx.workflow_id}/{number}", Part(number))
            for number in range(count)
        ]
        assert children[0].workflow_id == f"{ctx.workflow_id}/0"
        return sum(part.weight for part in await asyncio.gather(*children))

    await world.deploy(parent, weigh)
    assert await world.run(parent, 30) == 10 * sum(range(30))


@on_every_shape
async def test_a_child_on_the_queue_of_another_worker(world: World) -> None:
    queue = world.fresh("queue")

    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> int:
        child = ctx.start_child_workflow(weigh, f"{ctx.workflow_id}/x", Part(4), queue)
        return int((await child).weight)

    await world.deploy(parent, weigh)
    id = (await world.start(parent)).id
    await world.event(id, "ChildWorkflowStarted")
    record = await world.record(f"{id}/x")
    assert (record["task_queue"], record["status"], record["parent_id"]) == (queue, "PENDING", id)
    await world.serve(queue)
    assert await world.result(id) == 40


@on_every_shape
async def test_a_failing_child_tells_its_id_and_its_error(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> list[Any]:
        id = f"{ctx.workflow_id}/x"
        with pytest.raises(assay.ChildFailed) as caught:
            await ctx.start_child_workflow(fail, id, "no good")
        assert caught.value.name == id
        return [str(caught.value), caught.value.error]

    await world.deploy(parent, fail)
    id = (await world.start(parent)).id
    assert await world.result(id) == [f"child workflow '{id}/x' failed: no good", "no good"]


@on_every_shape
async def test_what_else_becomes_of_children_is_told_as_well(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext, end: str) -> str | None:
        child = ctx.start_child_workflow(wait, f"{ctx.workflow_id}/{end}")
        with pytest.raises(assay.ChildFailed) as caught:
            await child
        return caught.value.error

    await world.deploy(parent, wait)
    for end, text in (("cancel", "child workflow cancelled"), ("terminate", "enough")):
        run = await world.start(parent, end)
        await world.event(run.id, "ChildWorkflowStarted")
        child = world.client.workflows.handle(f"{run.id}/{end}")
        await world.record(child.id, lambda found: found["status"] == "RUNNING")
        await (child.cancel("enough") if end == "cancel" else child.terminate("enough"))
        assert await world.result(run.id) == text


@on_every_shape
async def test_a_child_needs_an_id(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> Any:
        return await ctx.start_child_workflow("wait")  # type: ignore[call-overload] # mypy sees it too

    await world.deploy(parent, wait)
    why = await world.blocked((await world.start(parent)).id)
    assert "needs a workflow_id" in why
    assert f"{__file__}:" in why


@on_every_shape
async def test_an_id_that_another_run_has_fails_the_child(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext, id: str) -> str:
        with pytest.raises(assay.ChildFailed) as caught:
            await ctx.start_child_workflow(wait, id)
        return str(caught.value)

    await world.deploy(parent, wait)
    stranger = await world.start(wait)
    told = await world.run(parent, stranger.id)
    assert told.startswith(f"child workflow '{stranger.id}' failed: ")
    assert await world.client.workflows.list_children(stranger.id) == []
    await stranger.signal("go", "unharmed")
    assert await world.result(stranger.id) == "unharmed"


@on_every_shape
async def test_an_id_of_an_own_child_means_that_child(world: World) -> None:
    """While it is under way, and once it has ended."""

    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> list[Any]:
        id = f"{ctx.workflow_id}/x"
        first, second = ctx.start_child_workflow(wait, id), ctx.start_child_workflow(wait, id)
        heard = [await first, await second]
        return [*heard, await ctx.start_child_workflow(wait, id)]

    await world.deploy(parent, wait)
    id = (await world.start(parent)).id
    await world.event(id, "ChildWorkflowStarted")
    await world.client.workflows.signal(f"{id}/x", "go", 7)
    assert await world.result(id) == [7, 7, 7]
    assert (await world.kinds(id)).count("ChildWorkflowStarted") == 1


@on_every_shape
async def test_a_child_that_is_not_awaited_lives_on(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> str:
        return ctx.start_child_workflow(wait, f"{ctx.workflow_id}/x").workflow_id

    await world.deploy(parent, wait)
    child = world.client.workflows.handle(await world.run(parent))
    await world.record(child.id, lambda found: found is not None)
    await child.signal("go", "on")
    assert await world.result(child.id) == "on"


@on_every_shape
async def test_a_child_that_continues_as_new_is_one_child_to_its_parent(world: World) -> None:
    @assay.workflow
    async def countdown(ctx: assay.WorkflowContext, left: int) -> str:
        if left:
            await ctx.continue_as_new(left - 1)
        return "zero"

    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> Any:
        return await ctx.start_child_workflow(countdown, f"{ctx.workflow_id}/x", 3)

    await world.deploy(parent, countdown)
    id = (await world.start(parent)).id
    assert await world.result(id) == "zero"
    assert len(await world.client.workflows.list_children(id)) == 4


@on_every_shape
async def test_cancelling_a_parent_cancels_its_children(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> Any:
        return await ctx.start_child_workflow(wait, f"{ctx.workflow_id}/x")

    await world.deploy(parent, wait)
    run = await world.start(parent)
    await world.record(f"{run.id}/x", lambda found: found and found["status"] == "RUNNING")
    await run.cancel("all of you")
    for id in (run.id, f"{run.id}/x"):
        with pytest.raises(assay.WorkflowCancelled, match="all of you"):
            await world.result(id)
