"""What happens once and is remembered: side effects, and chance and time that repeat themselves."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
import uuid
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape


@dataclasses.dataclass
class Ticket:
    number: int


@on_every_shape
async def test_a_side_effect_happens_once(world: World) -> None:
    rolled: list[float] = []

    def roll() -> float:
        rolled.append(random.random())
        return rolled[-1]

    @assay.workflow
    async def play(ctx: assay.WorkflowContext) -> list[float]:
        first = await ctx.side_effect("roll", roll)
        await ctx.sleep(0.01)
        second = await ctx.side_effect("roll", roll)
        await ctx.sleep(0.01)
        return [first, second]

    await world.deploy(play)
    id = (await world.start(play)).id
    assert await world.result(id) == rolled
    assert len(rolled) == 2
    recorded = [event for event in await world.history(id) if event.type == "SideEffectRecorded"]
    assert [event.payload["name"] for event in recorded] == ["roll", "roll"]


@on_every_shape
async def test_a_side_effect_of_nothing_is_remembered_too(world: World) -> None:
    calls = 0

    def nothing() -> None:
        nonlocal calls
        calls += 1

    @assay.workflow
    async def idle(ctx: assay.WorkflowContext) -> int:
        for _ in range(3):
            [value] = await asyncio.gather(ctx.side_effect("nothing", nothing))
            assert value is None
            await ctx.sleep(0.005)
        return calls

    await world.deploy(idle)
    assert await world.run(idle) == 3


@on_every_shape
async def test_a_side_effect_gives_the_same_value_live_and_later(world: World) -> None:
    """What was recorded, not what was returned: so a replay sees nothing else."""

    def made() -> Ticket:
        return Ticket(7)

    @assay.workflow
    async def live(ctx: assay.WorkflowContext) -> list[Any]:
        typed = await ctx.side_effect("typed", made)
        plain = await ctx.side_effect("plain", lambda: Ticket(8))
        pair = await ctx.side_effect("pair", lambda: (1, 2))
        assert isinstance(typed, Ticket)
        return [typed.number, plain, pair]

    await world.deploy(live)
    assert await world.run(live) == [7, {"number": 8}, [1, 2]]


@on_every_shape
async def test_side_effects_of_branches_all_count(world: World) -> None:
    @assay.workflow
    async def branch(ctx: assay.WorkflowContext) -> list[int]:
        async def one(number: int) -> int:
            doubled = await ctx.side_effect("double", lambda: number * 2)
            return await ctx.side_effect("again", lambda: doubled * 2)

        return list(await asyncio.gather(*map(one, range(5))))

    await world.deploy(branch)
    assert await world.run(branch) == [0, 4, 8, 12, 16]


@on_every_shape
async def test_a_side_effect_that_raises_is_remembered_as_well(world: World) -> None:
    calls = 0

    def burst() -> int:
        nonlocal calls
        calls += 1
        raise LookupError("pop")

    @assay.workflow
    async def careful(ctx: assay.WorkflowContext) -> list[Any]:
        told: list[Any] = []
        try:
            await ctx.side_effect("burst", burst)
        except assay.SideEffectFailed as caught:
            failure = caught.failure
            assert failure is not None
            told += [caught.name, caught.error, failure.type]
        after = await ctx.side_effect("fine", lambda: 3)
        await ctx.sleep(0.001)
        return [*told, after, calls]

    @assay.workflow
    async def careless(ctx: assay.WorkflowContext) -> None:
        await ctx.side_effect("burst", burst)

    await world.deploy(careful, careless)
    assert await world.run(careful) == ["burst", "pop", "LookupError", 3, 1]
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(careless)
    assert caught.value.error == "side effect 'burst' failed: pop"


@on_every_shape
async def test_a_value_that_is_not_json_is_an_error_with_its_place(world: World) -> None:
    @assay.workflow
    async def odd(ctx: assay.WorkflowContext) -> str:
        with pytest.raises(assay.SideEffectFailed) as caught:
            await ctx.side_effect("odd", lambda: {"it": object()})
        return str(caught.value)

    await world.deploy(odd)
    said = await world.run(odd)
    assert said.startswith("side effect 'odd' failed: ")
    assert "$.it" in said


# Chance and time


@on_every_shape
async def test_chance_is_the_same_in_every_replay_and_another_in_every_run(world: World) -> None:
    seen: dict[str, list[Any]] = {}

    @assay.workflow
    async def play(ctx: assay.WorkflowContext) -> list[Any]:
        luck = [ctx.random(), ctx.random(), str(ctx.uuid4()), ctx.dice.randint(1, 10**9)]
        assert seen.setdefault(ctx.workflow_id, luck) == luck
        await ctx.sleep(0.005)
        luck.append(ctx.random())
        await ctx.sleep(0.005)
        return luck

    await world.deploy(play)
    first, second = await world.run(play), await world.run(play)
    assert all(one != other for one, other in zip(first, second, strict=True))
    assert all(0 <= first[at] < 1 for at in (0, 1, 4))
    assert len({first[0], first[1], first[4]}) == 3
    assert uuid.UUID(first[2]).version == 4


@on_every_shape
async def test_the_time_is_that_of_the_newest_event(world: World) -> None:
    @assay.workflow
    async def watch(ctx: assay.WorkflowContext) -> list[float]:
        loop = asyncio.get_running_loop()
        times = [ctx.now(), ctx.now(), loop.time()]
        await ctx.sleep(0.02)
        return [*times, ctx.now()]

    await world.deploy(watch)
    began = time.time()
    id = (await world.start(watch)).id
    first, again, of_loop, later = await world.result(id)
    assert first == again == of_loop
    assert abs(first - began) < 10
    assert later >= first + 0.02
    history = await world.history(id)
    assert first == history[0].timestamp
    assert later == (await world.event(id, "TimerFired")).timestamp
