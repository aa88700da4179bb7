"""Workflows and activities as users write them: every shape that calls are to know the types of."""

from dataclasses import dataclass

import assay


@dataclass
class Order:
    id: int


@dataclass
class Receipt:
    no: str


@assay.activity
async def charge(ctx: assay.ActivityContext, order: Order) -> Receipt:
    return Receipt(f"{ctx.attempt}-{order.id}")


@assay.activity
def ship(ctx: assay.ActivityContext, order: Order) -> str:
    return f"{ctx.workflow_id}-{order.id}"


@assay.activity("tick")
async def tick(ctx: assay.ActivityContext) -> int:
    return ctx.attempt


@assay.activity
def tock(ctx: assay.ActivityContext) -> bool:
    return bool(ctx.heartbeat())


@assay.activity
async def look(ctx: assay.ActivityContext, order: Order | None = None) -> float:
    return ctx.attempt if order is None else order.id


async def read(path: str, times: int = 1) -> bytes:
    return path.encode() * times


def add(first: int, second: int, *, third: int = 0) -> int:
    return first + second + third


class Shelf:
    async def find(self, order: Order) -> Receipt:
        return Receipt(str(order.id))

    def __call__(self, order: Order) -> str:
        return str(order.id)


@assay.workflow
async def buy(ctx: assay.WorkflowContext, order: Order) -> Receipt:
    return await ctx.execute_activity(charge, order)


@assay.workflow("count")
async def count(ctx: assay.WorkflowContext) -> int:
    return await ctx.execute_activity(tick)


@assay.workflow
async def wander(ctx: assay.WorkflowContext, order: Order | None = None) -> list[Order]:
    return [] if order is None else [order]
