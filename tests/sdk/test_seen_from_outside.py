"""What is seen of a run from outside: the answers of its queries, its search attributes."""

from __future__ import annotations

import json
from typing import Any

import assay
from tests.sdk.world import World, on_every_shape


@on_every_shape
async def test_a_query_shows_how_far_the_run_has_come(world: World) -> None:
    @assay.workflow
    async def climb(ctx: assay.WorkflowContext) -> str:
        height = 0
        ctx.register_query("height", lambda: height)
        await ctx.register_query("double/ä", lambda: {"of": height * 2})
        while height < 3:
            await ctx.wait_for_signal("up")
            height += 1
        return "top"

    await world.deploy(climb)
    run = await world.start(climb)
    assert await world.query(run.id, "double/ä") == {"of": 0}
    assert await world.query(run.id, "height", lambda seen: seen == 0) == 0
    for height in (1, 2, 3):
        await run.signal("up")
        await world.query(run.id, "height", height.__eq__)
    assert await world.result(run.id) == "top"
    state = await run.state()
    assert state is not None
    assert state["state"] == {"height": 3, "double/ä": {"of": 6}}


@on_every_shape
async def test_a_query_that_raises_is_left_out(world: World) -> None:
    @assay.workflow
    async def half(ctx: assay.WorkflowContext) -> None:
        ctx.register_query("bad", lambda: 1 // 0)
        ctx.register_query("odd", object)
        ctx.register_query("good", lambda: None)
        await ctx.wait_for_signal("never")

    await world.deploy(half)
    run = await world.start(half)
    await world.event(run.id, "WorkflowAwaitingSignal")
    state = await run.state()
    assert state is not None
    assert state["state"] == {"good": None}
    assert await run.state("bad") is None


@on_every_shape
async def test_without_an_answer_there_is_no_state(world: World) -> None:
    @assay.workflow
    async def shy(ctx: assay.WorkflowContext) -> None:
        ctx.register_query("bad", lambda: 1 // 0)
        await ctx.wait_for_signal("never")

    await world.deploy(shy)
    run = await world.start(shy)
    await world.event(run.id, "WorkflowAwaitingSignal")
    assert await run.state() is None


@on_every_shape
async def test_a_query_may_be_registered_anew(world: World) -> None:
    @assay.workflow
    async def change(ctx: assay.WorkflowContext) -> None:
        ctx.register_query("phase", lambda: "first")
        await ctx.wait_for_signal("on")
        ctx.register_query("phase", lambda: "second")
        await ctx.wait_for_signal("never")

    await world.deploy(change)
    run = await world.start(change)
    assert await world.query(run.id, "phase") == "first"
    await run.signal("on")
    assert await world.query(run.id, "phase", lambda seen: seen == "second") == "second"


@on_every_shape
async def test_runs_are_found_by_what_they_say_of_themselves(world: World) -> None:
    @assay.workflow
    async def travel(ctx: assay.WorkflowContext, city: str) -> None:
        ctx.upsert_search_attributes({"city": city, "stage": 1})
        await ctx.wait_for_signal("on")
        await ctx.upsert_search_attributes({"stage": 2})
        await ctx.wait_for_signal("never")

    await world.deploy(travel)
    runs = {city: await world.start(travel, city) for city in ("Köln", "Rom")}
    for run in runs.values():
        await world.event(run.id, "WorkflowAwaitingSignal")
    await runs["Rom"].signal("on")
    await world.event(runs["Rom"].id, "WorkflowAwaitingSignal", 2)

    async def found(**wanted: Any) -> set[str]:
        listed = await world.client.workflows.list(search_attrs=wanted)
        return {record["id"] for record in listed}

    assert await found(city="Köln") == {runs["Köln"].id}
    assert await found(stage=1) == {runs["Köln"].id}
    assert await found(stage=2, city="Rom") == {runs["Rom"].id}
    assert await found(stage=2, city="Köln") == set()


@on_every_shape
async def test_attributes_are_merged_over_those_of_the_start(world: World) -> None:
    @assay.workflow
    async def mark(ctx: assay.WorkflowContext) -> None:
        ctx.upsert_search_attributes({"mine": [1], "both": "late"})

    await world.deploy(mark)
    given = {"both": "early", "yours": True}
    id = (await world.start(mark, search_attributes=given)).id
    await world.result(id)
    attributes = json.loads((await world.record(id))["search_attributes"])
    assert attributes == attributes | {"both": "late", "yours": True, "mine": [1]}
    assert (await world.kinds(id)).count("SearchAttributesUpserted") == 1


@on_every_shape
async def test_an_upsert_does_not_stop_the_run_and_is_made_once(world: World) -> None:
    @assay.workflow
    async def count(ctx: assay.WorkflowContext) -> None:
        for number in range(4):
            ctx.upsert_search_attributes({"n": number})
            await ctx.sleep(0.003)

    await world.deploy(count)
    id = (await world.start(count)).id
    await world.result(id)
    upserts = [event for event in await world.history(id) if "Upserted" in event.type]
    assert [event.payload["patch"] for event in upserts] == [{"n": number} for number in range(4)]
    assert [event.payload["upsert_seq"] for event in upserts] == [1, 2, 3, 4]
