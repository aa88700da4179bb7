"""Virtual time: whatever a test waits for is there at once, and at the right moment."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

import assay
from assay.sdk.faults import RequestTimeout
from assay.testing import Environment, run
from tests.testing.stories import ACTIVITIES, DAY, HOUR, WORKFLOWS, approval, parent

MOMENT = 1_767_225_600.0  # where an environment begins if it is not told otherwise


@assay.workflow
async def month(ctx: assay.WorkflowContext) -> float:
    await ctx.sleep(30 * DAY)
    return ctx.now()


@assay.workflow
async def days(ctx: assay.WorkflowContext, many: int) -> float:
    for _ in range(many):
        await ctx.sleep(DAY)
    return ctx.now()


@assay.workflow
async def stubborn(ctx: assay.WorkflowContext) -> int:
    return await ctx.execute_activity(
        fails_until, 5, max_attempts=5, initial_interval_secs=HOUR, backoff_coefficient=2.0
    )


@assay.activity
async def fails_until(ctx: assay.ActivityContext, attempt: int) -> int:
    if ctx.attempt < attempt:
        raise RuntimeError("not yet")
    return ctx.attempt


@assay.workflow
async def careful(ctx: assay.WorkflowContext) -> list[str]:
    tries: list[str] = []

    def flaky() -> str:
        tries.append("try")
        if len(tries) < 4:
            raise ConnectionError("away")
        return "there"

    result = await ctx.step(flaky, max_attempts=10, initial_interval_secs=0.1, jitter=1.0)
    return [result, *tries]


@assay.workflow
async def tick(ctx: assay.WorkflowContext) -> None:
    return None


@assay.workflow
async def deadline(ctx: assay.WorkflowContext) -> str:
    try:
        async with asyncio.timeout(HOUR):
            await ctx.wait_for_signal("go")
    except TimeoutError:
        return f"gave up after {ctx.now() - MOMENT:.0f} s"
    return "gone"


def test_a_month_is_over_in_less_than_a_second() -> None:
    async def story(env: Environment) -> None:
        began = time.perf_counter()
        handle = await env.workflows.start(month)
        assert await handle.result() == MOMENT + 30 * DAY
        assert env.now() == MOMENT + 30 * DAY
        assert time.perf_counter() - began < 1

    run(story, workflows=[month])


def test_a_thousand_days_one_after_the_other() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(days, "days", 1000)
        assert await handle.result() == MOMENT + 1000 * DAY
        assert (await env.history("days")).types.count("TimerFired") == 1000

    run(story, workflows=[days])


def test_many_runs_sleep_side_by_side() -> None:
    async def story(env: Environment) -> None:
        handles = [await env.workflows.start(days, f"d-{n}", n) for n in range(1, 101)]
        ends = await asyncio.gather(*(handle.result() for handle in handles))
        assert ends == [MOMENT + n * DAY for n in range(1, 101)]

    run(story, workflows=[days])


def test_retries_with_a_back_off_of_hours() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(stubborn)
        assert await handle.result() == 5
        assert env.now() == MOMENT + (1 + 2 + 4 + 8) * HOUR

    run(story, workflows=[stubborn], activities=[fails_until])


def test_steps_are_tried_again_to_the_microsecond() -> None:
    """With jitter, and so with moments that no float holds exactly."""

    async def story(env: Environment) -> None:
        for n in range(50):
            handle = await env.workflows.start(careful, f"careful-{n}")
            assert await handle.result() == ["there", "try", "try", "try", "try"]

    run(story, workflows=[careful])


def test_a_schedule_fires_through_a_year() -> None:
    async def story(env: Environment) -> None:
        await env.schedules.create("daily", tick, "30 6 * * *", timezone="Europe/Berlin")
        await env.sleep(timedelta(days=365))
        runs = await env.workflows.list(limit=500)
        assert len(runs) == 365
        starts = [datetime.fromtimestamp(run["created_at"], UTC) for run in reversed(runs)]
        assert starts[0] == datetime(2026, 1, 1, 5, 30, tzinfo=UTC)
        assert starts[180] == datetime(2026, 6, 30, 4, 30, tzinfo=UTC)  # summer
        assert {run["status"] for run in runs} == {"COMPLETED"}

    run(story, workflows=[tick])


def test_a_timed_wait_for_a_signal_expires_when_its_time_is_over() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)
        assert await handle.result() == "expired"
        assert env.now() == MOMENT + 3 * DAY

    run(story, workflows=[approval])


def test_a_signal_is_sent_at_its_moment() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)
        env.after(2 * DAY, lambda: handle.signal("approve", "in time"))
        assert await handle.result() == "in time"
        assert env.now() == MOMENT + 2 * DAY

    run(story, workflows=[approval])


def test_a_moment_may_be_a_datetime() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)
        moment = datetime(2030, 3, 2, 12, tzinfo=UTC)
        env.at(moment, lambda: handle.signal("approve", "at noon"))
        assert await handle.result() == "at noon"
        assert env.now() == moment.timestamp()

    run(story, workflows=[approval], start=datetime(2030, 3, 1, tzinfo=UTC))


def test_what_comes_due_in_the_engine_comes_before_what_the_test_does_then() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)
        env.after(3 * DAY, lambda: handle.signal("approve", "too late"))
        assert await handle.result() == "expired"

    run(story, workflows=[approval])


def test_the_test_itself_waits_in_virtual_time() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(approval)
        await env.sleep(2 * DAY)
        assert env.now() == MOMENT + 2 * DAY
        run = await handle.describe()
        assert run is not None
        assert {each["kind"] for each in run["waiting_for"]} == {"signal", "timer"}
        await handle.signal("approve", "late, but not too late")
        assert await handle.result() == "late, but not too late"
        assert env.now() == MOMENT + 2 * DAY

    run(story, workflows=[approval])


def test_a_run_is_cancelled_at_its_moment() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(month)
        env.after(10 * DAY, lambda: handle.cancel("enough"))
        with pytest.raises(assay.WorkflowCancelled, match="enough"):
            await handle.result()
        assert env.now() == MOMENT + 10 * DAY

    run(story, workflows=[month])


def test_children_sleep_at_the_same_time() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(parent, "p", [4, 2, 1])
        assert await handle.result() == [16, 4, 1]
        assert env.now() == MOMENT + 4 * HOUR

    run(story, workflows=WORKFLOWS)


def test_asyncio_sleeps_and_time_outs_of_workflows_are_virtual() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(deadline)
        assert await handle.result() == "gave up after 3600 s"

    run(story, workflows=[deadline])


def test_a_run_starts_after_its_delay_and_ends_with_its_time() -> None:
    async def story(env: Environment) -> None:
        late = await env.workflows.start(tick, "late", start_delay_secs=7 * DAY)
        await late.result()
        assert env.now() == MOMENT + 7 * DAY
        short = await env.workflows.start(month, "short", timeout_secs=DAY)
        with pytest.raises(assay.WorkflowTimedOut):
            await short.result()
        assert env.now() == MOMENT + 8 * DAY

    run(story, workflows=[tick, month])


def test_time_outs_of_results_are_virtual() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(month)
        began = time.perf_counter()
        with pytest.raises(RequestTimeout, match="604800"):
            await handle.result(timeout=7 * DAY)
        assert time.perf_counter() - began < 5
        assert env.now() == MOMENT + 7 * DAY
        assert await handle.result(timeout=23 * DAY) == MOMENT + 30 * DAY

    run(story, workflows=[month])


def test_a_worker_of_the_test_is_alive_after_any_time() -> None:
    async def story(env: Environment) -> None:
        await (await env.workflows.start(month)).result()
        [worker] = await env.workers.list()
        assert worker["last_heartbeat"] >= env.now() - 1

    run(story, workflows=[month])


def test_the_same_test_gives_the_same_history_twice() -> None:
    async def story(env: Environment) -> str:
        handle = await env.workflows.start(careful, "careful")
        await handle.result()
        family = await env.workflows.start(parent, "family", [2, 1, 3])
        await family.result()
        histories = [await env.history(id) for id in ("careful", "family", "family-3")]
        return "".join(history.to_json() for history in histories)

    def play(seed: int) -> str:
        text: str = run(story, workflows=[*WORKFLOWS, careful], activities=ACTIVITIES, seed=seed)
        return text

    assert play(7) == play(7)
    assert play(7) != play(8)


def test_time_goes_on_and_not_back() -> None:
    async def story(env: Environment) -> None:
        with pytest.raises(assay.errors.UsageFault, match="not back"):
            await env.sleep(-1)
        with pytest.raises(assay.errors.UsageFault, match="time zone"):
            env.at(datetime(2030, 1, 1), lambda: None)  # noqa: DTZ001 - what is refused

    run(story)
