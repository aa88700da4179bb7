"""A worker as a process of its own, to be killed.

    python -m tests.e2e.voyager URL QUEUE [slow] [blocking]

Its workflow takes fifty steps of all kinds. What runs more than once when a worker dies is written
to a journal by whoever runs it; what is recorded once is the business of the history.
"""

import asyncio
import sys
import time
import uuid
from typing import Any

import assay
import assay.blocking

LEGS = 10
STEPS = 5 * LEGS
PATIENT: Any = {
    "max_attempts": 50,
    "initial_interval_secs": 0.02,
    "backoff_coefficient": 1.0,
    "start_to_close_secs": 20.0,
    "heartbeat_timeout_secs": 0.6,
}
LONG_SECS = 30.0


@assay.activity
async def add(ctx: assay.ActivityContext, numbers: list[int]) -> int:
    """A sum, slowly."""
    await asyncio.sleep(0.02)
    return sum(numbers)


@assay.workflow
async def ferry(ctx: assay.WorkflowContext, leg: int) -> int:
    """The child: it works and sleeps."""
    there: int = await ctx.execute_activity(add, [leg, 1], task_queue=queue(), **PATIENT)
    await ctx.sleep(0.02)
    return there


@assay.workflow
async def voyage(ctx: assay.WorkflowContext, legs: int) -> dict[str, Any]:
    """Legs of five steps: an effect, parallel work, a child and a sleep, a step, a signal."""
    logbook: list[str] = []
    total = 0
    ctx.register_query("leg", lambda: len(logbook))
    for leg in range(legs):
        logbook.append(await ctx.side_effect("stamp", lambda: uuid.uuid4().hex))
        sums = await asyncio.gather(
            *(ctx.execute_activity(add, [leg, n], task_queue=queue(), **PATIENT) for n in range(3))
        )
        child = ctx.start_child_workflow(ferry, f"{ctx.workflow_id}/{leg}", leg, queue())
        await asyncio.sleep(0.03)
        logbook.append(await ctx.step(look_out, leg))
        go = await ctx.wait_for_signal("go")
        total += sum(sums) + await child + go
    return {"total": total, "logbook": logbook}


def total_of(legs: int) -> int:
    """What an undisturbed voyage comes to, when the signals bring 0, 1, 2 ..."""
    return sum(3 * leg + 3 + leg + 1 + leg for leg in range(legs))


async def look_out(leg: int) -> str:
    """A step of its own, which takes a moment."""
    await asyncio.sleep(0.02)
    return f"{leg}-{uuid.uuid4().hex}"


@assay.activity
async def linger(ctx: assay.ActivityContext, secs: float) -> str:
    """Work that takes as long as it is told; in a quick worker it takes no time."""
    await asyncio.sleep(secs if is_slow() else 0.0)
    return name()


@assay.activity
def linger_plainly(ctx: assay.ActivityContext, secs: float) -> str:
    """The same in a thread."""
    time.sleep(secs if is_slow() else 0.0)
    return name()


@assay.workflow
async def rest_plainly(ctx: assay.WorkflowContext, secs: float) -> str:
    """An activity that nobody can interrupt."""
    return await ctx.execute_activity(linger_plainly, secs, task_queue=queue())


@assay.workflow
async def dream_plainly(ctx: assay.WorkflowContext, secs: float) -> str:
    """Nor this step."""

    def dream() -> str:
        time.sleep(secs if is_slow() else 0.0)
        return name()

    return await ctx.step(dream)


@assay.workflow
async def rest(ctx: assay.WorkflowContext, secs: float) -> str:
    """An activity that takes long."""
    return await ctx.execute_activity(linger, secs, task_queue=queue())


@assay.workflow
async def dream(ctx: assay.WorkflowContext, secs: float) -> str:
    """A step that takes long."""
    return await ctx.step(_dream, secs)


async def _dream(secs: float) -> str:
    await asyncio.sleep(secs if is_slow() else 0.0)
    return name()


@assay.workflow
async def doze(ctx: assay.WorkflowContext) -> str:
    """Waits for a signal; says which worker went on."""
    await ctx.wait_for_signal("go")
    return await ctx.step(name)


WORKFLOWS = (voyage, ferry, rest, rest_plainly, dream, dream_plainly, doze)
ACTIVITIES = (add, linger, linger_plainly)


def queue() -> str:
    """The queue of this process."""
    return sys.argv[2]


def is_slow() -> bool:
    """Whether this process takes its time."""
    return "slow" in sys.argv[3:]


def name() -> str:
    """Who works here."""
    return "the slow one" if is_slow() else "the quick one"


def register(client: Any) -> None:
    """What it can do."""
    for workflow in WORKFLOWS:
        client.define(workflow)
    for activity in ACTIVITIES:
        client.activity(activity)


async def main() -> None:
    """Serve until somebody ends it."""
    async with await assay.connect(sys.argv[1]) as client:
        register(client)
        await client.listen(queue(), drain_secs=1.0)


def main_blocking() -> None:
    """The same without `await`."""
    with assay.blocking.connect(sys.argv[1]) as client:
        register(client)
        client.listen(queue(), drain_secs=1.0)


if __name__ == "__main__":
    if "blocking" in sys.argv[3:]:
        main_blocking()
    else:
        asyncio.run(main())
