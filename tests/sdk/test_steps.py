"""Inline steps: functions that run in the workflow's worker and are remembered."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import threading
import time
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape

NEVER_SECS = 10_000.0


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Flaky:
    """A step that fails so many times."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.began: list[float] = []

    def __call__(self) -> int:
        self.began.append(time.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return len(self.began)


def add(first: int, second: int) -> int:
    return first + second


@on_every_shape
async def test_a_step_goes_by_the_name_of_what_it_runs(world: World) -> None:
    @assay.workflow
    async def several(ctx: assay.WorkflowContext) -> list[int]:
        return [
            await ctx.step(add, 1, 2),
            await ctx.step(functools.partial(add, 1), 3),
            await ctx.step(functools.partial(functools.partial(add, 1), second=4)),
            await ctx.step(Flaky()),
            await ctx.step(functools.partial(add, 1), 5, name="sum"),
        ]

    await world.deploy(several)
    id = (await world.start(several)).id
    assert await world.result(id) == [3, 4, 5, 1, 6]
    done = [event for event in await world.history(id) if event.type == "StepCompleted"]
    assert [event.payload["name"] for event in done] == ["add", "add", "add", "Flaky", "sum"]


@on_every_shape
async def test_a_step_takes_arguments_and_gives_what_it_says(world: World) -> None:
    def moved(point: Point, *by: int) -> Point:
        assert threading.current_thread() is not threading.main_thread()
        return Point(point.x + sum(by), point.y)

    async def mirrored(point: Point) -> Point:
        await asyncio.sleep(0)
        return Point(-point.x, -point.y)

    @assay.workflow
    async def walk(ctx: assay.WorkflowContext) -> list[Any]:
        point = await ctx.step(moved, Point(1, 2), 3, 4)
        assert isinstance(point, Point)
        point = await ctx.step(mirrored, point)
        assert isinstance(point, Point)
        plain = await ctx.step(lambda: Point(5))
        read = await ctx.step(lambda: {"x": 6, "y": 7}, result=Point)
        assert isinstance(read, Point)
        return [point, plain, read]

    await world.deploy(walk)
    assert await world.run(walk) == [{"x": -8, "y": -2}, {"x": 5, "y": 0}, {"x": 6, "y": 7}]


@on_every_shape
async def test_a_step_runs_once(world: World) -> None:
    calls: list[int] = []

    @assay.workflow
    async def count(ctx: assay.WorkflowContext) -> list[int]:
        for number in range(3):
            await ctx.step(calls.append, number)
            await ctx.sleep(0.005)
        return calls

    await world.deploy(count)
    id = (await world.start(count)).id
    assert await world.result(id) == [0, 1, 2]
    recorded = [event for event in await world.history(id) if event.type == "StepCompleted"]
    assert [event.payload["name"] for event in recorded] == ["append"] * 3


@on_every_shape
async def test_a_step_may_be_called_something_else(world: World) -> None:
    @assay.workflow
    async def name(ctx: assay.WorkflowContext) -> int:
        return await ctx.step(lambda: 1, name="one more")

    await world.deploy(name)
    id = (await world.start(name)).id
    assert await world.result(id) == 1
    assert (await world.event(id, "StepCompleted")).payload["name"] == "one more"


@on_every_shape
async def test_steps_of_branches_run_beside_one_another(world: World) -> None:
    meeting = threading.Barrier(3, timeout=10)

    def meet(number: int) -> int:
        meeting.wait()
        return number

    @assay.workflow
    async def together(ctx: assay.WorkflowContext) -> list[int]:
        return list(await asyncio.gather(*(ctx.step(meet, number) for number in range(3))))

    await world.deploy(together)
    assert await world.run(together) == [0, 1, 2]


@on_every_shape
async def test_a_failed_attempt_of_a_step_is_recorded_and_followed_by_another(
    world: World,
) -> None:
    flaky = Flaky(ValueError("once"), ValueError("twice"))

    @assay.workflow
    async def stubborn(ctx: assay.WorkflowContext) -> int:
        opts: Any = {"initial_interval_secs": 0.04, "backoff_coefficient": 2.0}
        return await ctx.step(flaky, name="flaky", **opts)

    await world.deploy(stubborn)
    id = (await world.start(stubborn)).id
    assert await world.result(id) == 3
    gaps = [late - early for early, late in zip(flaky.began, flaky.began[1:], strict=False)]
    assert gaps[0] >= 0.04
    assert gaps[1] >= 0.08
    told = [
        (event.payload["attempt"], event.payload["error"])
        for event in await world.history(id)
        if event.type == "StepAttemptFailed"
    ]
    assert told == [(1, "once"), (2, "twice")]
    assert (await world.event(id, "StepCompleted")).payload["attempt"] == 3


@on_every_shape
async def test_attempts_of_a_step_count_on_in_another_worker(world: World) -> None:
    @assay.workflow("stubborn")
    async def broken(ctx: assay.WorkflowContext) -> Any:
        opts: Any = {"initial_interval_secs": 0.3, "backoff_coefficient": 1.0, "max_attempts": 3}
        return await ctx.step(Flaky(ValueError("first worker")), name="flaky", **opts)

    second = Flaky(ValueError("second worker"), ValueError("for good"), ValueError("too often"))

    @assay.workflow("stubborn")
    async def still_broken(ctx: assay.WorkflowContext) -> Any:
        opts: Any = {"initial_interval_secs": 0.01, "backoff_coefficient": 1.0, "max_attempts": 3}
        return await ctx.step(second, name="flaky", **opts)

    await world.deploy(broken)
    id = (await world.start(broken)).id
    await world.event(id, "StepAttemptFailed")
    await world.deploy(still_broken)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.result(id)
    assert caught.value.error == "step 'flaky' failed: for good"
    assert (await world.event(id, "StepFailed")).payload["attempt"] == 3
    assert len(second.began) == 2


@on_every_shape
async def test_after_its_last_attempt_a_step_has_failed(world: World) -> None:
    class Broken(Exception):
        pass

    @assay.workflow
    async def hopeless(ctx: assay.WorkflowContext) -> list[Any]:
        flaky = Flaky(Broken("once"), Broken("twice"), Broken("for good"))
        with pytest.raises(assay.StepFailed) as caught:
            await ctx.step(flaky, name="flaky", initial_interval_secs=0.0)
        failure = caught.value.failure
        assert failure is not None
        return [str(caught.value), caught.value.name, failure.type, failure.traceback]

    await world.deploy(hopeless)
    text, name, kind, traceback = await world.run(hopeless)
    assert (name, kind) == ("flaky", "Broken")
    assert text.startswith("step 'flaky' failed: ")
    assert __file__ in traceback


@on_every_shape
async def test_an_error_of_a_step_may_be_final_or_say_when_to_go_on(world: World) -> None:
    soon = Flaky(assay.ApplicationError("soon", retry_after=0.0))
    never = Flaky(assay.ApplicationError("never", retryable=False))
    wrong = Flaky(ValueError("named"))

    @assay.workflow
    async def mixed(ctx: assay.WorkflowContext) -> list[Any]:
        told: list[Any] = [await ctx.step(soon, name="soon", initial_interval_secs=NEVER_SECS)]
        for flaky, name in ((never, "never"), (wrong, "wrong")):
            try:
                await ctx.step(flaky, name=name, max_attempts=9, non_retryable=[ValueError])
            except assay.StepFailed as caught:
                told.append(str(caught))
        return told

    await world.deploy(mixed)
    assert await world.run(mixed) == [
        2,
        "step 'never' failed: never",
        "step 'wrong' failed: named",
    ]


@on_every_shape
async def test_a_step_that_takes_too_long_fails(world: World) -> None:
    async def slow() -> None:
        await asyncio.get_running_loop().create_future()

    @assay.workflow
    async def wait(ctx: assay.WorkflowContext) -> str | None:
        with pytest.raises(assay.StepFailed) as caught:
            await ctx.step(
                slow, max_attempts=2, initial_interval_secs=0.0, start_to_close_secs=0.05
            )
        return caught.value.error

    await world.deploy(wait)
    id = (await world.start(wait)).id
    assert await world.result(id) == "start_to_close timeout"
    assert (await world.event(id, "StepFailed")).payload["attempt"] == 2


@on_every_shape
async def test_the_time_of_a_step_begins_when_it_has_a_thread(world: World) -> None:
    @assay.workflow
    async def queue(ctx: assay.WorkflowContext) -> int:
        steps = [
            ctx.step(time.sleep, 0.4, start_to_close_secs=1.0, max_attempts=1) for _ in range(3)
        ]
        return len(await asyncio.gather(*steps))

    await world.deploy(queue, max_concurrent_activities=1)
    assert await world.run(queue) == 3


@on_every_shape
async def test_steps_take_no_thread_from_activities(world: World) -> None:
    over = threading.Event()

    @assay.activity
    def work(_ctx: assay.ActivityContext) -> None:
        over.set()

    @assay.workflow
    async def both(ctx: assay.WorkflowContext) -> bool:
        step = ctx.step(over.wait, 5, name="wait")
        await ctx.execute_activity(work, start_to_close_secs=2, max_attempts=1)
        return await step

    await world.deploy(both, work, max_concurrent_activities=1)
    assert await world.run(both) is True


@on_every_shape
async def test_the_log_names_a_plain_step_that_hangs(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    over = threading.Event()

    @assay.workflow
    async def hang(ctx: assay.WorkflowContext) -> None:
        await ctx.step(over.wait, 10, name="hang", max_attempts=1, start_to_close_secs=0.1)

    await world.deploy(hang)
    try:
        with pytest.raises(assay.WorkflowFailed, match="start_to_close"):
            await world.run(hang)
    finally:
        over.set()
    assert "step hang has run for longer than its start_to_close_secs (0.1 s)" in caplog.text


@on_every_shape
async def test_a_step_whose_value_is_not_json_fails_and_says_where(world: World) -> None:
    @assay.workflow
    async def odd(ctx: assay.WorkflowContext) -> str:
        with pytest.raises(assay.StepFailed) as caught:
            await ctx.step(lambda: [object()], name="odd", max_attempts=1)
        return str(caught.value)

    await world.deploy(odd)
    assert "$[0]" in await world.run(odd)


@on_every_shape
async def test_signals_are_heard_while_a_step_runs(world: World) -> None:
    over = asyncio.Event()

    async def slow() -> str:
        await over.wait()
        return "over"

    @assay.workflow
    async def both(ctx: assay.WorkflowContext) -> list[Any]:
        step = ctx.step(slow)
        heard = await ctx.wait_for_signal("go")
        over.set()
        return [heard, await step]

    await world.deploy(both)
    run = await world.start(both)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.signal("go", "heard")
    assert await world.result(run.id) == ["heard", "over"]


@on_every_shape
async def test_a_step_that_nobody_waits_for_any_more_does_not_hold_up_the_end(
    world: World,
) -> None:
    async def endless() -> None:
        await asyncio.get_running_loop().create_future()

    @assay.workflow
    async def leave(ctx: assay.WorkflowContext) -> str:
        _left = ctx.step(endless)
        await ctx.sleep(0.01)
        return "gone"

    await world.deploy(leave)
    assert await world.run(leave) == "gone"


@pytest.mark.parametrize(
    ("opts", "why"),
    [
        ({"max_attempts": 0}, "max_attempts"),
        ({"initial_interval_secs": -1}, "delays"),
        ({"jitter": 2}, "jitter"),
        ({"start_to_close_secs": 0}, "start_to_close_secs"),
        ({"attempts": 3}, "attempts"),
    ],
)
@on_every_shape
async def test_an_option_of_a_step_that_cannot_be_is_a_mistake(
    world: World, opts: Any, why: str
) -> None:
    @assay.workflow
    async def careless(ctx: assay.WorkflowContext) -> None:
        await ctx.step(lambda: None, **opts)

    await world.deploy(careless)
    said = await world.blocked((await world.start(careless)).id)
    assert why in said
    assert f"{__file__}:" in said
