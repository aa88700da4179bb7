"""Timers and signals: what a workflow waits for."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from typing import Any

import pytest

import assay
from assay.testing import Replayer
from tests.sdk.world import World, on_every_shape

NEVER_SECS = 10_000.0


@dataclasses.dataclass
class Address:
    street: str
    number: int


@on_every_shape
async def test_a_sleep_takes_its_time_and_no_less(world: World) -> None:
    @assay.workflow
    async def nap(ctx: assay.WorkflowContext) -> float:
        before = ctx.now()
        assert await ctx.sleep(0.05) is None  # type: ignore[func-returns-value] # that is the point
        return ctx.now() - before

    await world.deploy(nap)
    id = (await world.start(nap)).id
    assert await world.result(id) >= 0.05
    assert (await world.event(id, "TimerScheduled")).payload["duration_secs"] == 0.05


@on_every_shape
async def test_what_is_asked_in_one_turn_goes_out_in_the_order_of_the_calls(world: World) -> None:
    """A history in which waits came last, as they once did, is replayed all the same."""

    @assay.workflow
    async def ask(ctx: assay.WorkflowContext) -> list[Any]:
        first = ctx.wait_for_signal("a")
        calls = [
            ctx.execute_activity("elsewhere", task_queue="nobody's"),
            ctx.wait_for_signal("b", NEVER_SECS),
            ctx.sleep(NEVER_SECS),
            ctx.wait_for_signal("c"),
            ctx.wait_for_signal("d", NEVER_SECS),
        ]
        return [await first, *await asyncio.gather(calls[1], calls[3], calls[4])]

    await world.deploy(ask)
    run = await world.start(ask)
    await world.event(run.id, "WorkflowAwaitingSignal", 4)
    asked = [
        event.payload.get("signal") or event.payload.get("timer_seq") or event.payload["name"]
        for event in (await world.history(run.id))[1:]
    ]
    assert asked == ["a", "elsewhere", 1, "b", 2, "c", 3, "d"]
    events = await world.client.workflows.get_events(run.id)
    awaited = [each for each in events if each["event_type"] == "WorkflowAwaitingSignal"]
    waits_last = [each for each in events if each not in awaited] + awaited
    renumbered = [{**each, "seq": seq} for seq, each in enumerate(waits_last, start=1)]
    assert Replayer([ask]).replay(renumbered).ending is None
    for name in "dbca":
        await run.signal(name, name)
    assert await world.result(run.id) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("secs", [0, -1, 0.0])
@on_every_shape
async def test_a_sleep_of_nothing_is_over_at_once(world: World, secs: float) -> None:
    @assay.workflow
    async def nap(ctx: assay.WorkflowContext) -> str:
        await ctx.sleep(secs)
        return "awake"

    await world.deploy(nap)
    assert await world.run(nap) == "awake"


@on_every_shape
async def test_a_sleep_may_have_no_end(world: World) -> None:
    @assay.workflow
    async def nap(ctx: assay.WorkflowContext) -> str:
        calls = [ctx.sleep(math.inf), asyncio.sleep(math.inf), ctx.wait_for_signal("go", math.inf)]
        done, _ = await asyncio.wait(
            [asyncio.ensure_future(call) for call in calls], return_when=asyncio.FIRST_COMPLETED
        )
        return str([task.result() for task in done])

    await world.deploy(nap)
    run = await world.start(nap)
    await world.event(run.id, "TimerScheduled", 3)
    await run.signal("go", "up")
    assert await world.result(run.id) == "['up']"


@on_every_shape
async def test_sleeps_begin_when_they_are_called(world: World) -> None:
    @assay.workflow
    async def naps(ctx: assay.WorkflowContext) -> list[str]:
        done: list[str] = []

        async def nap(secs: float, name: str) -> None:
            await ctx.sleep(secs)
            done.append(name)

        await asyncio.gather(nap(0.12, "long"), nap(0.02, "short"), nap(0.07, "middle"))
        return done

    await world.deploy(naps)
    assert await world.run(naps) == ["short", "middle", "long"]


@on_every_shape
async def test_each_wait_takes_one_signal_in_the_order_of_their_arrival(world: World) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> list[Any]:
        heard = [await ctx.wait_for_signal("go") for _ in range(3)]
        return [*heard, await ctx.wait_for_signal("other")]

    await world.deploy(listen)
    run = await world.start(listen)
    await run.signal("other", "later")
    await run.signal("go", {"n": 1})
    await run.signal("go")
    await run.signal("go", [3])
    assert await world.result(run.id) == [{"n": 1}, None, [3], "later"]


@on_every_shape
async def test_signals_that_come_before_anybody_waits_are_kept(world: World) -> None:
    @assay.workflow
    async def late(ctx: assay.WorkflowContext) -> list[Any]:
        await ctx.sleep(0.05)
        return [await ctx.wait_for_signal("go"), await ctx.wait_for_signal("go", timeout=5)]

    await world.deploy(late)
    run = await world.start(late)
    await run.signal("go", 1)
    await run.signal("go", 2)
    assert await world.result(run.id) == [1, 2]


@on_every_shape
async def test_a_signal_is_read_as_what_is_asked_for(world: World) -> None:
    @assay.workflow
    async def post(ctx: assay.WorkflowContext) -> list[Any]:
        address = await ctx.wait_for_signal("address", kind=Address)
        assert isinstance(address, Address)
        with pytest.raises(assay.PayloadError) as caught:
            await ctx.wait_for_signal("address", 60, kind=Address)
        return [address.street, str(caught.value)]

    await world.deploy(post)
    run = await world.start(post)
    await run.signal("address", Address("Gasse", 1))
    await run.signal("address", {"street": "Gasse", "number": "one"})
    street, said = await world.result(run.id)
    assert street == "Gasse"
    assert "signal 'address'" in said
    assert "$.number" in said


@on_every_shape
async def test_a_timed_wait_is_won_by_the_signal(world: World) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> Any:
        return await ctx.wait_for_signal("go", timeout=NEVER_SECS)

    await world.deploy(listen)
    run = await world.start(listen)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await run.signal("go", "now")
    assert await world.result(run.id) == "now"
    assert await world.kinds(run.id) == [
        "WorkflowStarted",
        "TimerScheduled",
        "WorkflowAwaitingSignal",
        "SignalReceived",
        "WorkflowCompleted",
    ]


@on_every_shape
async def test_a_timed_wait_is_won_by_the_timer(world: World) -> None:
    """And the signal that comes later is there for the next wait."""

    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> list[Any]:
        heard = [await ctx.wait_for_signal("go", 0.02)]
        return [*heard, await ctx.wait_for_signal("go", 30), await ctx.wait_for_signal("go", 0.02)]

    await world.deploy(listen)
    run = await world.start(listen)
    await world.event(run.id, "TimerFired")
    await run.signal("go", "late")
    assert await world.result(run.id) == [None, "late", None]


@on_every_shape
async def test_surplus_signals_are_there_for_later_waits(world: World) -> None:
    """A wait that timed out takes none of them, whichever way they are waited for."""

    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> list[Any]:
        await ctx.wait_for_signal("ready")
        heard: list[Any] = []
        while (word := await ctx.wait_for_signal("word", 0.03)) is not None:
            heard.append(word)
        await ctx.wait_for_signal("more")
        return [*heard, await ctx.wait_for_signal("word")]

    await world.deploy(listen)
    run = await world.start(listen)
    for word in ("a", "b", "c"):
        await run.signal("word", word)
    await run.signal("ready")
    await world.event(run.id, "TimerFired")
    await run.signal("word", "d")
    await run.signal("more")
    assert await world.result(run.id) == ["a", "b", "c", "d"]


@on_every_shape
async def test_a_signal_whose_payload_is_null_is_a_signal(world: World) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> list[Any]:
        first = await ctx.wait_for_signal("go", NEVER_SECS)
        return [first, await ctx.wait_for_signal("go", NEVER_SECS)]

    await world.deploy(listen)
    run = await world.start(listen)
    await run.signal("go")
    await run.signal("go", "second")
    assert await world.result(run.id) == [None, "second"]


@on_every_shape
async def test_branches_wait_for_signals_of_their_own_and_of_one_name(world: World) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> list[Any]:
        waits = [ctx.wait_for_signal("a"), ctx.wait_for_signal("b"), ctx.wait_for_signal("a")]
        return list(await asyncio.gather(*waits))

    await world.deploy(listen)
    run = await world.start(listen)
    await world.event(run.id, "WorkflowAwaitingSignal")
    for name, payload in (("b", 1), ("a", 2), ("a", 3)):
        await run.signal(name, payload)
    assert await world.result(run.id) == [2, 1, 3]


@on_every_shape
async def test_a_given_up_wait_takes_no_signal(world: World) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> list[Any]:
        try:
            async with asyncio.timeout(0.03):
                await ctx.wait_for_signal("go")
        except TimeoutError:
            pass
        await ctx.wait_for_signal("ready")
        return [await ctx.wait_for_signal("go")]

    await world.deploy(listen)
    run = await world.start(listen)
    await world.event(run.id, "TimerFired")
    await run.signal("go", "mine")
    await run.signal("ready")
    assert await world.result(run.id) == ["mine"]


@on_every_shape
async def test_a_hundred_signals_are_all_heard_in_order(world: World) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext, count: int) -> list[Any]:
        return [await ctx.wait_for_signal("go") for _ in range(count)]

    await world.deploy(listen)
    run = await world.start(listen, 100)
    for number in range(100):
        await run.signal("go", number)
    assert await world.result(run.id) == list(range(100))


@pytest.mark.parametrize("timeout", [0, -1.0])
@on_every_shape
async def test_a_wait_with_no_time_at_all_is_a_mistake(world: World, timeout: float) -> None:
    @assay.workflow
    async def listen(ctx: assay.WorkflowContext) -> Any:
        return await ctx.wait_for_signal("go", timeout)

    await world.deploy(listen)
    why = await world.blocked((await world.start(listen)).id)
    assert "timeout must be above 0" in why
    assert f"{__file__}:" in why
