"""What checkers must refuse. Never run; see `test_checkers.py`.

An `ignore` that nothing needs is an error itself, so every line here is one that is refused.
"""

import assay
from assay import blocking
from tests.typing.code import Order, add, buy, charge, count, ship, tick


async def activities(ctx: assay.WorkflowContext, order: Order) -> None:
    await ctx.execute_activity(charge, "seven")  # type: ignore[arg-type] # a text is no Order
    await ctx.execute_activity(ship, {"id": 7})  # type: ignore[arg-type] # nor is a dict
    await ctx.execute_activity(charge)  # type: ignore[arg-type] # it takes an input
    await ctx.execute_activity(tick, order)  # type: ignore[arg-type] # it takes none
    await ctx.execute_activity(charge, order, max_tries=3)  # type: ignore[call-overload] # misspelt
    await ctx.execute_activity(charge, order, jitter="much")  # type: ignore[call-overload] # a number
    text: str = await ctx.execute_activity(tick)  # type: ignore[arg-type] # it is a number
    assert text


async def steps(ctx: assay.WorkflowContext) -> None:
    await ctx.step(add, 1, "two")  # type: ignore[arg-type, call-arg] # a text is no number
    await ctx.step(add, 1)  # type: ignore[arg-type] # one is missing
    await ctx.step(add, 1, 2, 3)  # type: ignore[arg-type, call-arg] # one is too many
    await ctx.step(add, 1, 2, heartbeat_timeout_secs=1)  # type: ignore[call-overload] # it has none


async def waits(ctx: assay.WorkflowContext) -> None:
    order: Order = await ctx.wait_for_signal("go", 5, kind=Order)  # type: ignore[assignment] # or None
    await ctx.sleep("1")  # type: ignore[arg-type] # seconds are a number
    assert order.id


async def children(ctx: assay.WorkflowContext, order: Order) -> None:
    await ctx.start_child_workflow(buy, "child-1", 7)  # type: ignore[arg-type] # a number is no Order
    await ctx.start_child_workflow(buy, "child-1")  # type: ignore[arg-type] # it takes an input
    await ctx.start_child_workflow(count, input=order)  # type: ignore[call-overload] # it has no id


async def clients(client: assay.Client, order: Order) -> None:
    await client.workflows.start(buy, "order-1", "seven")  # type: ignore[arg-type] # a text is no Order
    await client.workflows.start(buy, input={"id": 1})  # type: ignore[arg-type] # nor is a dict
    await client.workflows.start(buy, "order-1")  # type: ignore[arg-type] # it takes an input
    await client.workflows.start(count, "count-1", order)  # type: ignore[arg-type] # it takes none
    await client.workflows.start(buy, "order-1", order, if_exists="never")  # type: ignore[call-overload] # not so
    run = await client.workflows.start(buy, "order-1", order)
    number: int = await run.result()  # type: ignore[assignment] # it is a Receipt
    assert number


def without_await(client: blocking.Client, order: Order) -> None:
    client.workflows.start(buy, "order-1", "seven")  # type: ignore[arg-type] # a text is no Order
    text: str = client.workflows.start(buy, "order-1", order).result()  # type: ignore[assignment] # a Receipt
    assert text
