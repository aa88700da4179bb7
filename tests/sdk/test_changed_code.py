"""Code that does not fit the history of a run: the run says so, and goes on once it fits again."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape

Calls = Callable[[assay.WorkflowContext], Awaitable[object]]
PLACE = re.compile(re.escape(__file__) + r":\d+")


@assay.activity
async def pack(_ctx: assay.ActivityContext) -> str:
    return "packed"


@assay.activity
async def send(_ctx: assay.ActivityContext) -> str:
    return "sent"


@assay.workflow
async def child(_ctx: assay.WorkflowContext) -> str:
    return "child"


@assay.workflow
async def other_child(_ctx: assay.WorkflowContext) -> str:
    return "other child"


CHILD = "{0}/x"


async def packs(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(pack)


async def sends(ctx: assay.WorkflowContext) -> None:
    await ctx.execute_activity(send)


async def sleeps(ctx: assay.WorkflowContext) -> None:
    await ctx.sleep(0.001)


async def notes(ctx: assay.WorkflowContext) -> None:
    await ctx.side_effect("note", lambda: 1)


async def steps(ctx: assay.WorkflowContext) -> None:
    await ctx.step(lambda: 1, name="one")


async def steps_elsewhere(ctx: assay.WorkflowContext) -> None:
    await ctx.step(lambda: 1, name="another")


async def begets(ctx: assay.WorkflowContext) -> None:
    await ctx.start_child_workflow(child, f"{ctx.workflow_id}/x")


async def begets_another(ctx: assay.WorkflowContext) -> None:
    await ctx.start_child_workflow(other_child, f"{ctx.workflow_id}/x")


async def begets_elsewhere(ctx: assay.WorkflowContext) -> None:
    await ctx.start_child_workflow(child, f"{ctx.workflow_id}/y")


def flow(*calls: Calls) -> Callable[..., Any]:
    """A workflow that makes these calls, then waits to be told to go on."""

    @assay.workflow("flow")
    async def made(ctx: assay.WorkflowContext) -> str:
        for call in calls:
            await call(ctx)
        return str(await ctx.wait_for_signal("go"))

    return made


@dataclasses.dataclass
class Change:
    was: tuple[Calls, ...]
    new: tuple[Calls, ...]
    said: tuple[str, ...]

    def __str__(self) -> str:
        was, new = (
            "+".join(call.__name__ for call in calls) or "nothing" for calls in (self.was, self.new)
        )
        return f"{was}-{new}"


CHANGES = [
    Change((packs,), (sends,), ("event 2", "activity 1", "'pack'", "'send'")),
    Change((packs,), (sleeps,), ("event 2", "activity 1 ('pack')", "timer 1")),
    Change((packs,), (notes,), ("event 2", "activity 1 ('pack')", "side effect 1 ('note')")),
    Change((sleeps,), (packs,), ("event 2", "timer 1", "activity 1 ('pack')")),
    Change((notes,), (packs,), ("event 2", "side effect 1 ('note')", "activity 1 ('pack')")),
    Change((steps,), (steps_elsewhere,), ("event 2", "step 1", "'one'", "'another'")),
    Change((steps,), (notes,), ("event 2", "step 1 ('one')", "side effect 1 ('note')")),
    Change((begets,), (begets_another,), ("event 2", "/x", "'child'", "'other_child'")),
    Change((begets,), (begets_elsewhere,), ("event 2", "/x ('child')", "/y ('child')")),
    Change((packs, sends), (sends,), ("event 2", "activity 1", "'pack'", "'send'")),
    Change((packs, sends), (packs,), ("event 4", "activity 2 ('send')")),
    Change((packs,), (), ("event 2", "activity 1 ('pack')")),
    Change((packs,), (sends, packs), ("event 2", "activity 1", "'pack'", "'send'")),
    Change((packs,), (sleeps, packs), ("event 2", "activity 1 ('pack')", "timer 1")),
    Change((sleeps, packs), (packs,), ("event 2", "timer 1", "ends")),
]
LEASE_SECS = 30.0
KNOWN = (pack, send, child, other_child)


@pytest.mark.parametrize("change", CHANGES, ids=str)
@on_every_shape
async def test_a_change_that_does_not_fit_says_what_it_is_and_hurts_nobody(
    world: World, change: Change
) -> None:
    was = flow(*change.was)
    await world.deploy(was, *KNOWN)
    run = await world.start(was)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(flow(*change.new), *KNOWN)
    await world.signal(run.id, "go", "on")
    why = await world.blocked(run.id)
    for part in change.said:
        assert part in why
    assert PLACE.search(why), why
    record = await world.record(run.id)
    assert (record["status"], record["error"]) == ("RUNNING", None)
    [listed] = await world.client.workflows.list(type="flow")
    assert listed["blocked"] == why
    await world.deploy(was, *KNOWN)
    assert await world.result(run.id) == "on"
    assert (await world.record(run.id))["blocked"] is None


@on_every_shape
async def test_code_that_ends_too_early_does_not_end_the_run(world: World) -> None:
    @assay.workflow("flow")
    async def short(_ctx: assay.WorkflowContext) -> str:
        return "too early"

    was = flow(packs)
    await world.deploy(was, *KNOWN)
    run = await world.start(was)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(short, *KNOWN)
    await world.signal(run.id, "go", "on")
    why = await world.blocked(run.id)
    assert "activity 1 ('pack')" in why
    assert "the code ends without it" in why
    await world.deploy(was, *KNOWN)
    assert await world.result(run.id) == "on"


@on_every_shape
async def test_calls_added_at_the_end_fit(world: World) -> None:
    @assay.workflow("flow")
    async def longer(ctx: assay.WorkflowContext) -> str:
        await packs(ctx)
        word = await ctx.wait_for_signal("go")
        return f"{word} and {await ctx.execute_activity(send)}"

    was = flow(packs)
    await world.deploy(was, *KNOWN)
    run = await world.start(was)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(longer, *KNOWN)
    await world.signal(run.id, "go", "on")
    assert await world.result(run.id) == "on and sent"


@on_every_shape
async def test_corrected_code_is_tried_at_once(world: World) -> None:
    """Not when the back-off is over: each worker that comes has the run offered again."""
    was, wrong = flow(packs), flow(sends)
    await world.deploy(was, *KNOWN)
    run = await world.start(was)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(wrong, *KNOWN)
    await world.signal(run.id, "go", "on")
    until = await blocked_until(world, run.id, 0.0)
    for _ in range(3):  # every time the back-off doubles
        await world.deploy(wrong, *KNOWN)
        until = await blocked_until(world, run.id, until)
    await world.deploy(was, *KNOWN)
    assert await world.result(run.id) == "on"
    assert (await world.record(run.id))["completed_at"] < until


async def blocked_until(world: World, id: str, before: float) -> float:
    """The end of the run's back-off, which is later than it was."""

    def end_of(record: Any) -> float:
        reasons = [each for each in record["waiting_for"] if each["kind"] == "blocked"]
        ends = [each["until"] or 0.0 for each in reasons]
        return max((end for end in ends if end < time.time() + LEASE_SECS / 2), default=0.0)

    return end_of(await world.record(id, lambda record: end_of(record) > before))


@on_every_shape
async def test_a_blocked_run_can_be_cancelled_once_its_code_fits(world: World) -> None:
    was = flow(packs)
    await world.deploy(was, *KNOWN)
    run = await world.start(was)
    await world.event(run.id, "WorkflowAwaitingSignal")
    await world.deploy(flow(sends), *KNOWN)
    await world.signal(run.id, "go", "on")
    await world.blocked(run.id)
    await world.client.workflows.cancel(run.id, "enough")
    await world.deploy(was, *KNOWN)
    assert await world.result(run.id) == "on"  # the signal came first
