"""Activities that fail: when they are tried again, and what their workflow is told in the end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import assay
from assay.sdk import failure as failures
from assay.sdk.failure import LONGEST_TEXT, Failure, failure_of, written
from tests.sdk.world import World, on_every_shape
from tests.support.caller import until

NEVER_SECS = 10_000.0


class Broken(Exception):
    """What the activities here raise."""


class Worse(Broken):
    """A kind of it."""


class Flaky:
    """An activity that raises what it is given, one error per attempt, then returns its count."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = errors
        self.began: list[float] = []

        @assay.activity
        async def flaky(_ctx: assay.ActivityContext) -> int:
            self.began.append(time.monotonic())
            if len(self.began) <= len(self.errors):
                raise self.errors[len(self.began) - 1]
            return len(self.began)

        self.activity = flaky

    @property
    def gaps(self) -> list[float]:
        """The times between attempts."""
        return [late - early for early, late in zip(self.began, self.began[1:], strict=False)]


def caller(flaky: Flaky, **opts: Any) -> Callable[..., Any]:
    """A workflow that calls it."""

    @assay.workflow
    async def call(ctx: assay.WorkflowContext) -> int:
        return await ctx.execute_activity(flaky.activity, **opts)

    return call


async def told(world: World, flaky: Flaky, **opts: Any) -> str | None:
    """What became of a run that calls it."""
    call = caller(flaky, **opts)
    await world.deploy(call, flaky.activity)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(call)
    return caught.value.error


@on_every_shape
async def test_a_failed_attempt_is_followed_by_another_one_after_a_growing_pause(
    world: World,
) -> None:
    flaky = Flaky(Broken(), Broken(), Broken())
    opts = {"max_attempts": 4, "initial_interval_secs": 0.05, "backoff_coefficient": 2.0}
    call = caller(flaky, **opts)
    await world.deploy(call, flaky.activity)
    id = (await world.start(call)).id
    assert await world.result(id) == 4
    assert [late >= due for late, due in zip(flaky.gaps, (0.05, 0.1, 0.2), strict=True)] == [
        True
    ] * 3
    assert (await world.kinds(id)).count("ActivityFailed") == 0
    assert (await world.activity(id))["attempt"] == 4


@on_every_shape
async def test_no_pause_is_longer_than_the_longest(world: World) -> None:
    flaky = Flaky(Broken(), Broken())
    call = caller(
        flaky, initial_interval_secs=0.01, backoff_coefficient=1e6, max_interval_secs=0.02
    )
    await world.deploy(call, flaky.activity)
    assert await world.run(call) == 3


@on_every_shape
async def test_jitter_takes_a_part_off_the_pause_and_no_more(world: World) -> None:
    flaky = Flaky(Broken(), Broken())
    call = caller(flaky, initial_interval_secs=0.1, backoff_coefficient=1.0, jitter=0.5)
    await world.deploy(call, flaky.activity)
    assert await world.run(call) == 3
    assert min(flaky.gaps) >= 0.05


@on_every_shape
async def test_after_the_last_attempt_the_workflow_has_the_last_error(world: World) -> None:
    flaky = Flaky(Broken("once"), Broken("twice"), Broken("thrice"))
    error = await told(world, flaky, max_attempts=2, initial_interval_secs=0.0)
    assert error == "activity 'flaky' failed: twice"
    assert len(flaky.began) == 2


@on_every_shape
async def test_an_error_without_words_says_its_type(world: World) -> None:
    assert (await told(world, Flaky(Broken()), max_attempts=1)) == "activity 'flaky' failed: Broken"


@pytest.mark.parametrize("named", [Broken, "Broken"], ids=["class", "name"])
@on_every_shape
async def test_an_error_that_is_not_to_be_retried_is_the_last(
    world: World, named: type[Exception] | str
) -> None:
    flaky = Flaky(ValueError("again"), Broken("enough"))
    error = await told(
        world, flaky, max_attempts=9, initial_interval_secs=0.0, non_retryable=[named]
    )
    assert error == "activity 'flaky' failed: enough"
    assert len(flaky.began) == 2


@on_every_shape
async def test_an_error_may_say_itself_that_it_is_final(world: World) -> None:
    flaky = Flaky(assay.ApplicationError("no use", retryable=False))
    assert await told(world, flaky, max_attempts=9) == "activity 'flaky' failed: no use"
    assert len(flaky.began) == 1


@on_every_shape
async def test_an_error_may_say_when_the_next_attempt_comes(world: World) -> None:
    own = Broken("with an attribute of its own")
    own.retry_after = 0.05  # type: ignore[attr-defined] # what is documented: any error may
    flaky = Flaky(assay.ApplicationError("soon", retry_after=0.0), own)
    call = caller(flaky, initial_interval_secs=NEVER_SECS)
    await world.deploy(call, flaky.activity)
    assert await world.run(call) == 3
    assert flaky.gaps[1] >= 0.05


