"""Patches: how running code is changed, while old runs go on as they began."""

from __future__ import annotations

from typing import Any

import assay
from tests.sdk.world import World, on_every_shape


@assay.activity
async def old(_ctx: assay.ActivityContext) -> str:
    return "old"


@assay.activity
async def new(_ctx: assay.ActivityContext) -> str:
    return "new"


@assay.workflow("flow")
async def before(ctx: assay.WorkflowContext) -> list[Any]:
    done = [await ctx.execute_activity(old)]
    await ctx.wait_for_signal("go")
    return [*done, await ctx.execute_activity(old)]


@assay.workflow("flow")
async def patched(ctx: assay.WorkflowContext) -> list[Any]:
    activity = new if ctx.patched("new activity") else old
    done = [await ctx.execute_activity(activity)]
    await ctx.wait_for_signal("go")
    return [*done, await ctx.execute_activity(activity)]


@assay.workflow("flow")
async def patched_throughout(ctx: assay.WorkflowContext) -> list[Any]:
    done = [await ctx.execute_activity(new if ctx.patched("new activity") else old)]
    await ctx.wait_for_signal("go")
    return [*done, await ctx.execute_activity(new if ctx.patched("new activity") else old)]


@assay.workflow("flow")
async def after(ctx: assay.WorkflowContext) -> list[Any]:
    done = [await ctx.execute_activity(new)]
    await ctx.wait_for_signal("go")
    return [*done, await ctx.execute_activity(new)]


@on_every_shape
async def test_a_new_run_takes_the_new_branch_and_notes_it(world: World) -> None:
    await world.deploy(patched, old, new)
    run = await world.start(patched)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.signal(run.id, "go")
    assert await world.result(run.id) == ["new", "new"]
    noted = await world.event(run.id, "PatchRecorded")
    assert noted.payload == {"patch_id": "new activity"}
    assert (await world.kinds(run.id)).count("PatchRecorded") == 1


@on_every_shape
async def test_an_old_run_goes_on_as_it_began(world: World) -> None:
    for changed in (patched, patched_throughout):
        await world.deploy(before, old, new)
        run = await world.start(before)
        await world.event(run.id, "WorkflowAwaitingSignal")
        await world.deploy(changed, old, new)
        await world.signal(run.id, "go")
        assert await world.result(run.id) == ["old", "old"]
        assert "PatchRecorded" not in await world.kinds(run.id)


@on_every_shape
async def test_the_old_branch_may_go_once_no_old_run_is_left(world: World) -> None:
    await world.deploy(patched, old, new)
    run = await world.start(patched)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(after, old, new)
    await world.signal(run.id, "go")
    assert await world.result(run.id) == ["new", "new"]


@on_every_shape
async def test_an_old_run_that_comes_to_a_change_only_now_takes_the_new_branch(
    world: World,
) -> None:
    @assay.workflow("flow")
    async def patched_late(ctx: assay.WorkflowContext) -> list[Any]:
        done = [await ctx.execute_activity(old)]
        await ctx.wait_for_signal("go")
        done.append(await ctx.execute_activity(new if ctx.patched("late") else old))
        await ctx.wait_for_signal("go")
        return [*done, ctx.patched("late")]

    await world.deploy(before, old, new)
    run = await world.start(before)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(patched_late, old, new)
    await world.signal(run.id, "go")
    await world.event(run.id, "WorkflowAwaitingSignal", 2)
    await world.signal(run.id, "go")
    assert await world.result(run.id) == ["old", "new", True]


@on_every_shape
async def test_a_loop_does_not_change_its_mind_half_way(world: World) -> None:
    @assay.workflow("loop")
    async def loop(ctx: assay.WorkflowContext) -> list[Any]:
        done = []
        for _ in range(4):
            done.append(await ctx.execute_activity(old))
            await ctx.wait_for_signal("go")
        return done

    @assay.workflow("loop")
    async def patched_loop(ctx: assay.WorkflowContext) -> list[Any]:
        done = []
        for _ in range(4):
            done.append(await ctx.execute_activity(new if ctx.patched("loop") else old))
            await ctx.wait_for_signal("go")
        return done

    await world.deploy(loop, old, new)
    run = await world.start(loop)
    await world.signal(run.id, "go")
    await world.event(run.id, "ActivityCompleted", 2)
    await world.deploy(patched_loop, old, new)
    for _ in range(3):
        await world.signal(run.id, "go")
    assert await world.result(run.id) == ["old"] * 4


@on_every_shape
async def test_patches_of_several_names_are_told_apart(world: World) -> None:
    @assay.workflow
    async def many(ctx: assay.WorkflowContext) -> list[bool]:
        told = [ctx.patched("a"), ctx.patched("b"), ctx.patched("a")]
        await ctx.sleep(0.001)
        return [*told, ctx.patched("b"), ctx.patched("c")]

    await world.deploy(many)
    id = (await world.start(many)).id
    assert await world.result(id) == [True] * 5
    noted = [event for event in await world.history(id) if event.type == "PatchRecorded"]
    assert {event.payload["patch_id"] for event in noted} >= {"a", "b"}
