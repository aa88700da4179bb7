"""A test comes out the same each time, blocking functions and branches included."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

import assay
from assay.testing import Environment, run

HOUR = 3600.0


@assay.activity
def block(ctx: assay.ActivityContext, number: int) -> int:
    time.sleep(random.random() / 500)
    ctx.heartbeat({"at": number})
    return number


@assay.activity
async def turn(ctx: assay.ActivityContext, number: int) -> int:
    for _ in range(number):
        await asyncio.sleep(0)
    return number


@assay.workflow
async def fan(ctx: assay.WorkflowContext, many: int) -> list[int]:
    """What is done next hangs on what comes first."""
    calls = [ctx.execute_activity("block" if n % 3 else "turn", n) for n in range(many)]
    calls.append(ctx.step(time.sleep, 0.001, result=None))
    order: list[int] = []
    for next_one in asyncio.as_completed(calls):
        number = await next_one
        await ctx.sleep((number or 0) + 1)
        order.append(await ctx.execute_activity(block, len(order)))
    return order


def play() -> str:
    async def story(env: Environment) -> str:
        handles = [await env.workflows.start(fan, f"fan-{n}", 5) for n in range(4)]
        await asyncio.gather(*(handle.result() for handle in handles))
        return "".join([(await env.history(handle.id)).to_json() for handle in handles])

    text: str = run(story, workflows=[fan], activities=[block, turn])
    return text


def test_blocking_functions_and_branches_come_out_the_same() -> None:
    assert len({play() for _ in range(5)}) == 1


def test_every_task_may_replay_its_run_from_the_beginning() -> None:
    async def story(env: Environment) -> list[str]:
        handle = await env.workflows.start(fan, "fan", 5)
        await handle.result()
        return (await env.history("fan")).types

    kept: list[str] = run(story, workflows=[fan], activities=[block, turn])
    replayed: list[str] = run(story, workflows=[fan], activities=[block, turn], kept_runs=0)
    assert kept == replayed


def test_code_that_is_not_deterministic_is_found_by_replaying_all_of_it() -> None:
    names = iter(["first", "second", "third", "fourth"])

    @assay.workflow
    async def careless(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_activity(next(names))
        await ctx.sleep(HOUR)

    async def story(env: Environment) -> None:
        env.activity("first", lambda _: None)
        handle = await env.workflows.start(careless, "careless")
        with pytest.raises(assay.WorkflowMisuse, match="as 'first', the code asks for 'second'"):
            await handle.result()

    run(story, workflows=[careless], kept_runs=0)
