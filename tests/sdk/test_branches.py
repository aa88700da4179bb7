"""asyncio in workflow code: branches, groups, queues and time-outs, the same in every replay."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape

NEVER_SECS = 10_000.0


@assay.activity
async def double(_ctx: assay.ActivityContext, number: int) -> int:
    return number * 2


@assay.activity
async def slowly(_ctx: assay.ActivityContext, number: int) -> int:
    await asyncio.sleep(number / 50)
    return number


@assay.activity
async def fail(_ctx: assay.ActivityContext, text: str) -> None:
    raise assay.ApplicationError(text, retryable=False)


@on_every_shape
async def test_gather_gives_results_in_order(world: World) -> None:
    @assay.workflow
    async def gather(ctx: assay.WorkflowContext) -> list[int]:
        async def branch(number: int) -> int:
            await ctx.sleep(0.001 * (3 - number))
            return await ctx.execute_activity(double, number)

        return list(await asyncio.gather(*map(branch, range(4))))

    await world.deploy(gather, double)
    assert await world.run(gather) == [0, 2, 4, 6]


@on_every_shape
async def test_gather_raises_the_first_error_in_time(world: World) -> None:
    @assay.workflow
    async def gather(ctx: assay.WorkflowContext) -> list[str]:
        calls = [ctx.wait_for_signal("never"), ctx.execute_activity(fail, "at once")]
        with pytest.raises(assay.ActivityFailed) as caught:
            await asyncio.gather(*calls)
        told = [str(caught.value)]
        both = [ctx.execute_activity(fail, "a"), ctx.execute_activity(fail, "b")]
        return told + [str(each) for each in await asyncio.gather(*both, return_exceptions=True)]

    await world.deploy(gather, fail)
    assert await world.run(gather) == [
        "activity 'fail' failed: at once",
        "activity 'fail' failed: a",
        "activity 'fail' failed: b",
    ]


@on_every_shape
async def test_a_task_group_ends_its_branches_when_one_fails(world: World) -> None:
    ended: list[str] = []

    @assay.workflow
    async def group(ctx: assay.WorkflowContext) -> list[str]:
        async def waiting(name: str) -> None:
            try:
                await ctx.wait_for_signal(name)
            except asyncio.CancelledError:
                ended.append(name)
                raise

        try:
            async with asyncio.TaskGroup() as group:
                for name in ("a", "b", "c"):
                    group.create_task(waiting(name))
                group.create_task(ctx_fail(ctx))
        except ExceptionGroup as caught:
            return [*sorted(set(ended)), *(str(each) for each in caught.exceptions)]
        return []

    async def ctx_fail(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_activity(fail, "broken")

    await world.deploy(group, fail)
    assert await world.run(group) == ["a", "b", "c", "activity 'fail' failed: broken"]


@on_every_shape
async def test_a_task_group_gives_the_results_of_its_branches(world: World) -> None:
    @assay.workflow
    async def group(ctx: assay.WorkflowContext) -> list[int]:
        async def branch(number: int) -> int:
            doubled = await ctx.execute_activity(double, number)
            return await ctx.side_effect("same", doubled.__abs__)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(branch(number)) for number in range(10)]
        return [task.result() for task in tasks]

    await world.deploy(group, double)
    assert await world.run(group) == [number * 2 for number in range(10)]


@on_every_shape
async def test_a_task_can_be_made_of_a_call(world: World) -> None:
    @assay.workflow
    async def child(_ctx: assay.WorkflowContext, number: int) -> int:
        return -number

    @assay.workflow
    async def group(ctx: assay.WorkflowContext) -> list[Any]:
        alone = asyncio.create_task(ctx.sleep(0.001), name="alone")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ctx.execute_activity(double, each)) for each in range(3)]
            step = group.create_task(ctx.step(lambda: "stepped"))
            signal = group.create_task(ctx.wait_for_signal("never", 0.001))
            born = group.create_task(ctx.start_child_workflow(child, f"{ctx.workflow_id}-c", 1))
        await alone
        broken = asyncio.create_task(ctx.execute_activity(fail, "broken"))
        with pytest.raises(assay.ActivityFailed) as caught:
            await broken
        never = asyncio.create_task(ctx.wait_for_signal("never"))
        never.cancel()
        await asyncio.wait([never])
        with pytest.raises(RuntimeError, match="is finished"):
            group.create_task(ctx.wait_for_signal("late"))
        done = [task.result() for task in (*tasks, step, signal, born)]
        return [*done, alone.get_name(), never.cancelled(), str(caught.value)]

    await world.deploy(group, child, double, fail)
    assert await world.run(group) == [
        *(0, 2, 4, "stepped", None, -1, "alone", True),
        "activity 'fail' failed: broken",
    ]


@on_every_shape
async def test_wait_tells_the_first_from_the_rest(world: World) -> None:
    @assay.workflow
    async def race(ctx: assay.WorkflowContext) -> list[Any]:
        fast, slow = ctx.execute_activity(double, 1), ctx.wait_for_signal("late")
        done, rest = await asyncio.wait([fast, slow], return_when=asyncio.FIRST_COMPLETED)
        assert (done, rest) == ({fast}, {slow})
        nothing, all_of_them = await asyncio.wait([slow], timeout=0.01)
        assert (nothing, all_of_them) == (set(), {slow})
        return [fast.result(), await slow]

    await world.deploy(race, double)
    run = await world.start(race)
    await world.event(run.id, "TimerFired")
    await run.signal("late", "and last")
    assert await world.result(run.id) == [2, "and last"]


@on_every_shape
async def test_as_completed_gives_what_comes_first_first(world: World) -> None:
    @assay.workflow
    async def race(ctx: assay.WorkflowContext) -> list[int]:
        calls = [ctx.execute_activity(slowly, number) for number in (4, 1, 8)]
        return [await each for each in asyncio.as_completed(calls)]

    await world.deploy(race, slowly)
    assert await world.run(race) == [1, 4, 8]


@pytest.mark.parametrize("way", ["wait_for", "timeout", "timeout_at"])
@on_every_shape
async def test_a_time_out_is_a_durable_timer(world: World, way: str) -> None:
    @assay.workflow
    async def limit(ctx: assay.WorkflowContext, secs: float) -> Any:
        wait = ctx.wait_for_signal("go")
        try:
            if way == "wait_for":
                return await asyncio.wait_for(wait, secs)
            at = asyncio.get_running_loop().time() + secs
            scope = asyncio.timeout(secs) if way == "timeout" else asyncio.timeout_at(at)
            async with scope:
                return await wait
        except TimeoutError:
            return "too late"

    await world.deploy(limit)
    id = (await world.start(limit, 0.02)).id
    assert await world.result(id) == "too late"
    assert (await world.kinds(id)).count("TimerFired") == 1
    run = await world.start(limit, NEVER_SECS)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.signal("go", "in time")
    assert await world.result(run.id) == "in time"


@on_every_shape
async def test_a_timer_that_nobody_needs_any_more_is_cancelled(world: World) -> None:
    @assay.workflow
    async def limit(ctx: assay.WorkflowContext) -> list[Any]:
        heard = await asyncio.wait_for(ctx.wait_for_signal("go"), NEVER_SECS)
        return [heard, await ctx.wait_for_signal("more")]

    await world.deploy(limit)
    run = await world.start(limit)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.signal("go", 1)
    assert (await world.event(run.id, "TimerCancelled")).payload == {"timer_seq": 1}
    await run.signal("more", 2)
    assert await world.result(run.id) == [1, 2]


@on_every_shape
async def test_asyncio_sleep_is_a_durable_timer(world: World) -> None:
    @assay.workflow
    async def nap(ctx: assay.WorkflowContext) -> float:
        before = ctx.now()
        await asyncio.sleep(0.03)
        await asyncio.sleep(0)
        return ctx.now() - before

    await world.deploy(nap)
    id = (await world.start(nap)).id
    assert await world.result(id) >= 0.03
    assert (await world.kinds(id)).count("TimerScheduled") == 1


@on_every_shape
async def test_branches_talk_over_events_queues_locks_and_semaphores(world: World) -> None:
    @assay.workflow
    async def talk(ctx: assay.WorkflowContext) -> list[Any]:
        queue: asyncio.Queue[int | None] = asyncio.Queue(maxsize=2)
        opened, lock, gate = asyncio.Event(), asyncio.Lock(), asyncio.Semaphore(2)
        heard: list[Any] = []

        async def produce() -> None:
            for number in range(5):
                await queue.put(await ctx.execute_activity(double, number))
            await queue.put(None)

        async def consume() -> None:
            while (number := await queue.get()) is not None:
                await ctx.sleep(0.001)
                heard.append(number)
            opened.set()

        async def guarded(name: str) -> None:
            await opened.wait()
            async with gate, lock:
                await ctx.side_effect("in", lambda: name)
                heard.append(name)

        names = [guarded(name) for name in "abc"]
        await asyncio.gather(produce(), consume(), *names)
        return heard

    await world.deploy(talk, double)
    assert await world.run(talk) == [0, 2, 4, 6, 8, "a", "b", "c"]


@on_every_shape
async def test_a_shielded_call_goes_on_when_its_branch_is_ended(world: World) -> None:
    @assay.workflow
    async def shield(ctx: assay.WorkflowContext) -> list[Any]:
        call = ctx.execute_activity(slowly, 3)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(call), 0.001)
        was_done = call.done()
        return [was_done, await call]

    await world.deploy(shield, slowly)
    assert await world.run(shield) == [False, 3]


@on_every_shape
async def test_a_branch_can_be_cancelled_and_the_others_go_on(world: World) -> None:
    @assay.workflow
    async def choose(ctx: assay.WorkflowContext) -> list[Any]:
        async def branch() -> str:
            await ctx.wait_for_signal("never")
            return "no"

        task = asyncio.create_task(branch())
        doubled = await ctx.execute_activity(double, 4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [doubled, task.cancelled(), await ctx.execute_activity(double, 5)]

    await world.deploy(choose, double)
    assert await world.run(choose) == [8, True, 10]


@on_every_shape
async def test_what_happens_first_wins_and_what_happens_later_changes_nothing(
    world: World,
) -> None:
    """Whether it is fed event by event or all at once."""

    @assay.workflow
    async def race(ctx: assay.WorkflowContext) -> list[Any]:
        order: list[str] = []

        async def branch(name: str) -> None:
            await ctx.wait_for_signal(name)
            order.append(name)
            await ctx.side_effect(name, lambda: None)
            order.append(name.upper())

        tasks = [asyncio.create_task(branch(name)) for name in "xyz"]
        await asyncio.wait(tasks)
        await ctx.sleep(0.001)
        return order

    await world.deploy(race)
    run = await world.start(race)
    for name in "zxy":
        await run.signal(name)
    order = await world.result(run.id)
    assert [name for name in order if name.islower()] == ["z", "x", "y"]
    await world.withdraw()


@on_every_shape
async def test_branches_left_behind_end_with_their_run(world: World) -> None:
    @assay.workflow
    async def leave(ctx: assay.WorkflowContext) -> str:
        async def forever() -> None:
            while True:
                await ctx.execute_activity(double, 1)
                await ctx.wait_for_signal("never")

        branch = asyncio.create_task(forever())
        return f"{await ctx.execute_activity(double, 2)} {branch.done()}"

    await world.deploy(leave, double)
    assert await world.run(leave) == "4 False"


async def doubles(ctx: assay.WorkflowContext, heard: list[Any]) -> AsyncIterator[int]:
    """As many as somebody wants; then it cleans up."""
    try:
        for number in range(9):
            yield await ctx.execute_activity(double, number)
    finally:
        heard.append("closing")
        heard.append(await ctx.execute_activity(double, 21))


@on_every_shape
async def test_a_generator_that_is_left_is_closed_by_a_branch_of_its_own(world: World) -> None:
    @assay.workflow
    async def leave(ctx: assay.WorkflowContext) -> list[Any]:
        heard: list[Any] = []
        async for number in doubles(ctx, heard):
            heard.append(number)
            if number == 4:
                break
        heard.append(await ctx.execute_activity(double, 3))
        await ctx.wait_for_signal("go")
        return heard

    await world.deploy(leave, double)
    run = await world.start(leave)
    await world.event(run.id, "ActivityCompleted", 5)
    await run.signal("go")
    heard = await world.result(run.id)
    assert heard[:4] == [0, 2, 4, "closing"]
    assert sorted(heard[4:]) == [6, 42]


@pytest.mark.parametrize("way", ["return", "cancel", "drop", "keep"])
@on_every_shape
async def test_a_generator_that_is_left_ends_with_its_run(world: World, way: str) -> None:
    kept: list[Any] = []
    heard: list[Any] = []

    @assay.workflow
    async def leave(ctx: assay.WorkflowContext) -> int:
        generator = doubles(ctx, heard)
        first = await anext(generator)
        ctx.register_query("first", lambda: first + 1)
        if way == "keep":
            kept.append(generator)
        if way == "cancel":
            await ctx.cancel()
        if way == "drop":
            await ctx.wait_for_signal("never")
        return await ctx.execute_activity(double, first)

    await world.deploy(leave, double)
    run = await world.start(leave)
    await world.query(run.id, "first")
    if way in ("return", "keep"):
        assert await world.result(run.id) == 0
    await world.withdraw()
    kept.clear()
    gc.collect()  # an error holds the frames that it came through
    assert set(heard) == {"closing"}


@on_every_shape
async def test_an_error_in_a_branch_that_nobody_awaits_does_not_end_the_run(
    world: World,
) -> None:
    @assay.workflow
    async def ignore(ctx: assay.WorkflowContext) -> list[Any]:
        async def burst() -> None:
            await ctx.sleep(0)
            raise ValueError("unheard")

        branch = asyncio.create_task(burst())
        return [await ctx.execute_activity(double, 2), branch.done()]

    await world.deploy(ignore, double)
    assert await world.run(ignore) == [4, True]


@on_every_shape
async def test_loops_over_wide_branches_come_out_the_same(world: World) -> None:
    """Hundreds of calls in crossing branches, which any difference in a replay would trip over."""

    @assay.workflow
    async def weave(ctx: assay.WorkflowContext) -> int:
        total = 0

        async def strand(number: int) -> int:
            value = number
            for turn in range(5):
                if (number + turn) % 3 == 0:
                    value = await ctx.execute_activity(double, value) % 97
                elif (number + turn) % 3 == 1:
                    value += await ctx.side_effect("one", lambda: 1)
                else:
                    await ctx.sleep(0.001 * (number % 4))
            return value

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(strand(number)) for number in range(20)]
        for task in tasks:
            total += task.result()
        return total

    await world.deploy(weave, double)
    totals = {await world.run(weave) for _ in range(3)}
    assert len(totals) == 1
