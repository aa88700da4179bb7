"""Cancelled runs: where the cancellation is raised, what may be done about it, and what not."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape

NEVER_SECS = 10_000.0


@assay.activity
async def double(_ctx: assay.ActivityContext, number: int) -> int:
    return number * 2


@assay.workflow
async def wait(ctx: assay.WorkflowContext) -> Any:
    return await ctx.wait_for_signal("go")


async def cancelled(world: World, workflow: Any, reason: str | None = "enough") -> str:
    """A run that is cancelled once it waits for a signal; its id."""
    run = await world.start(workflow)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.cancel(reason)
    return run.id


async def ends_cancelled(world: World, id: str, reason: str | None = "enough") -> None:
    with pytest.raises(assay.WorkflowCancelled) as caught:
        await world.result(id)
    assert caught.value.error == reason


@pytest.mark.parametrize("reason", ["enough", None])
@on_every_shape
async def test_a_cancelled_run_ends_as_cancelled(world: World, reason: str | None) -> None:
    await world.deploy(wait)
    id = await cancelled(world, wait, reason)
    await ends_cancelled(world, id, reason)
    assert (await world.kinds(id))[-2:] == ["WorkflowCancelRequested", "WorkflowCancelled"]


@pytest.mark.parametrize("what", ["activity", "sleep", "timed", "signal", "child", "step"])
@on_every_shape
async def test_whatever_is_under_way_is_ended(world: World, what: str) -> None:
    queue = world.fresh("nobody")
    stuck = asyncio.Event()

    @assay.workflow
    async def under_way(ctx: assay.WorkflowContext) -> None:
        calls: dict[str, Any] = {
            "activity": lambda: ctx.execute_activity(double, 1, task_queue=queue),
            "sleep": lambda: ctx.sleep(NEVER_SECS),
            "timed": lambda: ctx.wait_for_signal("go", NEVER_SECS),
            "signal": lambda: ctx.wait_for_signal("go"),
            "child": lambda: ctx.start_child_workflow("wait", f"{ctx.workflow_id}/x"),
            "step": lambda: ctx.step(stuck.wait),
        }
        ctx.register_query("there", lambda: True)
        try:
            await calls[what]()
        except asyncio.CancelledError:
            await ctx.execute_activity(double, 2)
            raise

    await world.deploy(under_way, wait, double)
    run = await world.start(under_way)
    await world.query(run.id, "there")
    await run.cancel("enough")
    await ends_cancelled(world, run.id)
    assert (await world.kinds(run.id)).count("ActivityCompleted") == 1


@on_every_shape
async def test_cleaning_up_may_take_all_it_needs(world: World) -> None:
    @assay.workflow
    async def tidy(ctx: assay.WorkflowContext) -> None:
        told: list[Any] = []
        ctx.register_query("told", lambda: told)
        try:
            await ctx.wait_for_signal("go")
        finally:
            told.append(await ctx.execute_activity(double, 1))
            await ctx.sleep(0.005)
            told.append(await ctx.side_effect("dice", lambda: 4))
            told.append(await ctx.step(lambda: 5))
            told.append(await ctx.wait_for_signal("go", 0.005))
            ctx.upsert_search_attributes({"tidy": True})

    await world.deploy(tidy, double)
    id = await cancelled(world, tidy)
    await ends_cancelled(world, id)
    assert await world.query(id, "told") == [2, 4, 5, None]
    found = await world.client.workflows.list(search_attrs={"tidy": True})
    assert [run["id"] for run in found] == [id]


@on_every_shape
async def test_a_run_may_finish_in_spite_of_it(world: World) -> None:
    @assay.workflow
    async def stubborn(ctx: assay.WorkflowContext) -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await ctx.wait_for_signal("go")
        return f"done anyway {await ctx.execute_activity(double, 4)}"

    await world.deploy(stubborn, double)
    id = await cancelled(world, stubborn)
    assert await world.result(id) == "done anyway 8"


@on_every_shape
async def test_another_error_while_cleaning_up_fails_the_run(world: World) -> None:
    @assay.workflow
    async def clumsy(ctx: assay.WorkflowContext) -> None:
        try:
            await ctx.wait_for_signal("go")
        finally:
            raise ValueError("oops")

    await world.deploy(clumsy)
    id = await cancelled(world, clumsy)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.result(id)
    assert (caught.value.status, caught.value.error) == ("FAILED", "oops")


@on_every_shape
async def test_it_is_raised_once_however_often_it_is_asked_for(world: World) -> None:
    @assay.workflow
    async def counting(ctx: assay.WorkflowContext) -> int:
        raised = 0
        for name in ("first", "second", "third"):
            try:
                await ctx.wait_for_signal(name)
            except asyncio.CancelledError:
                raised += 1
        return raised

    await world.deploy(counting)
    run = await world.start(counting)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.cancel("once")
    await world.event(run.id, "WorkflowAwaitingSignal", 2)
    await run.cancel("twice")
    for name in ("second", "third"):
        await run.signal(name)
    assert await world.result(run.id) == 1


@on_every_shape
async def test_every_branch_hears_of_it_and_cleans_up_for_itself(world: World) -> None:
    @assay.workflow
    async def group(ctx: assay.WorkflowContext) -> list[str]:
        ended: list[str] = []

        async def branch(name: str) -> None:
            try:
                await ctx.wait_for_signal(name)
            finally:
                await ctx.execute_activity(double, 1)
                ended.append(name)

        try:
            async with asyncio.TaskGroup() as tasks:
                for name in "abc":
                    tasks.create_task(branch(name))
        except asyncio.CancelledError:
            return sorted(ended)
        return []

    await world.deploy(group, double)
    assert await world.result(await cancelled(world, group)) == ["a", "b", "c"]


@on_every_shape
async def test_branches_that_main_does_not_wait_for_hear_of_it_as_well(world: World) -> None:
    @assay.workflow
    async def apart(ctx: assay.WorkflowContext) -> list[str]:
        ended: list[str] = []

        async def branch(name: str) -> None:
            try:
                await ctx.wait_for_signal(name)
            except asyncio.CancelledError:
                ended.append(name)

        tasks = [asyncio.create_task(branch(name)) for name in "abc"]
        with contextlib.suppress(asyncio.CancelledError):
            await ctx.wait_for_signal("main")
        await asyncio.wait(tasks)
        return ended

    await world.deploy(apart)
    assert await world.result(await cancelled(world, apart)) == ["a", "b", "c"]


@on_every_shape
async def test_a_shielded_call_under_way_is_ended_too(world: World) -> None:
    @assay.workflow
    async def shielded(ctx: assay.WorkflowContext) -> str:
        call = ctx.wait_for_signal("go")
        try:
            await asyncio.shield(call)
        except asyncio.CancelledError:
            return f"call ended: {call.cancelled()}"
        return "no"

    await world.deploy(shielded)
    assert await world.result(await cancelled(world, shielded)) == "call ended: True"


@on_every_shape
async def test_a_shielded_branch_finishes_with_the_calls_it_makes_later(world: World) -> None:
    @assay.workflow
    async def shielded(ctx: assay.WorkflowContext) -> list[Any]:
        told: list[Any] = []

        async def protected() -> None:
            try:
                await ctx.wait_for_signal("go")
            except asyncio.CancelledError:
                told.append("ended")
            told.append(await ctx.execute_activity(double, 2))
            told.append(await ctx.wait_for_signal("more"))

        task = asyncio.create_task(protected())
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await task
        return told

    await world.deploy(shielded, double)
    id = await cancelled(world, shielded)
    await world.event(id, "WorkflowAwaitingSignal", 2)
    await world.client.workflows.signal(id, "more", "heard")
    assert await world.result(id) == ["ended", 4, "heard"]


@on_every_shape
async def test_a_cancelled_run_starts_no_child(world: World) -> None:
    @assay.workflow
    async def parent(ctx: assay.WorkflowContext) -> str:
        try:
            await ctx.wait_for_signal("go")
        except asyncio.CancelledError:
            try:
                await ctx.start_child_workflow(wait, f"{ctx.workflow_id}/x")
            except asyncio.CancelledError as error:
                return str(error)
        return "no"

    await world.deploy(parent, wait)
    id = await cancelled(world, parent)
    said = await world.result(id)
    assert f"{id}/x" in said
    assert await world.client.workflows.list_children(id) == []


@on_every_shape
async def test_a_run_cancelled_before_its_first_task_never_begins(world: World) -> None:
    await world.deploy(double)
    run = await world.start(wait, task_queue=world.fresh("later"))
    await run.cancel("never mind")
    await ends_cancelled(world, run.id, "never mind")
    assert await world.kinds(run.id) == [
        "WorkflowStarted",
        "WorkflowCancelRequested",
        "WorkflowCancelled",
    ]


@on_every_shape
async def test_what_had_its_answer_before_is_not_taken_away(world: World) -> None:
    """The cancellation meets the first call that the events before it do not answer."""

    @assay.workflow
    async def steps(ctx: assay.WorkflowContext) -> list[Any]:
        done: list[Any] = []
        ctx.register_query("done", lambda: done)
        try:
            done.append(await ctx.execute_activity(double, 1))
            done.append(await ctx.execute_activity(double, 2))
            done.append(await ctx.wait_for_signal("go"))
            done.append(await ctx.wait_for_signal("more"))
        except asyncio.CancelledError:
            done.append("cancelled")
        return done

    await world.deploy(steps, double)
    run = await world.start(steps)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.signal("go", "heard")
    await world.event(run.id, "WorkflowAwaitingSignal", 2)
    await run.cancel()
    assert await world.result(run.id) == [2, 4, "heard", "cancelled"]


@on_every_shape
async def test_an_activity_in_hand_is_told_and_its_outcome_does_not_matter(world: World) -> None:
    @assay.activity
    async def patient(ctx: assay.ActivityContext) -> str:
        while not await ctx.heartbeat():
            await asyncio.sleep(0.005)
        return "told"

    @assay.workflow
    async def calling(ctx: assay.WorkflowContext) -> None:
        ctx.register_query("there", lambda: True)
        await ctx.execute_activity(patient)

    await world.deploy(calling, patient)
    run = await world.start(calling)
    await world.query(run.id, "there")
    await run.cancel("enough")
    await ends_cancelled(world, run.id)


@on_every_shape
async def test_a_terminated_run_is_not_asked(world: World) -> None:
    await world.deploy(wait)
    run = await world.start(wait)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.terminate("now")
    with pytest.raises(assay.WorkflowTerminated, match="now"):
        await world.result(run.id)


@on_every_shape
async def test_a_run_whose_time_is_up_is_over(world: World) -> None:
    await world.deploy(wait)
    with pytest.raises(assay.WorkflowTimedOut):
        await world.run(wait, timeout_secs=0.05)
