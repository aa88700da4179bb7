"""What can go wrong when an engine is opened, a worker registered, a question asked."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.sdk.faults import DefinitionFault
from tests.sdk.world import World, on_every_shape

SECS = 20.0


@assay.activity
async def greet(_: assay.ActivityContext, name: str) -> str:
    return f"Hello, {name}!"


@assay.workflow
async def hello(ctx: assay.WorkflowContext, name: str) -> str:
    return await ctx.execute_activity(greet, name)


@assay.workflow
async def lonely(ctx: assay.WorkflowContext) -> Any:
    return await ctx.execute_activity("nope", max_attempts=1)


def story(told: Any) -> Any:
    def test(tmp_path: Path, **given: Any) -> None:
        asyncio.run(asyncio.wait_for(told(tmp_path, **given), SECS))

    test.__name__ = told.__name__
    return test


@on_every_shape
async def test_a_worker_without_activities_says_that_it_has_none(world: World) -> None:
    await world.deploy(lonely)
    with pytest.raises(assay.WorkflowFailed, match="No handler registered for activity: nope"):
        await world.run(lonely)


@on_every_shape
async def test_asking_whether_a_run_has_ended_takes_no_time(world: World) -> None:
    await world.deploy(hello, greet)
    run = await world.start(hello, "you")
    assert await run.result() == "Hello, you!"
    assert await world.client.workflows.result(run.id, timeout=0) == "Hello, you!"


@on_every_shape
async def test_a_conflict_is_one_wherever_the_engine_is(world: World) -> None:
    await world.deploy(hello, greet)
    schedules, name = world.client.schedules, world.fresh("plan")
    made = await schedules.create(name, hello, "0 0 1 1 *", "UTC", "you", "work", "queue")
    assert made["overlap_policy"] == "queue"
    for kind in (assay.Conflict, assay.errors.Conflict, assay.RequestRefused):
        with pytest.raises(kind):
            await schedules.create(name, hello, "0 0 1 1 *")
    with pytest.raises(assay.errors.NotFound):
        await schedules.pause("no such plan")


@story
async def test_what_is_defined_after_the_first_call_runs_too(directory: Path) -> None:
    async with assay.open(directory / "late.db") as app:
        assert await app.workflows.list() == []
        app.define(hello)
        app.activity(greet)
        run = await app.workflows.start(hello, input="late")
        assert await run.result() == "Hello, late!"


@story
async def test_a_workflow_among_activities_is_in_the_wrong_place(directory: Path) -> None:
    with pytest.raises(DefinitionFault, match=r"'hello' is marked as a workflow"):
        async with assay.open(directory / "x.db", activities=[hello]):
            pass
    with pytest.raises(DefinitionFault, match=r"'greet' is marked as an activity"):
        async with assay.open(directory / "x.db", workflows=[greet]):
            pass


def test_an_unknown_workflow_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def told() -> None:
        async with assay.open(tmp_path / "x.db", workflows=[hello], activities=[greet]) as app:
            run = await app.workflows.start("helo")
            async with asyncio.timeout(SECS):
                blocked = None
                while blocked is None:  # without a pause: the engine has its turns all the same
                    described = await run.describe()
                    assert described is not None
                    blocked = described["blocked"]
            assert "this program has hello" in blocked

    with caplog.at_level(logging.WARNING, "assay.sdk"):
        asyncio.run(told())
    assert "no workflow handler registered for type: helo" in caplog.text
