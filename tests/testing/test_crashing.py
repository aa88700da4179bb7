"""Crashes at every commit: what survives them, and what is found not to."""

from __future__ import annotations

from typing import Any

import pytest

import assay
from assay.testing import Environment, NotSurvived, survive

DAY = 86_400.0


@assay.activity
async def add(ctx: assay.ActivityContext, number: int) -> int:
    return number + 1


@assay.workflow
async def child(ctx: assay.WorkflowContext, number: int) -> int:
    await ctx.sleep(DAY)
    return await ctx.execute_activity(add, number)


@assay.workflow
async def parent(ctx: assay.WorkflowContext) -> list[Any]:
    first = await ctx.execute_activity(add, 1)
    second = await ctx.start_child_workflow(child, "the-child", first)
    third = await ctx.step(lambda: second + 1)
    said = await ctx.wait_for_signal("go", timeout=30 * DAY)
    return [first, second, third, said]


async def story(env: Environment) -> list[Any]:
    handle = await env.workflows.start(parent, "parent", if_exists="use")
    await env.sleep(2 * DAY)
    await handle.signal("go", "on", request_id="once")
    return list(await handle.result())


def test_workflows_survive_crashes_at_every_commit() -> None:
    assert survive(story, workflows=[parent, child], activities=[add]) == [2, 3, 4, "on"]


def test_what_does_not_survive_is_found_with_its_place() -> None:
    done: list[int] = []

    @assay.workflow
    async def fragile(ctx: assay.WorkflowContext) -> int:
        done.append(1)  # what a workflow remembers outside of its history is lost, or doubled
        await ctx.sleep(DAY)
        return len(done)

    async def careless(env: Environment) -> int:
        handle = await env.workflows.start(fragile, "fragile", if_exists="use")
        return int(await handle.result())

    with pytest.raises(NotSurvived, match=r"a crash (before|after) commit \d+ \([A-Za-z, ]+\): 2"):
        survive(careless, workflows=[fragile])


def test_what_fails_undisturbed_fails_as_it_is() -> None:
    async def broken(env: Environment) -> None:
        raise LookupError("broken anyway")

    with pytest.raises(LookupError, match="broken anyway"):
        survive(broken)
