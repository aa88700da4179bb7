"""How runs end: by returning, raising, going on as new, or giving up themselves."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest

import assay
from tests.sdk.shapes import Embedded
from tests.sdk.world import World, on_every_shape


@dataclasses.dataclass
class Report:
    pages: list[str]


@pytest.mark.parametrize(
    "value",
    [None, True, 10**30, 1.5, "ä\0", [], {}, {"a": [1, {"b": None}]}],
    ids=["none", "true", "big", "float", "text", "list", "object", "nested"],
)
@on_every_shape
async def test_what_a_workflow_takes_it_can_return(world: World, value: Any) -> None:
    @assay.workflow
    async def echo(_ctx: assay.WorkflowContext, given: Any) -> Any:
        return given

    await world.deploy(echo)
    assert await world.run(echo, value) == value


@on_every_shape
async def test_input_and_result_are_what_the_function_says(world: World) -> None:
    @assay.workflow
    async def bind(_ctx: assay.WorkflowContext, reports: list[Report]) -> dict[str, Report]:
        assert isinstance(reports[0], Report)
        return {"all": Report([page for report in reports for page in report.pages])}

    await world.deploy(bind)
    id = (await world.start(bind, [Report(["a"]), Report(["b", "c"])])).id
    assert await world.result(id, dict[str, Report]) == {"all": Report(["a", "b", "c"])}


@on_every_shape
async def test_a_workflow_may_take_no_input(world: World) -> None:
    @assay.workflow
    async def silent(ctx: assay.WorkflowContext) -> str:
        return ctx.workflow_id

    await world.deploy(silent)
    id = (await world.start(silent, {"nobody": "reads this"})).id
    assert await world.result(id) == id


@on_every_shape
async def test_what_a_workflow_raises_is_the_error_of_its_run(world: World) -> None:
    @assay.workflow
    async def burst(_ctx: assay.WorkflowContext, text: str) -> None:
        raise LookupError(text)

    await world.deploy(burst)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(burst, "")
    assert caught.value.error == "LookupError"
    id = (await world.start(burst, "pop")).id
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.result(id)
    assert caught.value.error == "pop"
    failed = (await world.history(id))[-1].payload["failure"]
    assert failed["type"] == "LookupError"
    assert __file__ in failed["traceback"]


@on_every_shape
async def test_errors_that_cannot_be_told_end_their_run_all_the_same(world: World) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    @assay.workflow
    async def burst(_ctx: assay.WorkflowContext, how: int) -> None:
        raise [Speechless(), ValueError("half \ud800"), ValueError("zero \0")][how]

    await world.deploy(burst)
    for how, error in enumerate(("Speechless", "half ?", "zero \ufffd")):
        with pytest.raises(assay.WorkflowFailed) as caught:
            await world.run(burst, how)
        assert caught.value.error == error


@on_every_shape
async def test_a_run_of_a_type_nobody_has_says_its_name(world: World) -> None:
    @assay.workflow
    async def known(_ctx: assay.WorkflowContext) -> None: ...

    await world.deploy(known)
    said = "no workflow handler registered for type: unheard of"
    if isinstance(world.shape, Embedded):  # another program may know it, and have the file next
        why = await world.blocked((await world.start("unheard of")).id)
        assert why == f"{said}; this program has known"
        return
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run("unheard of")
    assert caught.value.error == said


@on_every_shape
async def test_a_result_that_is_not_json_fails_the_run_and_says_where(world: World) -> None:
    @assay.workflow
    async def odd(_ctx: assay.WorkflowContext) -> Any:
        return {"deep": [1, object()]}

    await world.deploy(odd)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(odd)
    assert "'odd'" in (caught.value.error or "")
    assert "$.deep[1]" in (caught.value.error or "")


@on_every_shape
async def test_a_result_that_is_too_large_fails_the_run(world: World) -> None:
    @assay.workflow
    async def large(_ctx: assay.WorkflowContext, size: int) -> str:
        return "x" * size

    await world.deploy(large)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(large, 2_200_000)
    assert "2 MiB" in (caught.value.error or "")
    assert len(await world.run(large, 1_900_000)) == 1_900_000


@on_every_shape
async def test_an_input_that_is_too_large_fails_the_run_that_gives_it(world: World) -> None:
    @assay.workflow
    async def large(ctx: assay.WorkflowContext) -> Any:
        return await ctx.execute_activity("anything", "x" * 2_200_000)

    await world.deploy(large)
    with pytest.raises(assay.WorkflowFailed) as caught:
        await world.run(large)
    assert "2 MiB" in (caught.value.error or "")


# Going on as new


@on_every_shape
async def test_a_run_goes_on_as_new_and_its_result_is_the_last_one(world: World) -> None:
    @assay.workflow
    async def count(ctx: assay.WorkflowContext, left: int) -> str:
        await ctx.sleep(0.001)
        if left:
            await ctx.continue_as_new(left - 1)
        return f"done in {ctx.workflow_id}"

    await world.deploy(count)
    id = (await world.start(count, 4, search_attributes={"a": 1})).id
    told = await world.result(id)
    assert told.startswith(f"done in {id}-continued-")
    first = await world.record(id)
    assert (first["status"], first["result"]) == ("COMPLETED", None)
    last = await world.record(told.removeprefix("done in "))
    assert json.loads(last["search_attributes"])["a"] == 1
    assert len(await world.client.workflows.list(type="count")) == 5


@on_every_shape
async def test_nothing_after_continue_as_new_runs(world: World) -> None:
    reached: list[str] = []

    @assay.workflow
    async def jump(ctx: assay.WorkflowContext, left: int) -> str:
        if not left:
            return "landed"
        try:
            end: Any = ctx.continue_as_new  # which mypy knows to end the run, as below
            end(left - 1)
            reached.append("after")
        except BaseException:
            _none = ctx.execute_activity("never")  # what is called on the way out has no effect
            raise
        finally:
            ctx.upsert_search_attributes({"never": True})
            await ctx.sleep(1000)
            reached.append("after the finally")
        return "no"

    await world.deploy(jump)
    id = (await world.start(jump, 1)).id
    assert await world.result(id) == "landed"
    assert await world.kinds(id) == ["WorkflowStarted", "WorkflowContinuedAsNew"]
    assert reached == []


@on_every_shape
async def test_signals_that_nobody_had_go_on_with_the_run(world: World) -> None:
    @assay.workflow
    async def collect(ctx: assay.WorkflowContext, heard: list[int]) -> list[int]:
        if not heard:
            await ctx.wait_for_signal("ready")
        heard.append(await ctx.wait_for_signal("number"))
        if len(heard) < 4:
            await ctx.continue_as_new(heard)
        return [*heard, await ctx.wait_for_signal("last")]

    await world.deploy(collect)
    run = await world.start(collect, [])
    await world.event(run.id, "WorkflowAwaitingSignal")
    for number in range(4):
        await run.signal("number", number)
    await run.signal("last", 9)
    await run.signal("ready")
    assert await world.result(run.id) == [0, 1, 2, 3, 9]


@on_every_shape
async def test_signals_behind_the_event_that_ended_the_run_go_on_as_well(world: World) -> None:
    """Those that came before its worker took the task, in the same history as the last event."""

    @assay.workflow
    async def relay(ctx: assay.WorkflowContext, heard: list[int]) -> list[int]:
        heard.append(await ctx.wait_for_signal("number"))
        if len(heard) < 3:
            await ctx.continue_as_new(heard)
        return heard

    await world.deploy(relay)
    await world.withdraw()
    await world.deploy(queue=world.fresh("elsewhere"))
    id = (await world.start(relay, [])).id
    for number in range(3):
        await world.signal(id, "number", number)
    await world.deploy(relay)
    assert await world.result(id) == [0, 1, 2]


@on_every_shape
async def test_a_branch_may_end_the_run_by_going_on_as_new(world: World) -> None:
    @assay.workflow
    async def two(ctx: assay.WorkflowContext, left: int) -> str:
        async def watch() -> None:
            await ctx.sleep(0.01)
            await ctx.continue_as_new(left - 1)

        if not left:
            return "new"
        async with asyncio.TaskGroup() as group:
            group.create_task(watch())
            group.create_task(ctx_wait(ctx))
        return "old"

    async def ctx_wait(ctx: assay.WorkflowContext) -> None:
        await ctx.wait_for_signal("never")

    await world.deploy(two)
    assert await world.run(two, 1) == "new"


# Giving up


@pytest.mark.parametrize("reason", ["no stock", None])
@on_every_shape
async def test_a_run_may_end_itself_as_cancelled(world: World, reason: str | None) -> None:
    reached: list[str] = []

    @assay.workflow
    async def give_up(ctx: assay.WorkflowContext) -> None:
        try:
            await ctx.sleep(0.001)
            end: Any = ctx.cancel
            await end(reason)
            reached.append("after")
        finally:
            await ctx.sleep(1000)

    await world.deploy(give_up)
    id = (await world.start(give_up)).id
    with pytest.raises(assay.WorkflowCancelled) as caught:
        await world.result(id)
    assert caught.value.error == reason
    assert (await world.record(id))["status"] == "CANCELLED"
    assert reached == []


@on_every_shape
async def test_a_cancellation_that_code_raises_itself_ends_the_run_as_cancelled(
    world: World,
) -> None:
    @assay.workflow
    async def give_up(_ctx: assay.WorkflowContext) -> None:
        raise asyncio.CancelledError

    await world.deploy(give_up)
    with pytest.raises(assay.WorkflowCancelled):
        await world.run(give_up)


@on_every_shape
async def test_a_thousand_calls_fit_in_one_run(world: World) -> None:
    @assay.workflow
    async def long(ctx: assay.WorkflowContext) -> int:
        total = 0
        for number in range(100):
            total += await ctx.side_effect("n", number.__abs__)
        for _ in range(3):
            wide = [ctx.side_effect("n", lambda: 1) for _ in range(300)]
            total += sum(await asyncio.gather(*wide))
        return total

    await world.deploy(long)
    assert await world.run(long) == 4950 + 900