@on_every_shape
async def test_a_moment_that_has_gone_by_is_now(world: World) -> None:
    flaky = Flaky(assay.ApplicationError("late", retry_after=-1.0))
    call = caller(flaky, initial_interval_secs=NEVER_SECS)
    await world.deploy(call, flaky.activity)
    assert await world.run(call) == 2


@pytest.mark.parametrize("secs", [1e11, float("inf"), 10**400], ids=["long", "infinite", "huge"])
@on_every_shape
async def test_no_pause_is_too_long_to_be_told(world: World, secs: float) -> None:
    flaky = Flaky(assay.ApplicationError("much later", retry_after=secs))
    call = caller(flaky)
    await world.deploy(call, flaky.activity)
    run = await world.start(call)
    activity = await until(lambda: world.activity(run.id), lambda seen: seen["attempt"] == 2)
    assert activity["status"] == "PENDING"
    await run.terminate()


@on_every_shape
async def test_a_long_text_is_told_as_far_as_it_fits(world: World) -> None:
    error = await told(world, Flaky(Broken("long " * 600_000)), max_attempts=1)
    assert error is not None
    assert error.startswith("activity 'flaky' failed: long long")
    assert error.endswith("[…]")
    assert len(error) < 2 * LONGEST_TEXT


@on_every_shape
async def test_every_failed_attempt_can_be_read(world: World) -> None:
    flaky = Flaky(Broken("first"), Broken("second"))
    call = caller(flaky, max_attempts=3, initial_interval_secs=0.0)
    await world.deploy(call, flaky.activity)
    run = await world.start(call)
    assert await run.result() == 3
    scheduled = await world.event(run.id, "ActivityScheduled")
    attempts = await world.client.workflows.list_attempts(scheduled.payload["activity_id"])
    assert [(each["attempt"], each["error"]) for each in attempts] == [(1, "first"), (2, "second")]
    for each in attempts:
        failure = msgspec.json.decode(each["failure"] or "", type=Failure)
        assert failure.type == "Broken"
        assert "raise" in (failure.traceback or "")


@on_every_shape
async def test_a_failure_that_the_engine_refuses_is_told_without_all_there_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "LONGEST_TEXT", 10_000_000)
    flaky = Flaky(assay.ApplicationError("long " * 600_000, retryable=False))
    error = await told(world, flaky)
    assert error is not None
    assert error.startswith("activity 'flaky' failed: long long")
    assert len(error) < 10_000
    assert len(flaky.began) == 1


@on_every_shape
async def test_a_failure_tells_type_message_causes_and_traceback(world: World) -> None:
    @assay.activity
    async def dig(_ctx: assay.ActivityContext) -> None:
        try:
            try:
                json.loads("{}")["root"]
            except KeyError as root:
                raise Broken("middle") from root
        except Broken:
            raise Worse("top")  # noqa: B904 - the context is to be told as well

    @assay.workflow
    async def digging(ctx: assay.WorkflowContext) -> list[Any]:
        try:
            await ctx.execute_activity(dig, max_attempts=1)
        except assay.ActivityFailed as caught:
            top = caught.failure
            assert top is not None
            assert top.cause is not None
            assert top.cause.cause is not None
            chain = [top, top.cause, top.cause.cause]
            told = [(each.type, each.message) for each in chain]
            return [caught.name, caught.error, told, top.traceback, chain[2].cause]
        raise AssertionError

    await world.deploy(digging, dig)
    name, error, chain, traceback, rest = await world.run(digging)
    assert (name, error) == ("dig", "top")
    assert chain == [["Worse", "top"], ["Broken", "middle"], ["KeyError", "'root'"]]
    assert __file__ in traceback
    assert 'raise Worse("top")' in traceback
    assert rest is None


def raise_group() -> None:
    inner = Worse("inner")
    inner.__cause__ = Broken("cause")
    raise ExceptionGroup("several", [inner, ExceptionGroup("more", [Broken("deep")])])


GROUP = "several (2 sub-exceptions): inner"
MEMBERS = [
    ("Worse", "inner", "Broken"),
    ("ExceptionGroup", "more (1 sub-exception): deep", None),
]


@on_every_shape
async def test_a_group_of_errors_tells_of_its_members(world: World) -> None:
    @assay.activity
    async def group(_ctx: assay.ActivityContext) -> None:
        raise_group()

    @assay.workflow
    async def grouping(ctx: assay.WorkflowContext) -> list[Any]:
        told: list[Any] = []
        for call in (
            ctx.execute_activity(group, max_attempts=1),
            ctx.step(raise_group, max_attempts=1),
            ctx.side_effect("group", raise_group),
        ):
            try:
                await call
            except assay.CallFailed as failed:
                told.append([failed.error, failed.failure])
        return told

    await world.deploy(grouping, group)
    for error, failure in await world.run(grouping):
        assert error == GROUP
        read = msgspec.convert(failure, Failure)
        assert (read.type, read.message, read.cause) == ("ExceptionGroup", GROUP, None)
        assert [
            (each.type, each.message, each.cause and each.cause.type) for each in read.members
        ] == MEMBERS
        assert [each.message for each in read.members[1].members] == ["deep"]


