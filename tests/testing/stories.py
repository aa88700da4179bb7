"""Representative workflows, and how each is played to be recorded in tests/histories.

`python -m tests.testing.stories` records anew; do so only for stories that are new: what is there
stands for the runs that are in flight when users upgrade.
"""

from __future__ import annotations

import asyncio
import contextlib
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import assay
from assay.testing import Environment, environment

ROOT = Path(__file__).parents[2]
HISTORIES = ROOT / "tests" / "histories"
HOUR, DAY = 3600.0, 86_400.0
Story = Callable[[Environment], Awaitable[str]]


@assay.activity
async def greet(ctx: assay.ActivityContext, name: str) -> str:
    return f"Hello, {name}!"


@assay.activity
async def book(ctx: assay.ActivityContext, what: str) -> str:
    if what == "car":
        raise assay.ApplicationError("no car is left", retryable=False)
    return f"{what}-{ctx.activity_id}"


@assay.activity
async def unbook(ctx: assay.ActivityContext, what: str) -> None:
    return None


@assay.workflow
async def hello(ctx: assay.WorkflowContext, name: str) -> str:
    ctx.upsert_search_attributes({"name": name})
    greeting = await ctx.execute_activity(greet, name)
    mark = await ctx.side_effect("mark", lambda: 42)
    await ctx.sleep(DAY)
    shout = await ctx.step(str.upper, greeting)
    return f"{shout} {mark}"


@assay.workflow
async def trip(ctx: assay.WorkflowContext, wanted: list[str]) -> dict[str, Any]:
    """A saga: what was booked is given back when the rest cannot be had."""
    booked: list[str] = []
    try:
        for what in wanted:
            await ctx.execute_activity(book, what)
            booked.append(what)
    except assay.ActivityFailed as failed:
        for what in reversed(booked):
            await ctx.execute_activity(unbook, what)
        return {"booked": [], "because": failed.error}
    return {"booked": booked, "because": None}


@assay.workflow
async def approval(ctx: assay.WorkflowContext) -> str:
    decision: str | None = None
    ctx.register_query("decision", lambda: decision)
    decision = await ctx.wait_for_signal("approve", timeout=3 * DAY)
    return "expired" if decision is None else decision


@assay.workflow
async def pages(ctx: assay.WorkflowContext, page: int) -> int:
    await ctx.sleep(HOUR)
    if page < 3:
        await ctx.continue_as_new(page + 1)
    return page


@assay.workflow
async def child(ctx: assay.WorkflowContext, number: int) -> int:
    await ctx.sleep(number * HOUR)
    if number == 3:
        raise ValueError("three is too many")
    return number * number


@assay.workflow
async def parent(ctx: assay.WorkflowContext, numbers: list[int]) -> list[int | str]:
    children = [
        ctx.start_child_workflow(child, f"{ctx.workflow_id}-{number}", number) for number in numbers
    ]
    results = await asyncio.gather(*children, return_exceptions=True)
    return [str(each) if isinstance(each, BaseException) else each for each in results]


@assay.workflow
async def cleanup(ctx: assay.WorkflowContext) -> None:
    try:
        async with asyncio.timeout(30 * DAY):
            await ctx.wait_for_signal("never")
    except asyncio.CancelledError:
        await ctx.execute_activity(unbook, "everything")
        raise


TRIES: list[str] = []


def flaky() -> str:
    """Succeeds at its third attempt."""
    TRIES.append("once more")
    if len(TRIES) % 3:
        raise ConnectionError("away")
    return "there"


@assay.workflow
async def race(ctx: assay.WorkflowContext) -> list[str]:
    """Branches, time-outs that are not needed, attempts at steps, and a patch."""

    async def branch(name: str, secs: float) -> str:
        async with asyncio.timeout(secs + HOUR):
            await asyncio.sleep(secs)
        return name

    async with asyncio.TaskGroup() as group:
        slow = group.create_task(branch("slow", 2 * HOUR))
        quick = group.create_task(branch("quick", 60.0))
        step = group.create_task(_awaited(ctx.step(flaky, initial_interval_secs=HOUR)))
    new = "new" if ctx.patched("renamed") else "old"
    return [slow.result(), quick.result(), step.result(), new]


