"""Mistakes: each says where it is and what to do, and neither a worker nor a run is lost by it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape

PLACE = re.compile(re.escape(__file__) + r":\d+")


@assay.activity
async def double(_ctx: assay.ActivityContext, number: int) -> int:
    return number * 2


@assay.workflow
async def healthy(ctx: assay.WorkflowContext, number: int) -> int:
    return await ctx.execute_activity(double, number)


@assay.workflow("mended")
async def mended(_ctx: assay.WorkflowContext) -> str:
    return "mended"


async def lock_that_was_waited_for() -> asyncio.Lock:
    """Only then does it belong to a loop."""
    lock = asyncio.Lock()
    await lock.acquire()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(lock.acquire(), 0.001)
    return lock


async def blocked_by(world: World, workflow: Any, given: object = None) -> str:
    """Why the run is blocked; meanwhile its worker does other work, and later the run ends well."""
    await world.deploy(workflow, healthy, double)
    id = (await world.start(workflow, given)).id
    why = await world.blocked(id)
    assert await world.run(healthy, 21) == 42
    assert (await world.record(id))["status"] == "RUNNING"
    await world.deploy(mended, healthy, double)
    assert await world.result(id) == "mended"
    return why


async def foreign_future(_ctx: assay.WorkflowContext) -> None:
    await FOREIGN[0]


async def foreign_task(_ctx: assay.WorkflowContext) -> None:
    await asyncio.gather(FOREIGN[0])


async def foreign_once_more(_ctx: assay.WorkflowContext) -> None:
    with contextlib.suppress(RuntimeError):
        await FOREIGN[0]
    await FOREIGN[0]


async def foreign_lock(_ctx: assay.WorkflowContext) -> None:
    async with LOCKS[0]:
        pass


async def thread(_ctx: assay.WorkflowContext) -> None:
    await asyncio.to_thread(print)


async def connection(_ctx: assay.WorkflowContext) -> None:
    await asyncio.open_connection("127.0.0.1", 1)


async def process(_ctx: assay.WorkflowContext) -> None:
    await asyncio.create_subprocess_exec("true")


async def branch(_ctx: assay.WorkflowContext) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(print))


async def strange(_ctx: assay.WorkflowContext) -> None:
    class Strange:
        def __await__(self) -> Any:
            yield "something"

    await Strange()


async def callback(ctx: assay.WorkflowContext) -> None:
    calls: list[Any] = []

    def burst() -> None:
        calls.append(ctx.step(lambda: None, misspelt=1))  # type: ignore[call-overload]

    asyncio.get_running_loop().call_soon(burst)
    await ctx.wait_for_signal("go")


async def leave(_ctx: assay.WorkflowContext) -> None:
    sys.exit("enough")


async def leave_in_a_branch(ctx: assay.WorkflowContext) -> None:
    async def leave() -> None:
        sys.exit("enough")

    task = asyncio.create_task(leave())
    await ctx.wait_for_signal("go")
    await task


async def shuffle(ctx: assay.WorkflowContext) -> None:
    async def one(number: int) -> int:
        return await ctx.execute_activity(double, number)

    for each in asyncio.as_completed([one(number) for number in range(9)]):
        await each


async def spin(_ctx: assay.WorkflowContext) -> None:
    while True:
        await asyncio.sleep(0)


async def misspelt(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(double, 1, max_atempts=3)  # type: ignore[call-overload]


async def misspelt_in_parallel(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_parallel([{"name": double, "input": 1, "opts": {"max_atempts": 3}}])


async def misspelt_call(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_parallel([{"name": double, "inptu": 1}])


async def no_attempt(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(double, 1, max_attempts=0)


async def no_name(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity("", 1)


async def no_activity(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(NO_ACTIVITY)


async def no_time(ctx: assay.WorkflowContext) -> None:
    await ctx.sleep(float("nan"))


async def no_text(ctx: assay.WorkflowContext) -> None:
    await ctx.wait_for_signal(NONSENSE)


async def blank_text(ctx: assay.WorkflowContext) -> None:
    await ctx.side_effect(" ", lambda: 1)


async def no_number(ctx: assay.WorkflowContext) -> None:
    await ctx.sleep(NONSENSE)


async def no_count(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(double, 1, max_attempts=NONSENSE)


async def no_count_of_steps(ctx: assay.WorkflowContext) -> None:
    await ctx.step(lambda: 1, max_attempts=NONSENSE)


async def no_list_of_errors(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(double, 1, non_retryable=NONSENSE)


async def no_function(ctx: assay.WorkflowContext) -> None:
    await ctx.step(NONSENSE)


async def no_query(ctx: assay.WorkflowContext) -> None:
    ctx.register_query("name", NONSENSE)


async def no_attributes(ctx: assay.WorkflowContext) -> None:
    ctx.upsert_search_attributes(NONSENSE)


async def no_child(ctx: assay.WorkflowContext) -> None:
    await ctx.start_child_workflow("healthy", "x", 1, NONSENSE)


async def refused_by_the_engine(ctx: assay.WorkflowContext) -> None:
    await ctx.wait_for_signal("x" * 2000)


async def in_a_side_effect(ctx: assay.WorkflowContext) -> None:
    asleep: Callable[[], object] = lambda: ctx.sleep(1)  # noqa: E731 - its type hides what it gives
    await ctx.side_effect("inside", asleep)


NONSENSE: Any = 3.5j
NO_ACTIVITY: Any = 42
FOREIGN: list[asyncio.Future[None]] = []
LOCKS: list[asyncio.Lock] = []
BLOCKING = {
    foreign_future: ("foreign", "ctx.step"),
    foreign_task: ("foreign", "ctx.step"),
    foreign_once_more: ("foreign", "ctx.step"),
    foreign_lock: ("shared with another run", "inside of the workflow"),
    thread: ("out of reach", "ctx.step"),
    connection: ("out of reach", "ctx.step"),
    process: ("out of reach", "ctx.step"),
    branch: ("out of reach", "ctx.step"),
    strange: ("foreign", "ctx.step"),
    callback: ("misspelt", "max_attempts"),
    leave: ("exit",),
    leave_in_a_branch: ("exit",),
    shuffle: ("as_completed", "asyncio.create_task"),
    spin: ("wait",),
    misspelt: ("activity 'double'", "'max_atempts'", "max_attempts"),
    misspelt_in_parallel: ("activity 'double'", "'max_atempts'", "max_attempts"),
    misspelt_call: ("'inptu'", "input"),
    no_attempt: ("max_attempts",),
    no_name: ("name",),
    no_activity: ("42",),
    no_time: ("seconds",),
    no_text: ("name of a signal", "text"),
    blank_text: ("name of a side effect", "blank"),
    no_number: ("seconds", "number"),
    no_count: ("activity 'double'", "max_attempts"),
    no_count_of_steps: ("step", "max_attempts"),
    no_list_of_errors: ("errors",),
    no_function: ("step", "function"),
    no_query: ("query", "function"),
    no_attributes: ("search attributes", "dict"),
    no_child: ("task_queue of a child", "text"),
    in_a_side_effect: ("outside of its code",),
}


@pytest.mark.parametrize("mistake", BLOCKING, ids=lambda mistake: mistake.__name__)
@on_every_shape
async def test_a_mistake_in_code_blocks_its_run_until_it_is_mended(
    world: World, mistake: Any
) -> None:
    FOREIGN[:] = [asyncio.get_running_loop().create_future()]
    LOCKS[:] = [await lock_that_was_waited_for()]
    why = await blocked_by(world, assay.workflow("mended")(mistake))
    for part in BLOCKING[mistake]:
        assert part in why
    assert PLACE.search(why), why


@on_every_shape
async def test_a_run_that_wakes_another_one_is_blocked(world: World) -> None:
    """A copy of it must be alive: nobody else waits for what code here can wake."""
    door = asyncio.Event()

    @assay.workflow
    async def wait(ctx: assay.WorkflowContext) -> None:
        ctx.register_query("is there", lambda: True)
        await asyncio.gather(door.wait(), ctx.wait_for_signal("go"))

    @assay.workflow
    async def wake(_ctx: assay.WorkflowContext) -> None:
        door.set()

    await world.deploy(wait, wake, kept_runs=10)
    waiting = await world.start(wait)
    await world.query(waiting.id, "is there")
    why = await world.blocked((await world.start(wake)).id)
    assert "shared with another run" in why
    assert PLACE.search(why), why
    await waiting.signal("go")
    assert await world.blocked(waiting.id) == why


@on_every_shape
async def test_what_only_the_engine_can_tell_blocks_its_run_too(world: World) -> None:
    why = await blocked_by(world, assay.workflow("mended")(refused_by_the_engine))
    assert "longer than 1000 bytes" in why


@on_every_shape
async def test_a_bad_request_spoils_no_other(world: World) -> None:
    """Though all that is said at the same time goes out in one."""
    nonsense: Any = 7
    await world.deploy(healthy, double)
    workflows = world.client.workflows
    running = await world.start(healthy, 1)
    told = await asyncio.gather(
        world.run(healthy, 2),
        workflows.signal(running.id, nonsense),
        world.run(healthy, 3),
        workflows.signal("nobody", "go"),
        workflows.result("x" * 2000),
        workflows.result("\0"),
        workflows.result(""),
        world.run(healthy, 4),
        return_exceptions=True,
    )
    kinds = [each if isinstance(each, int) else type(each).__name__ for each in told]
    assert kinds[:4] == [4, "BadRequest", 6, "NotFound"]
    assert all(isinstance(each, assay.RequestRefused) for each in told[4:7]), told
    assert told[7] == 8


@on_every_shape
async def test_an_input_of_the_wrong_type_blocks_its_run(world: World) -> None:
    @assay.workflow("mended")
    async def picky(_ctx: assay.WorkflowContext, numbers: dict[str, int]) -> None: ...

    why = await blocked_by(world, picky, {"a": 1, "b": "two"})
    assert "input of workflow 'mended'" in why
    assert "$.b" in why or "$[...]" in why
    assert PLACE.search(why), why


@on_every_shape
async def test_a_value_that_is_not_json_is_refused_where_it_is_given(world: World) -> None:
    @assay.workflow
    async def odd(ctx: assay.WorkflowContext, how: str) -> list[str]:
        given = {"it": object()}
        calls: dict[str, Any] = {
            "activity": lambda: ctx.execute_activity("double", given),
            "child": lambda: ctx.start_child_workflow("healthy", "x", given),
            "new": lambda: ctx.continue_as_new(given),
            "attributes": lambda: ctx.upsert_search_attributes(given),
        }
        with pytest.raises(assay.PayloadError) as caught:
            await calls[how]()
        return [str(caught.value), str(await ctx.execute_activity(double, 1))]

    await world.deploy(odd, double)
    for how in ("activity", "child", "new", "attributes"):
        said, after = await world.run(odd, how)
        assert "cannot encode value at $.it: objects of type object are not JSON" in said
        assert after == "2"
    with pytest.raises(assay.PayloadError, match=r"\$\.it"):
        await world.start(odd, {"it": object()})


@on_every_shape
async def test_a_value_that_was_not_awaited_is_named(world: World) -> None:
    @assay.workflow
    async def hasty(ctx: assay.WorkflowContext) -> Any:
        return ctx.execute_activity(double, 1)

    await world.deploy(hasty, double)
    with pytest.raises(assay.WorkflowFailed, match="forget to await"):
        await world.run(hasty)


@on_every_shape
async def test_a_ctx_belongs_to_its_workflow(world: World) -> None:
    """An activity, a step and another run have none of it, while it runs and afterwards."""
    kept: list[assay.WorkflowContext] = []

    @assay.activity
    async def borrow(_ctx: assay.ActivityContext) -> None:
        await kept[0].sleep(1)

    @assay.workflow
    async def lend(ctx: assay.WorkflowContext) -> list[str]:
        kept.append(ctx)
        told = []
        with pytest.raises(assay.ActivityFailed) as by_activity:
            await ctx.execute_activity(borrow, max_attempts=1)
        told.append(str(by_activity.value))
        with pytest.raises(assay.StepFailed) as by_step:
            await ctx.step(lambda: ctx.now() and ctx.sleep(1), name="borrow", max_attempts=1)
        return [*told, str(by_step.value)]

    @assay.workflow
    async def late(ctx: assay.WorkflowContext) -> str:
        with pytest.raises(assay.ActivityFailed) as caught:
            await ctx.execute_activity(borrow, max_attempts=1)
        return str(caught.value)

    @assay.workflow("mended")
    async def steal(_ctx: assay.WorkflowContext) -> None:
        await kept[0].sleep(1)

    await world.deploy(lend, late, borrow)
    told = [*await world.run(lend), await world.run(late)]
    for said in told:
        assert "used outside of its code" in said
    why = await blocked_by(world, steal)
    assert "used outside of its code" in why
    assert PLACE.search(why)


# What cannot be registered


def test_a_plain_function_is_no_workflow() -> None:
    with pytest.raises(assay.AssayError, match="async def") as caught:

        @assay.workflow
        def plain(_ctx: assay.WorkflowContext) -> None: ...

    assert "'plain'" in str(caught.value)
    assert PLACE.search(str(caught.value))


@pytest.mark.parametrize("mark", [assay.workflow, assay.activity])
def test_a_function_takes_ctx_and_perhaps_an_input(mark: Any) -> None:
    async def none() -> None: ...

    async def three(ctx: Any, one: int, two: int) -> None: ...

    for function in (none, three):
        with pytest.raises(
            assay.AssayError, match=r"must take \(ctx, input\) or \(ctx\)"
        ) as caught:
            mark(function)
        assert f"'{function.__name__}'" in str(caught.value)
        assert PLACE.search(str(caught.value))


@on_every_shape
async def test_a_name_is_given_once(world: World) -> None:
    async def other(_ctx: assay.WorkflowContext) -> None: ...

    async def other_activity(_ctx: assay.ActivityContext) -> None: ...

    await world.deploy(healthy, double)
    for define, name, function in (
        (world.client.define, "healthy", other),
        (world.client.activity, "double", other_activity),
    ):
        with pytest.raises(assay.AssayError, match=f"two .* called '{name}'") as caught:
            define(name, function)
        assert len(PLACE.findall(str(caught.value))) == 2
    world.client.define(healthy)  # the same once more is no mistake
    assert await world.run(healthy, 1) == 2


# Activities that end strangely


async def exits(_ctx: assay.ActivityContext) -> None:
    sys.exit("enough")


def exits_in_a_thread(_ctx: assay.ActivityContext) -> None:
    sys.exit("enough")


async def is_cancelled(_ctx: assay.ActivityContext) -> None:
    raise asyncio.CancelledError("by itself")


async def awaits_a_cancelled_task(_ctx: assay.ActivityContext) -> None:
    task = asyncio.create_task(asyncio.sleep(10))
    task.cancel()
    await task


async def is_speechless(_ctx: assay.ActivityContext) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    raise Speechless


async def beats_with_what_is_not_json(ctx: assay.ActivityContext) -> None:
    await ctx.heartbeat(object())


def beats_with_what_is_not_json_in_a_thread(ctx: assay.ActivityContext) -> None:
    ctx.heartbeat(object())


def stops_iterating(_ctx: assay.ActivityContext) -> None:
    raise StopIteration


STRANGE = {
    exits: "enough",
    exits_in_a_thread: "enough",
    is_cancelled: "by itself",
    awaits_a_cancelled_task: "CancelledError",
    is_speechless: "Speechless",
    beats_with_what_is_not_json: "objects of type object are not JSON",
    beats_with_what_is_not_json_in_a_thread: "objects of type object are not JSON",
    stops_iterating: "StopIteration",
}


@pytest.mark.parametrize("strange", STRANGE, ids=lambda strange: strange.__name__)
@on_every_shape
async def test_an_activity_that_ends_strangely_has_failed(world: World, strange: Any) -> None:
    @assay.workflow
    async def calling(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_activity("strange", max_attempts=1)

    await world.deploy(calling, assay.activity("strange")(strange), healthy, double)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(calling)
    assert (caught.value.error or "").startswith("activity 'strange' failed: ")
    assert STRANGE[strange] in (caught.value.error or "")
    assert await world.run(healthy, 1) == 2


def raise_exit() -> None:
    sys.exit("enough")


async def raise_cancelled() -> None:
    raise asyncio.CancelledError("by itself")


@pytest.mark.parametrize("strange", [raise_exit, raise_cancelled])
@on_every_shape
async def test_a_step_that_ends_strangely_has_failed(world: World, strange: Any) -> None:
    @assay.workflow
    async def calling(ctx: assay.WorkflowContext) -> None:
        await ctx.step(strange, name="strange", max_attempts=1)

    await world.deploy(calling, healthy, double)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(calling)
    assert (caught.value.error or "").startswith("step 'strange' failed: ")
    assert await world.run(healthy, 1) == 2


@on_every_shape
async def test_a_side_effect_and_a_query_that_end_strangely_hurt_nobody(world: World) -> None:
    @assay.workflow
    async def calling(ctx: assay.WorkflowContext) -> str:
        ctx.register_query("strange", raise_exit)
        ctx.register_query("good", lambda: 1)
        with pytest.raises(assay.SideEffectFailed) as caught:
            await ctx.side_effect("strange", raise_exit)
        return str(caught.value)

    await world.deploy(calling, healthy, double)
    run = await world.start(calling)
    assert await world.result(run.id) == "side effect 'strange' failed: enough"
    assert await world.query(run.id, "good") == 1
    assert await world.run(healthy, 1) == 2