@on_every_shape
async def test_a_run_that_ends_by_a_group_of_errors_says_what_has_happened(world: World) -> None:
    flaky = Flaky(Broken("boom"))

    @assay.workflow
    async def group(ctx: assay.WorkflowContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.execute_activity(flaky.activity, max_attempts=1))

    await world.deploy(group, flaky.activity)
    id = (await world.start(group)).id
    with pytest.raises(assay.WorkflowFailed, match="activity 'flaky' failed: boom"):
        await world.result(id)
    failed = (await world.history(id))[-1].payload
    said = "unhandled errors in a TaskGroup (1 sub-exception): activity 'flaky' failed: boom"
    assert (failed["error"], failed["failure"]["message"]) == (said, said)
    assert [each["type"] for each in failed["failure"]["members"]] == ["ActivityFailed"]


def test_what_a_group_tells_has_a_bound() -> None:
    broken: list[Exception] = [Broken(str(number)) for number in range(1000)]
    wide = failure_of(ExceptionGroup("wide", broken))
    assert [each.message for each in wide.members] == [str(number) for number in range(15)]
    deep: Exception = Broken("deep")
    for _ in range(3000):
        deep = ExceptionGroup("group", [deep, Broken("other")])
    assert len(written(failure_of(deep))) < 1_000_000


@on_every_shape
async def test_what_a_workflow_does_not_catch_ends_it_with_the_whole_story(world: World) -> None:
    id = ""
    flaky = Flaky(Broken("deep down"))
    call = caller(flaky, max_attempts=1)
    await world.deploy(call, flaky.activity)
    id = (await world.start(call)).id
    with pytest.raises(assay.WorkflowFailed):
        await world.result(id)
    failed = (await world.history(id))[-1]
    assert failed.type == "WorkflowFailed"
    assert failed.payload["error"] == "activity 'flaky' failed: deep down"
    assert failed.payload["failure"]["type"] == "ActivityFailed"
    assert "in call" in failed.payload["failure"]["traceback"]


@on_every_shape
async def test_an_activity_nobody_has_fails_with_its_name(world: World) -> None:
    @assay.workflow
    async def hopeful(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_activity("unheard of", max_attempts=1)

    await world.deploy(hopeful, Flaky().activity)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(hopeful)
    said = "activity 'unheard of' failed: No handler registered for activity: unheard of"
    assert caught.value.error == said


@on_every_shape
async def test_an_input_of_the_wrong_type_fails_the_attempt_and_says_where(world: World) -> None:
    @assay.activity
    async def picky(_ctx: assay.ActivityContext, numbers: list[int]) -> int:
        return sum(numbers)

    @assay.workflow
    async def careless(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_activity("picky", [1, "two"], max_attempts=1)

    await world.deploy(careless, picky)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(careless)
    said = caught.value.error or ""
    assert said.startswith("activity 'picky' failed: ")
    assert "$[1]" in said


@on_every_shape
async def test_a_result_that_is_not_json_fails_the_attempt_and_says_where(world: World) -> None:
    @assay.activity
    async def odd(ctx: assay.ActivityContext) -> Any:
        return {"a": [object()]} if ctx.attempt == 1 else {"a": [ctx.attempt]}

    @assay.workflow
    async def oddly(ctx: assay.WorkflowContext, attempts: int) -> Any:
        opts: Any = {"max_attempts": attempts, "initial_interval_secs": 0.0}
        return await ctx.execute_activity(odd, **opts)

    await world.deploy(oddly, odd)
    assert await world.run(oddly, 2) == {"a": [2]}
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(oddly, 1)
    said = caught.value.error or ""
    assert "cannot encode value at $.a[0]" in said
    assert "object" in said


@on_every_shape
async def test_a_result_that_is_too_large_fails_the_attempt(world: World) -> None:
    @assay.activity
    async def large(ctx: assay.ActivityContext) -> str:
        return "x" * 2_200_000 if ctx.attempt < 3 else "small"

    @assay.workflow
    async def largely(ctx: assay.WorkflowContext, attempts: int) -> Any:
        opts: Any = {"max_attempts": attempts, "initial_interval_secs": 0.0}
        return await ctx.execute_activity(large, **opts)

    await world.deploy(largely, large)
    assert await world.run(largely, 3) == "small"
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(largely, 1)
    said = caught.value.error or ""
    assert said.startswith("activity 'large' failed: the engine refused the result")


@on_every_shape
async def test_results_just_below_the_limit_go_through(world: World) -> None:
    @assay.activity
    async def large(_ctx: assay.ActivityContext) -> str:
        return "x" * 1_900_000

    @assay.workflow
    async def largely(ctx: assay.WorkflowContext) -> list[int]:
        calls = [ctx.execute_activity(large) for _ in range(3)]
        return [len(text) for text in await asyncio.gather(*calls)]

    await world.deploy(largely, large)
    assert await world.run(largely) == [1_900_000] * 3
