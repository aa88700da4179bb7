"""User code that does not let go of the loop: the log says where it is, and what is right there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import assay
from assay.sdk.worker import heartbeats
from tests.sdk.world import World, on_every_shape


class Remarks(logging.Handler):
    """What the log says of the loop; whoever blocks it waits for that."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said = ""
        self.is_said = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "blocked" in record.getMessage():
            self.said = record.getMessage()
            self.is_said.set()

    def block(self) -> None:
        """Hold the loop until somebody complains."""
        self.is_said.wait(10)


@pytest.fixture
def remarks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(heartbeats, "BLOCKED_SECS", 0.1)
    monkeypatch.setattr(heartbeats, "LOOK_SECS", 0.05)
    handler = Remarks()
    heartbeats.log.addHandler(handler)
    yield handler
    heartbeats.log.removeHandler(handler)


def in_a_workflow(block: Callable[[], None]) -> tuple[Any, Any]:
    @assay.workflow("stuck")
    async def stuck(ctx: assay.WorkflowContext) -> str:
        block()
        return "over"

    return stuck, work


def in_a_side_effect(block: Callable[[], None]) -> tuple[Any, Any]:
    @assay.workflow("stuck")
    async def stuck(ctx: assay.WorkflowContext) -> str:
        await ctx.side_effect("stuck", block)
        return "over"

    return stuck, work


def in_an_activity(block: Callable[[], None]) -> tuple[Any, Any]:
    @assay.activity("work")
    async def stuck(ctx: assay.ActivityContext) -> None:
        block()

    return calling, stuck


def in_a_step(block: Callable[[], None]) -> tuple[Any, Any]:
    async def step() -> None:
        block()

    @assay.workflow("stuck")
    async def stuck(ctx: assay.WorkflowContext) -> str:
        await ctx.step(step)
        return "over"

    return stuck, work


@assay.workflow("stuck")
async def calling(ctx: assay.WorkflowContext) -> str:
    await ctx.execute_activity("work")
    return "over"


@assay.activity
async def work(ctx: assay.ActivityContext) -> None: ...


@pytest.mark.parametrize("where", [in_a_workflow, in_a_side_effect])
@on_every_shape
async def test_workflow_code_that_blocks_is_to_move(
    world: World, remarks: Remarks, where: Callable[..., Any]
) -> None:
    await world.deploy(*where(remarks.block))
    assert await world.run("stuck") == "over"
    assert "into an activity or into ctx.step" in remarks.said
    assert "to_thread" not in remarks.said
    assert __file__ in remarks.said


@pytest.mark.parametrize("where", [in_an_activity, in_a_step])
@on_every_shape
async def test_other_code_that_blocks_is_to_do_so_in_a_thread(
    world: World, remarks: Remarks, where: Callable[..., Any]
) -> None:
    await world.deploy(*where(remarks.block))
    assert await world.run("stuck") == "over"
    assert "asyncio.to_thread" in remarks.said
    assert __file__ in remarks.said
