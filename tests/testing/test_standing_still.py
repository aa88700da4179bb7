"""When time stands still: while anything runs, while nobody waits for it, and when it is held."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

import assay
from assay.testing import Environment, NothingDue, run
from assay.testing import skipping as skipping_time
from tests.testing.stories import DAY, HOUR, approval

MOMENT = 1_767_225_600.0


@assay.workflow
async def working(ctx: assay.WorkflowContext, secs: float) -> float:
    await ctx.execute_activity(work, secs, start_to_close_secs=5, heartbeat_timeout_secs=1)
    return ctx.now()


@assay.activity
async def work(ctx: assay.ActivityContext, secs: float) -> None:
    await asyncio.sleep(secs)


@assay.workflow
async def blocking(ctx: assay.WorkflowContext, secs: float) -> float:
    await ctx.execute_activity(work_in_a_thread, secs)
    await ctx.step(lambda: time.sleep(secs))
    return ctx.now()


@assay.activity
def work_in_a_thread(ctx: assay.ActivityContext, secs: float) -> None:
    time.sleep(secs)


@assay.workflow
async def sleeper(ctx: assay.WorkflowContext) -> float:
    await ctx.sleep(DAY)
    return ctx.now()


@assay.workflow
async def watched(ctx: assay.WorkflowContext) -> str:
    return await ctx.execute_activity(
        stuck, start_to_close_secs=HOUR, max_attempts=2, initial_interval_secs=1
    )


@assay.activity
async def stuck(ctx: assay.ActivityContext) -> str:
    if ctx.attempt == 1:
        await asyncio.Event().wait()
    return f"attempt {ctx.attempt}"


@assay.workflow
async def outlaw(ctx: assay.WorkflowContext) -> float:
    return await asyncio.to_thread(time.time)


def test_an_activity_that_takes_real_time_holds_the_clock() -> None:
    async def story(env: Environment) -> None:
        other = await env.workflows.start(sleeper)
        began = time.perf_counter()
        handle = await env.workflows.start(working, input=0.2)
        assert await handle.result() == MOMENT
        assert time.perf_counter() - began >= 0.2
        assert env.now() == MOMENT
        assert await other.result() == MOMENT + DAY

    run(story, workflows=[working, sleeper], activities=[work])


def test_blocking_functions_in_threads_hold_the_clock() -> None:
    async def story(env: Environment) -> None:
        await env.workflows.start(sleeper)
        handle = await env.workflows.start(blocking, input=0.1)
        assert await handle.result() == MOMENT

    run(story, workflows=[blocking, sleeper], activities=[work_in_a_thread])


def test_time_is_not_skipped_while_the_test_waits_for_something_else() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)
        await asyncio.sleep(0.05)
        assert env.now() == MOMENT
        await handle.signal("approve", "yes")
        assert await handle.result() == "yes"

    run(story, workflows=[approval])


def test_time_is_skipped_for_whatever_the_test_says() -> None:
    async def story(env: Environment) -> None:
        rung = asyncio.Event()

        @env.activity("ring")
        async def ring(ctx: assay.ActivityContext) -> None:
            rung.set()

        @env.define("alarm")
        async def alarm(ctx: assay.WorkflowContext) -> None:
            await ctx.sleep(8 * HOUR)
            await ctx.execute_activity("ring")

        await env.workflows.start("alarm")
        with env.skipping():
            await rung.wait()
        assert env.now() == MOMENT + 8 * HOUR

    run(story)


def test_what_the_test_has_planned_holds_the_clock_while_it_runs() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)

        async def hesitate() -> None:
            await asyncio.sleep(0.05)
            await env.sleep(HOUR)
            await asyncio.sleep(0.05)
            await handle.signal("approve", str(env.now() - MOMENT))

        env.after(DAY, hesitate)
        assert await handle.result() == str(DAY + HOUR)

    run(story, workflows=[approval])


def test_held_time_moves_only_when_it_is_advanced() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(sleeper)
        with env.hold():
            waiting = asyncio.create_task(handle.result())
            await env.settle()
            await asyncio.sleep(0.05)
            assert env.now() == MOMENT
            await env.advance(DAY - 1)
            assert not waiting.done()
            await env.advance(1)
            assert await waiting == MOMENT + DAY

    run(story, workflows=[sleeper])


def test_settle_waits_until_nothing_runs() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(working, input=0.05)
        await env.settle()
        assert (await env.history(handle.id)).types[-1] == "WorkflowCompleted"
        assert env.now() == MOMENT

    run(story, workflows=[working], activities=[work])


def test_time_is_advanced_under_an_activity_that_hangs() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(watched)
        await env.advance(HOUR - 1)
        assert "ActivityCompleted" not in (await env.history(handle.id)).types
        await env.advance(2)
        assert await handle.result() == "attempt 2"

    run(story, workflows=[watched], activities=[stuck])


def test_a_test_that_would_wait_for_ever_is_told_why() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start("ordered", "o-1", task_queue="elsewhere")
        with pytest.raises(NothingDue, match=r"'o-1' waits for workflow task \(waits for a worker"):
            await handle.result()

        @env.define("ordered")
        async def ordered(ctx: assay.WorkflowContext) -> None:
            await ctx.wait_for_signal("approve")

        await env.serve("elsewhere")
        with pytest.raises(NothingDue, match="'o-1' waits for signal 'approve'"):
            await handle.result()

    run(story, patience_secs=0.1)


def test_what_comes_from_outside_within_the_patience_is_waited_for() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(asking, "asking")

        async def outside() -> None:
            await asyncio.sleep(0.2)
            await handle.signal("answer", 42)

        answering = asyncio.create_task(outside())
        assert await handle.result() == 42
        await answering

    run(story, workflows=[asking])


@assay.workflow
async def asking(ctx: assay.WorkflowContext) -> int:
    return int(await ctx.wait_for_signal("answer"))


def test_the_log_says_what_holds_time_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(skipping_time, "TOLD_SECS", 0.05)

    async def story(env: Environment) -> None:
        handle = await env.workflows.start(working, "slow", 0.3)
        await handle.result()

    with caplog.at_level(logging.WARNING, "assay.testing"):
        run(story, workflows=[working], activities=[work])
    [said] = {record.getMessage() for record in caplog.records}
    assert "'slow' waits for activity 'work' (worker 'w-" in said


def test_a_blocked_run_fails_the_test() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(outlaw, "outlaw")
        with pytest.raises(assay.WorkflowMisuse, match=r"'outlaw' cannot go on: .*test_standing"):
            await handle.result()

    run(story, workflows=[outlaw])


def test_a_run_may_block_and_be_healed() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(outlaw, "outlaw")
        await env.sleep(10)
        run = await handle.describe()
        assert run is not None
        assert run["blocked"]
        env.registry.workflows["outlaw"].handler = sleeper
        assert await handle.result() >= MOMENT + DAY

    run(story, workflows=[outlaw], may_block=True)


def test_what_a_planned_call_raises_is_raised_where_the_test_waits() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(sleeper)
        env.after(HOUR, lambda: handle.signal(""))
        with pytest.raises(assay.ClientFault):
            await handle.result()
        assert env.now() == MOMENT + HOUR

    run(story, workflows=[sleeper])


def test_what_nobody_waits_to_hear_is_raised_at_the_end() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("nobody heard")

    async def story(env: Environment) -> None:
        env.after(HOUR, fail)
        await env.sleep(HOUR)
        await asyncio.sleep(0.01)

    with pytest.raises(LookupError, match="nobody heard"):
        run(story)


def test_an_environment_that_is_left_in_a_hurry_leaves_nothing() -> None:
    async def story(env: Environment) -> None:
        await env.workflows.start(watched)
        await env.workflows.start(sleeper)
        env.after(HOUR, lambda: None)

    began = time.perf_counter()
    run(story, workflows=[watched, sleeper], activities=[stuck])
    assert time.perf_counter() - began < 2


def test_a_cancelled_wait_for_time_is_cancelled() -> None:
    async def story(env: Environment) -> None:
        with env.hold(), pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await env.sleep(DAY)
        await env.sleep(1)
        assert env.now() == MOMENT + 1

    run(story)
