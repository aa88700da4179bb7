"""What workflow code calls: checkers know what it gives. Never run; see `test_checkers.py`."""

import asyncio
import random
from functools import partial
from typing import Any, assert_type
from uuid import UUID

import assay
from tests.typing.code import (
    Order,
    Receipt,
    Shelf,
    add,
    buy,
    charge,
    count,
    look,
    read,
    ship,
    tick,
    tock,
    wander,
)


async def activities(ctx: assay.WorkflowContext, order: Order) -> None:
    assert_type(await ctx.execute_activity(charge, order), Receipt)
    assert_type(await ctx.execute_activity(charge, input=order, max_attempts=3), Receipt)
    assert_type(await ctx.execute_activity(ship, order, non_retryable=[ValueError]), str)
    assert_type(await ctx.execute_activity(tick), int)
    assert_type(await ctx.execute_activity(tock, start_to_close_secs=2.5), bool)
    assert_type(await ctx.execute_activity(look), float)
    assert_type(await ctx.execute_activity(look, order), float)
    assert_type(await ctx.execute_activity("elsewhere", order), Any)
    assert_type(await ctx.execute_activity("elsewhere", order, result=Receipt), Receipt)
    assert_type(await ctx.execute_activity("elsewhere", result=list[int], jitter=0.5), list[int])
    assert_type(await ctx.execute_parallel([{"name": charge, "input": order}]), list[Any])


async def branches(ctx: assay.WorkflowContext, order: Order) -> None:
    receipt, parcel = await asyncio.gather(
        ctx.execute_activity(charge, order), ctx.execute_activity(ship, order)
    )
    assert_type(receipt, Receipt)
    assert_type(parcel, str)
    assert_type(await asyncio.gather(*(ctx.execute_activity(tick) for _ in range(3))), list[int])
    assert_type(await asyncio.wait_for(ctx.execute_activity(charge, order), 10), Receipt)


async def steps(ctx: assay.WorkflowContext, order: Order) -> None:
    assert_type(await ctx.step(read, "path"), bytes)
    assert_type(await ctx.step(read, "path", 2, max_attempts=5), bytes)
    assert_type(await ctx.step(add, 1, 2, name="sum"), int)
    assert_type(await ctx.step(partial(add, 1, third=3), 2), int)
    assert_type(await ctx.step(lambda: order.id), int)
    assert_type(await ctx.step(Shelf().find, order), Receipt)
    assert_type(await ctx.step(Shelf(), order), str)
    assert_type(await ctx.side_effect("dice", random.random), float)
    assert_type(await ctx.side_effect("order", lambda: order), Order)


async def tasks(ctx: assay.WorkflowContext, order: Order) -> None:
    async with asyncio.TaskGroup() as group:
        charged = group.create_task(ctx.execute_activity(charge, order))
        child = group.create_task(ctx.start_child_workflow(buy, "child-1", order))
    assert_type(charged.result(), Receipt)
    assert_type(await asyncio.create_task(ctx.sleep(1)), None)
    assert_type(child.result(), Receipt)
    calls = [ctx.execute_activity(charge, each) for each in (order, order)]
    done, _rest = await asyncio.wait(calls, timeout=1)
    assert_type([each.result() for each in done], list[Receipt])


async def shared_options(ctx: assay.WorkflowContext, order: Order) -> None:
    patient: assay.ActivityOptions = {"max_attempts": 9, "non_retryable": [ValueError]}
    assert_type(await ctx.execute_activity(charge, order, **patient), Receipt)
    once: assay.StepOptions = {"max_attempts": 1, "name": "once"}
    assert_type(await ctx.step(read, "path", **once), bytes)


async def waits(ctx: assay.WorkflowContext, secs: float | None) -> None:
    assert_type(await ctx.sleep(1), None)
    assert_type(await ctx.wait_for_signal("go"), Any)
    assert_type(await ctx.wait_for_signal("go", 5), Any)
    assert_type(await ctx.wait_for_signal("go", kind=Order), Order)
    assert_type(await ctx.wait_for_signal("go", 5, kind=Order), Order | None)
    assert_type(await ctx.wait_for_signal("go", timeout=secs, kind=Order), Order | None)


async def children(ctx: assay.WorkflowContext, order: Order) -> None:
    child = ctx.start_child_workflow(buy, "child-1", order)
    assert_type(child.workflow_id, str)
    assert_type(await child, Receipt)
    assert_type(await ctx.start_child_workflow(buy, workflow_id="child-2", input=order), Receipt)
    assert_type(await ctx.start_child_workflow(count, "child-3", task_queue="other"), int)
    assert_type(await ctx.start_child_workflow(wander, "child-4"), list[Order])
    assert_type(await ctx.start_child_workflow("elsewhere", "child-5", order), Any)
    assert_type(await ctx.start_child_workflow("elsewhere", "child-6", result=Receipt), Receipt)
    both = await asyncio.gather(child, ctx.start_child_workflow(count, "child-7"))
    assert_type(both, tuple[Receipt, int])


async def others(ctx: assay.WorkflowContext) -> None:
    ctx.register_query("stage", lambda: "first")
    await ctx.register_query("stage", lambda: "first")
    ctx.upsert_search_attributes({"city": "Ulm"})
    assert_type(ctx.patched("faster"), bool)
    assert_type(ctx.now(), float)
    assert_type(ctx.random(), float)
    assert_type(ctx.uuid4(), UUID)


async def goes_on(ctx: assay.WorkflowContext, left: int) -> int:
    """Nothing has to be returned after an ending: nothing runs there."""
    await ctx.continue_as_new(left - 1)


async def gives_up(ctx: assay.WorkflowContext) -> Receipt:
    await ctx.cancel("enough")
