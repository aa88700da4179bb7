"""Stand-ins for activities, by name or by function."""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import AsyncMock, Mock

import pytest

import assay
from assay.testing import Environment, run


@dataclass
class Order:
    id: str
    cents: int


@dataclass
class Receipt:
    order: str
    paid: int


@assay.activity
async def charge(ctx: assay.ActivityContext, order: Order) -> Receipt:
    raise NotImplementedError("no test pays for real")


@assay.workflow
async def checkout(ctx: assay.WorkflowContext, order: Order) -> int:
    receipt = await ctx.execute_activity(charge, order)
    return receipt.paid


ORDER = Order("o-1", 4200)


def test_a_stand_in_takes_the_place_of_an_activity() -> None:
    async def story(env: Environment) -> None:
        @env.activity("charge")
        async def half(ctx: assay.ActivityContext, order: Order) -> Receipt:
            return Receipt(order.id, order.cents // 2)

        handle = await env.workflows.start(checkout, input=ORDER)
        assert await handle.result() == 2100

    run(story, workflows=[checkout], activities=[charge])


def test_a_stand_in_without_annotations_gets_what_the_activity_would() -> None:
    async def story(env: Environment) -> None:
        env.activity(charge, lambda _, order: Receipt(order.id, order.cents + 1))
        handle = await env.workflows.start(checkout, input=ORDER)
        assert await handle.result() == 4201

    run(story, workflows=[checkout])
    run(story, workflows=[checkout], activities=[charge])


@pytest.mark.parametrize("kind", [Mock, AsyncMock])
def test_mocks_are_stand_ins(kind: type[Mock]) -> None:
    fake = kind(return_value=Receipt("o-1", 1))

    async def story(env: Environment) -> None:
        env.activity(charge, fake)
        handle = await env.workflows.start(checkout, input=ORDER)
        assert await handle.result() == 1

    run(story, workflows=[checkout], activities=[charge])
    fake.assert_called_once()
    assert fake.call_args.args[1] == ORDER


def test_a_stand_in_may_be_replaced_in_the_middle_of_a_test() -> None:
    async def story(env: Environment) -> None:
        env.activity(charge, Mock(side_effect=ConnectionError("the bank is away")))
        handle = await env.workflows.start(checkout, input=ORDER)
        env.after(0.5, lambda: env.activity(charge, lambda _, order: Receipt(order.id, 7)))
        assert await handle.result() == 7
        assert "ActivityFailed" not in (await env.history(handle.id)).types

    run(story, workflows=[checkout], activities=[charge])


def test_an_activity_that_is_not_there_is_named() -> None:
    async def story(env: Environment) -> None:
        handle = await env.workflows.start(checkout, input=ORDER)
        with pytest.raises(
            assay.WorkflowFailed, match="No handler registered for activity: charge"
        ):
            await handle.result()

    run(story, workflows=[checkout])


def test_functions_may_be_registered_as_with_any_client() -> None:
    async def story(env: Environment) -> None:
        @env.activity
        async def double(ctx: assay.ActivityContext, number: int) -> int:
            return 2 * number

        @env.define("twice")
        async def twice(ctx: assay.WorkflowContext, number: int) -> int:
            return await ctx.execute_activity(double, number)

        handle = await env.workflows.start("twice", input=21)
        assert await handle.result() == 42

    run(story)
