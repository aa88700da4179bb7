"""An order: work in parallel, children, retries with options, and what was done undone on failure.

python examples/order_saga.py
"""

import asyncio
from dataclasses import dataclass, field

import assay


@dataclass
class Order:
    customer: str
    items: list[str]
    amount: float


@dataclass
class Outcome:
    status: str
    parcels: list[str] = field(default_factory=list[str])
    why: str | None = None


class CardDeclined(Exception):
    """Trying again is of no use."""


@assay.activity
async def reserve(ctx: assay.ActivityContext, item: str) -> str:
    return f"shelf-{item}"


@assay.activity
async def release(ctx: assay.ActivityContext, shelf: str) -> None:
    print(f"{shelf} is free again")


@assay.activity
def charge(ctx: assay.ActivityContext, order: Order) -> None:
    if order.amount > 1000:
        raise CardDeclined(f"{order.amount:.2f} EUR are too much")
    if ctx.attempt == 1:
        raise ConnectionError("the bank did not answer")
    print(f"{order.customer} pays {order.amount:.2f} EUR at attempt {ctx.attempt}")


@assay.workflow
async def deliver(ctx: assay.WorkflowContext, shelf: str) -> str:
    await ctx.sleep(0.2)  # the van
    return f"parcel from {shelf}"


@assay.workflow
async def fulfil(ctx: assay.WorkflowContext, order: Order) -> Outcome:
    ctx.upsert_search_attributes({"customer": order.customer, "stage": "paying"})
    shelves = await asyncio.gather(*(ctx.execute_activity(reserve, item) for item in order.items))
    try:
        await ctx.execute_activity(
            charge, order, max_attempts=5, initial_interval_secs=0.1, non_retryable=[CardDeclined]
        )
    except assay.ActivityFailed as failure:
        await asyncio.gather(*(ctx.execute_activity(release, shelf) for shelf in shelves))
        return Outcome("undone", why=failure.error)
    ctx.upsert_search_attributes({"stage": "delivering"})
    vans = [ctx.start_child_workflow(deliver, f"{ctx.workflow_id}-{s}", s) for s in shelves]
    return Outcome("delivered", parcels=await asyncio.gather(*vans))


async def main() -> None:
    async with assay.open(
        "saga.db", workflows=[fulfil, deliver], activities=[reserve, release, charge]
    ) as app:
        for order in (Order("ann", ["tea", "cup"], 42), Order("bob", ["boat"], 9000)):
            run = await app.workflows.start(fulfil, input=order)
            print(await run.result())
        for record in await app.workflows.list(search_attrs={"stage": "delivering"}):
            print(record["id"], record["status"])


if __name__ == "__main__":
    asyncio.run(main())
