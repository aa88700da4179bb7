"""What the SDK benchmarks run: workflows with empty steps, inline and dispatched."""

import asyncio

import assay
from assay import ActivityContext, WorkflowContext


@assay.activity
async def bump(_: ActivityContext, value: int) -> int:
    return value + 1


async def add(value: int) -> int:
    return value + 1


@assay.workflow
async def inline_steps(ctx: WorkflowContext, count: int) -> int:
    value = 0
    for _ in range(count):
        value = await ctx.step(add, value)
    return value


@assay.workflow
async def dispatched_steps(ctx: WorkflowContext, count: int) -> int:
    value = 0
    for _ in range(count):
        value = await ctx.execute_activity(bump, value)
    return value


@assay.workflow
async def parallel_inline(ctx: WorkflowContext, count: int) -> int:
    return sum(await asyncio.gather(*(ctx.step(add, number) for number in range(count))))


@assay.workflow
async def parallel_dispatched(ctx: WorkflowContext, count: int) -> int:
    calls = (ctx.execute_activity(bump, number) for number in range(count))
    return sum(await asyncio.gather(*calls))


@assay.workflow
async def parked(ctx: WorkflowContext, count: int) -> int:
    await ctx.wait_for_signal("go")
    return count


@assay.workflow
async def parked_after_work(ctx: WorkflowContext, count: int) -> int:
    value = await ctx.execute_activity(bump, count)
    await ctx.wait_for_signal("go")
    return value


WORKFLOWS = (inline_steps, dispatched_steps, parallel_inline, parallel_dispatched, parked)
ACTIVITIES = (bump,)