async def _awaited(future: asyncio.Future[str]) -> str:
    return await future


@assay.activity
async def deliver(ctx: assay.ActivityContext, day: int) -> str:
    if day == 2:
        raise assay.ApplicationError("nobody is at home", retryable=False)
    return f"day {day}"


@assay.workflow
async def deliveries(ctx: assay.WorkflowContext) -> list[str]:
    done: list[str] = []
    for day in (1, 2, 3):
        done.append(await ctx.execute_activity("deliver", day))
        await ctx.sleep(DAY)
    return done


WORKFLOWS = (hello, trip, approval, pages, child, parent, cleanup, race, deliveries)
ACTIVITIES = (greet, book, unbook, deliver)


async def _hello(env: Environment) -> str:
    handle = await env.workflows.start(hello, "hello", "Ada")
    await handle.result()
    return handle.id


async def _saga(env: Environment) -> str:
    handle = await env.workflows.start(trip, "saga", ["flight", "hotel", "car"])
    await handle.result()
    return handle.id


async def _approval_expired(env: Environment) -> str:
    handle = await env.workflows.start(approval, "approval-expired")
    await handle.result()
    return handle.id


async def _approval_given(env: Environment) -> str:
    handle = await env.workflows.start(approval, "approval-given")
    env.after(2 * DAY, lambda: handle.signal("approve", "by Grace"))
    await handle.result()
    return handle.id


async def _continued(env: Environment) -> str:
    handle = await env.workflows.start(pages, "continued", 1)
    await handle.result()
    return handle.id


async def _family(env: Environment) -> str:
    handle = await env.workflows.start(parent, "family", [2, 1, 3])
    await handle.result()
    return handle.id


async def _cancelled(env: Environment) -> str:
    handle = await env.workflows.start(cleanup, "cancelled")
    await env.sleep(DAY)
    await handle.cancel("changed my mind")
    await env.settle()
    return handle.id


async def _raced(env: Environment) -> str:
    TRIES.clear()
    handle = await env.workflows.start(race, "raced")
    await handle.result()
    return handle.id


async def _healed(env: Environment) -> str:
    """An operator lets a failed run go on: some of its events count no longer."""
    handle = await env.workflows.start(deliveries, "healed")
    with contextlib.suppress(assay.WorkflowFailed):
        await handle.result()
    env.activity(deliver, lambda _, day: f"day {day}")
    await env.workflows.retry_failed_activity("healed", "an operator", "they are at home now")
    await handle.result()
    return handle.id


STORIES: dict[str, Story] = {
    "hello": _hello,
    "saga": _saga,
    "approval-expired": _approval_expired,
    "approval-given": _approval_given,
    "continued": _continued,
    "family": _family,
    "cancelled": _cancelled,
    "raced": _raced,
    "healed": _healed,
}


async def play(story: Story) -> assay.testing.History:
    """A story's history, on an engine of its own."""
    async with environment(workflows=WORKFLOWS, activities=ACTIVITIES) as env:
        return await env.history(await story(env))


def record() -> None:
    """Record the stories that are not there yet."""
    HISTORIES.mkdir(exist_ok=True)
    for name, story in STORIES.items():
        path = HISTORIES / f"{name}.json"
        if not path.exists():
            text = asyncio.run(play(story)).to_json()
            for place in (str(ROOT), sysconfig.get_path("stdlib")):
                text = text.replace(f"{place}/", "")  # tracebacks name files of this machine
            path.write_text(text)
            print(f"recorded {path}")


if __name__ == "__main__":
    record()
