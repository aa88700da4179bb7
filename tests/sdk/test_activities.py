"""Activities: how they are called, what they take and give, and where they are done."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from typing import Any

import pytest

import assay
from tests.sdk.world import World, on_every_shape


@dataclasses.dataclass
class Order:
    sku: str
    amounts: list[int]


NO_ORDER = Order("none", [])


@dataclasses.dataclass
class Receipt:
    order: Order
    total: int


@assay.activity
async def bill(_ctx: assay.ActivityContext, order: Order) -> Receipt:
    assert isinstance(order, Order)
    return Receipt(order, sum(order.amounts))


@assay.activity
async def double(_ctx: assay.ActivityContext, number: int) -> int:
    return number * 2


@assay.activity("stock/ä count")
def count(_ctx: assay.ActivityContext) -> str:
    return threading.current_thread().name


@on_every_shape
async def test_an_activity_by_its_function_takes_and_gives_what_it_says(world: World) -> None:
    @assay.workflow
    async def buy(ctx: assay.WorkflowContext, order: Order) -> Receipt:
        receipt = await ctx.execute_activity(bill, order)
        assert isinstance(receipt, Receipt)
        assert isinstance(receipt.order, Order)
        return Receipt(receipt.order, receipt.total + 1)

    await world.deploy(buy, bill)
    run = await world.start(buy, Order("x", [1, 2]))
    assert await world.result(run.id, Receipt) == Receipt(Order("x", [1, 2]), 4)


@on_every_shape
async def test_an_input_with_a_default_may_be_left_out(world: World) -> None:
    """Null is an input where the annotation takes it, or says nothing."""

    @assay.activity
    async def plenty(_ctx: assay.ActivityContext, number: int = 7) -> int:
        return number

    @assay.activity
    def perhaps(_ctx: assay.ActivityContext, number: int | None = 7) -> int | None:
        return number

    @assay.workflow
    async def default(ctx: assay.WorkflowContext, order: Order = NO_ORDER) -> list[Any]:
        calls = [ctx.execute_activity(plenty, 1), ctx.execute_activity(plenty)]
        return [order.sku, *await asyncio.gather(*calls), await ctx.execute_activity(perhaps)]

    await world.deploy(default, plenty, perhaps)
    assert await world.run(default) == ["none", 1, 7, None]
    assert await world.run(default, Order("some", [])) == ["some", 1, 7, None]


@on_every_shape
async def test_an_activity_by_its_name_gives_plain_values_or_what_is_asked_for(
    world: World,
) -> None:
    @assay.workflow
    async def buy(ctx: assay.WorkflowContext) -> list[Any]:
        plain = await ctx.execute_activity("bill", {"sku": "x", "amounts": [3]})
        read = await ctx.execute_activity("bill", Order("y", [4]), result=Receipt)
        assert isinstance(read, Receipt)
        return [plain, read.total]

    await world.deploy(buy, bill)
    bought = await world.run(buy)
    assert bought == [{"order": {"sku": "x", "amounts": [3]}, "total": 3}, 4]


@on_every_shape
async def test_a_result_of_the_wrong_type_names_the_activity_and_the_place(world: World) -> None:
    @assay.workflow
    async def buy(ctx: assay.WorkflowContext) -> str:
        with pytest.raises(assay.PayloadError) as caught:
            await ctx.execute_activity("double", 3, result=Receipt)
        return str(caught.value)

    await world.deploy(buy, double)
    told = await world.run(buy)
    assert "'double'" in told
    assert "Receipt" in told


@on_every_shape
async def test_a_plain_function_runs_in_a_thread_and_may_take_nothing(world: World) -> None:
    @assay.workflow
    async def counting(ctx: assay.WorkflowContext) -> str:
        return await ctx.execute_activity(count)

    await world.deploy(counting, count)
    id = (await world.start(counting)).id
    assert (await world.result(id)).startswith("assay-worker")
    assert (await world.activity(id))["name"] == "stock/ä count"


@on_every_shape
async def test_blocking_activities_run_beside_one_another(world: World) -> None:
    meeting = threading.Barrier(3, timeout=10)

    @assay.activity
    def meet(_ctx: assay.ActivityContext, number: int) -> int:
        meeting.wait()
        return number

    @assay.workflow
    async def together(ctx: assay.WorkflowContext) -> list[int]:
        return await ctx.execute_parallel([{"name": meet, "input": each} for each in range(3)])

    await world.deploy(together, meet)
    assert await world.run(together) == [0, 1, 2]


@on_every_shape
async def test_an_activity_can_be_done_by_the_worker_of_another_queue(world: World) -> None:
    queue = world.fresh("queue")

    @assay.workflow
    async def elsewhere(ctx: assay.WorkflowContext) -> int:
        return await ctx.execute_activity(double, 4, task_queue=queue)

    await world.deploy(elsewhere, double)
    id = (await world.start(elsewhere)).id
    scheduled = await world.event(id, "ActivityScheduled")
    assert scheduled.payload["task_queue"] == queue
    assert (await world.activity(id))["status"] == "PENDING"
    await world.serve(queue)
    assert await world.result(id) == 8


@on_every_shape
async def test_every_option_reaches_the_engine(world: World) -> None:
    @assay.workflow
    async def careful(ctx: assay.WorkflowContext) -> int:
        return await ctx.execute_activity(
            double,
            1,
            max_attempts=7,
            initial_interval_secs=0.5,
            backoff_coefficient=1.5,
            max_interval_secs=9,
            jitter=0.25,
            non_retryable=[ValueError, "Refused"],
            start_to_close_secs=12.5,
            heartbeat_timeout_secs=3,
        )

    await world.deploy(careful, double)
    id = (await world.start(careful)).id
    assert await world.result(id) == 2
    record = await world.activity(id)
    assert {**record, "non_retryable": json.loads(record["non_retryable"])} == record | {
        "task_queue": "default",
        "max_attempts": 7,
        "initial_interval_secs": 0.5,
        "backoff_coefficient": 1.5,
        "max_interval_secs": 9,
        "jitter": 0.25,
        "non_retryable": ["ValueError", "Refused"],
        "start_to_close_secs": 12.5,
        "heartbeat_timeout_secs": 3,
    }


@on_every_shape
async def test_calls_begin_when_they_are_made(world: World) -> None:
    """Not when they are awaited: so they are under way together, and in the order of the calls."""

    @assay.workflow
    async def early(ctx: assay.WorkflowContext) -> list[int]:
        first = ctx.execute_activity(double, 1)
        second = ctx.execute_activity(double, 2)
        return [await second, await first]

    await world.deploy(early, double)
    id = (await world.start(early)).id
    assert await world.result(id) == [4, 2]
    kinds = await world.kinds(id)
    assert kinds[:3] == ["WorkflowStarted", "ActivityScheduled", "ActivityScheduled"]


# Several at once


@on_every_shape
async def test_results_of_parallel_calls_come_in_the_order_of_the_list(world: World) -> None:
    last = asyncio.Event()

    @assay.activity
    async def backwards(_ctx: assay.ActivityContext, number: int) -> int:
        if number == 0:
            await last.wait()
        if number == 4:
            last.set()
        return number

    @assay.workflow
    async def fan(ctx: assay.WorkflowContext) -> list[Any]:
        calls: list[dict[str, Any]] = [{"name": backwards, "input": each} for each in range(5)]
        calls.append({"name": "double", "input": 21, "opts": {"max_attempts": 1}})
        calls.append({"name": "stock/ä count", "opts": None})
        return await ctx.execute_parallel(calls)

    await world.deploy(fan, backwards, double, count)
    *numbers, name = await world.run(fan)
    assert numbers == [0, 1, 2, 3, 4, 42]
    assert name.startswith("assay-worker")


@on_every_shape
async def test_the_first_error_of_the_list_is_raised_once_all_have_ended(world: World) -> None:
    first = asyncio.Event()

    @assay.activity
    async def fail(_ctx: assay.ActivityContext, name: str) -> None:
        if name == "early in the list, late in time":
            await first.wait()
        first.set()
        raise ValueError(name)

    @assay.workflow
    async def fan(ctx: assay.WorkflowContext) -> None:
        once: Any = {"max_attempts": 1}
        await ctx.execute_parallel(
            [
                {"name": double, "input": 1},
                {"name": fail, "input": "early in the list, late in time", "opts": once},
                {"name": fail, "input": "the other way round", "opts": once},
            ]
        )

    await world.deploy(fan, fail, double)
    id = (await world.start(fan)).id
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.result(id)
    assert caught.value.error == "activity 'fail' failed: early in the list, late in time"
    assert (await world.kinds(id)).count("ActivityFailed") == 2


@on_every_shape
async def test_nothing_in_parallel_is_a_mistake(world: World) -> None:
    @assay.workflow
    async def fan(ctx: assay.WorkflowContext) -> None:
        await ctx.execute_parallel([])

    await world.deploy(fan)
    why = await world.blocked((await world.start(fan)).id)
    assert "execute_parallel" in why
    assert f"{__file__}:" in why


@on_every_shape
async def test_hundreds_at_once_all_come_back(world: World) -> None:
    @assay.workflow
    async def fan(ctx: assay.WorkflowContext, width: int) -> int:
        calls = [{"name": double, "input": each} for each in range(width)]
        return sum(await ctx.execute_parallel(calls))

    await world.deploy(fan, double)
    assert await world.run(fan, 600) == sum(range(600)) * 2
