"""The replayer: code that agrees with a history, and code that does not."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.sdk.faults import Mismatch
from assay.testing import Environment, History, Replayer, run

DAY = 86_400.0
Workflow = Any


@assay.activity
async def reserve(ctx: assay.ActivityContext, what: str) -> str:
    return f"reserved {what}"


@assay.activity
async def ship(ctx: assay.ActivityContext, what: str) -> str:
    return f"shipped {what}"


@assay.workflow
async def order(ctx: assay.WorkflowContext, what: str) -> str:
    await ctx.execute_activity(reserve, what)
    await ctx.sleep(DAY)
    return await ctx.execute_activity(ship, what)


@pytest.fixture(scope="module")
def history() -> History:
    async def story(env: Environment) -> History:
        handle = await env.workflows.start(order, "o-1", "a book")
        await handle.result()
        return await env.history("o-1")

    found: History = run(story, workflows=[order], activities=[reserve, ship])
    return found


def changed(code: Workflow) -> Replayer:
    """The same workflow by name, in another version."""
    return Replayer([assay.workflow("order")(code)])


def line_of(code: Workflow, offset: int) -> str:
    return f"test_replayer.py:{code.__code__.co_firstlineno + offset}"


def test_the_code_that_was_recorded_agrees(history: History) -> None:
    replayed = Replayer([order]).replay(history)
    assert replayed.ending == "WorkflowCompleted"
    assert replayed.result == "shipped a book"


def test_a_renamed_activity_is_named_with_its_place(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> str:
        await ctx.execute_activity(reserve, what)
        await ctx.sleep(DAY)
        return str(await ctx.execute_activity("send", what))

    with pytest.raises(Mismatch) as caught:
        changed(code).replay(history)
    assert "history holds activity 2 as 'ship', the code asks for 'send'" in str(caught.value)
    assert line_of(code, 3) in str(caught.value)


def test_a_call_that_came_in_between_is_named(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> str:
        await ctx.step(str.upper, what)
        return await order(ctx, what)

    with pytest.raises(Mismatch, match=r"history holds activity 1 \('reserve'\), the code asks"):
        changed(code).replay(history)


def test_a_call_that_is_gone_is_named(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> str:
        await ctx.execute_activity(reserve, what)
        return await ctx.execute_activity(ship, what)

    with pytest.raises(Mismatch, match="event 4: history holds timer 1, the code ends without it"):
        changed(code).replay(history)


def test_code_that_ends_too_early(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> str:
        await ctx.execute_activity(reserve, what)
        return "done"

    with pytest.raises(Mismatch, match="event 4: history holds timer 1, the code ends without it"):
        changed(code).replay(history)


def test_code_that_does_not_end_any_more(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> None:
        await order(ctx, what)
        await ctx.execute_activity("bill", what)

    with pytest.raises(Mismatch) as caught:
        changed(code).replay(history)
    assert "history ends with WorkflowCompleted, the code goes on" in str(caught.value)
    assert "it asks for activity 3 ('bill')" in str(caught.value)
    assert line_of(code, 2) in str(caught.value)

    async def waiting(ctx: assay.WorkflowContext, what: str) -> None:
        await order(ctx, what)
        await ctx.wait_for_signal("more")

    with pytest.raises(Mismatch, match="the code goes on: it waits for signal 'more'"):
        changed(waiting).replay(history)


def test_code_that_ends_otherwise(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> None:
        await order(ctx, what)
        raise ValueError("no")

    with pytest.raises(Mismatch, match=r"the code with WorkflowFailed: ValueError\('no'\)"):
        changed(code).replay(history)


def test_misuse_is_named_with_its_place(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> None:
        await asyncio.to_thread(print)

    with pytest.raises(assay.WorkflowMisuse) as caught:
        changed(code).replay(history)
    assert line_of(code, 1) in str(caught.value)


def test_a_change_under_a_patch_agrees(history: History) -> None:
    async def code(ctx: assay.WorkflowContext, what: str) -> str:
        if ctx.patched("look first"):
            await ctx.step(str.upper, what)
        return await order(ctx, what)

    assert changed(code).replay(history).ending == "WorkflowCompleted"


def test_a_history_is_kept_in_a_file(history: History, tmp_path: Path) -> None:
    path = tmp_path / "o-1.json"
    history.save(path)
    assert History.load(path).to_json() == history.to_json()
    assert Replayer([order]).replay(path).result == "shipped a book"
    assert Replayer([order]).replay(path.read_text()).result == "shipped a book"


def test_the_events_that_the_engine_answers_with_are_a_history(history: History) -> None:
    text = json.dumps(history.events)
    assert Replayer([order]).replay(text).result == "shipped a book"
    assert Replayer([order]).replay(json.loads(text)).result == "shipped a book"
    assert Replayer([order]).replay(list(reversed(history.events))).result == "shipped a book"


def test_where_nothing_names_the_workflow_it_has_to_be_named(history: History) -> None:
    @assay.workflow
    async def other(ctx: assay.WorkflowContext) -> None: ...

    replayer = Replayer([order, other])
    with pytest.raises(
        assay.errors.UsageFault, match="not among those to replay with: order, other"
    ):
        replayer.replay(history.events)
    assert replayer.replay(history.events, workflow_type="order").result == "shipped a book"


def test_a_history_without_an_end_is_of_a_run_in_flight(history: History) -> None:
    flight = History(history.workflow_id, "order", history.events[:4])
    assert Replayer([order]).replay(flight).ending is None


def test_it_replays_inside_of_a_running_loop(history: History) -> None:
    async def inside() -> None:
        assert Replayer([order]).replay(history).result == "shipped a book"

    asyncio.run(inside())


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ("{", "a history is JSON"),
        ("o-1.json", "pathlib.Path"),
        ("{}", "list of `events`"),
        ('[{"seq": 1}]', "an event has seq, event_type"),
    ],
)
def test_what_is_no_history_is_refused(recorded: str, said: str) -> None:
    with pytest.raises(assay.errors.UsageFault, match=said):
        Replayer([order]).replay(recorded)


def test_what_ends_from_outside_agrees_with_any_code() -> None:
    async def story(env: Environment) -> list[History]:
        for name in ("terminated", "timed-out", "pending", "continued"):
            secs = DAY / 2 if name == "timed-out" else None
            delay = DAY if name == "pending" else None
            await env.workflows.start(
                order, name, "a pen", timeout_secs=secs, start_delay_secs=delay
            )
        await env.sleep(60)
        await env.workflows.terminate("terminated")
        await env.workflows.cancel("pending")
        await env.workflows.continue_as_new("continued", "a pencil")
        await env.sleep(DAY)
        return [await env.history(id) for id in ("terminated", "timed-out", "pending", "continued")]

    histories: list[History] = run(story, workflows=[order], activities=[reserve, ship])
    assert [history.types[-1] for history in histories] == [
        "WorkflowFailed",
        "WorkflowTimedOut",
        "WorkflowCancelled",
        "WorkflowContinuedAsNew",
    ]
    for history in histories:
        Replayer([order]).replay(history)
