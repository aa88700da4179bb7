"""What a client is asked: checkers know what it gives. Never run; see `test_checkers.py`."""

from typing import Any, assert_type

import assay
from assay import blocking
from tests.typing.code import Order, Receipt, buy, count, wander


async def starts(client: assay.Client, order: Order) -> None:
    run = await client.workflows.start(buy, "order-1", order)
    assert_type(run, assay.WorkflowHandle[Receipt])
    assert_type(await run.result(), Receipt)
    named = await client.workflows.start(buy, workflow_id="order-1", input=order, if_exists="use")
    assert_type(await named.result(timeout=5), Receipt)
    unnamed = await client.workflows.start(buy, input=order, start_delay_secs=60)
    assert_type(await unnamed.result(), Receipt)
    assert_type(await (await client.workflows.start(count)).result(), int)
    assert_type(await (await client.workflows.start(count, "count-1")).result(), int)
    assert_type(await (await client.workflows.start(wander)).result(), list[Order])
    assert_type(await (await client.workflows.start(wander, "w-1", order)).result(), list[Order])
    assert_type(await (await client.workflows.start("buy", "order-2", {"id": 2})).result(), Any)


async def results(client: assay.Client) -> None:
    assert_type(await client.workflows.result("order-1"), Any)
    assert_type(await client.workflows.result("order-1", kind=Receipt), Receipt)
    assert_type(await client.workflows.result("order-1", 5, kind=list[Order]), list[Order])
    assert_type(client.workflows.handle("order-1"), assay.WorkflowHandle[Any])
    assert_type(await client.workflows.handle("order-1", kind=Receipt).result(), Receipt)
    assert_type(await client.workflows.get_handle("order-1", kind=int).result(), int)


async def embedded(order: Order) -> None:
    async with assay.open("orders.db", workflows=[buy]) as app:
        assert_type(app, assay.App)
        assert_type(await (await app.workflows.start(buy, "order-1", order)).result(), Receipt)


def without_await(order: Order) -> None:
    with blocking.connect("http://localhost:8080") as client:
        assert_type(client.workflows.start(buy, "order-1", order).result(), Receipt)
        assert_type(client.workflows.start(count).result(), int)
        assert_type(client.workflows.result("order-1", kind=Receipt), Receipt)
        assert_type(client.workflows.handle("order-1", kind=Receipt).result(), Receipt)
    with blocking.open("orders.db", workflows=[buy]) as app:
        assert_type(app.workflows.start(buy, input=order).result(), Receipt)


def registered(client: assay.Client) -> None:
    @client.activity("tell")
    async def tell(ctx: assay.ActivityContext, order: Order) -> str:
        return str(order.id + ctx.attempt)

    @client.define
    async def story(ctx: assay.WorkflowContext, order: Order) -> str:
        return assert_type(await ctx.execute_activity(tell, order), str)

    client.define("story again", story)
