"""The plain worker's replay against canned histories: what it asks next, and when it stops."""

from __future__ import annotations

import contextlib

from tests.support.http import Json
from tests.support.plain_replay import (
    CallFailed,
    Cancelled,
    Commands,
    Context,
    Handler,
    replay,
)
from tests.support.runs import Event


def asked(handler: Handler, *happened: tuple[str, Json], given: Json = None) -> Commands:
    """Replay over WorkflowStarted and what happened since."""
    whole = [("WorkflowStarted", given), *happened]
    history = [Event(seq, kind, payload, 0.0) for seq, (kind, payload) in enumerate(whole, 1)]
    return replay(handler, given, Context(history))


def done(seq: int, result: Json = None) -> tuple[str, Json]:
    return "ActivityCompleted", {"activity_seq": seq, "name": "work", "result": result}


def failed(seq: int, error: str = "boom") -> tuple[str, Json]:
    return "ActivityFailed", {"activity_seq": seq, "name": "work", "error": error}


def fired(seq: int) -> tuple[str, Json]:
    return "TimerFired", {"timer_seq": seq, "fire_at": 0}


def signal(payload: Json, name: str = "go") -> tuple[str, Json]:
    return "SignalReceived", {"signal": name, "payload": payload}


def cancel(reason: str | None = None) -> tuple[str, Json]:
    return "WorkflowCancelRequested", None if reason is None else {"reason": reason}


async def two_steps(ctx: Context, given: Json) -> Json:
    first = await ctx.execute_activity("work", given, max_attempts=1)
    second = await ctx.execute_activity("work", first)
    return [first, second]


def test_the_first_open_call_ends_the_replay() -> None:
    assert asked(two_steps, given=7) == [
        {"type": "ScheduleActivity", "seq": 1, "name": "work", "input": 7, "max_attempts": 1}
    ]
    assert asked(two_steps, done(1, "a"), given=7) == [
        {"type": "ScheduleActivity", "seq": 2, "name": "work", "input": "a"}
    ]


def test_a_returned_value_completes_the_run() -> None:
    ended = asked(two_steps, done(1, "a"), done(2, "b"))
    assert ended == [{"type": "CompleteWorkflow", "result": ["a", "b"]}]


def test_nothing_returned_is_no_result() -> None:
    async def silent(ctx: Context, given: Json) -> Json:
        return None

    assert asked(silent) == [{"type": "CompleteWorkflow"}]


def test_a_result_that_is_not_json_fails_the_run() -> None:
    async def odd(ctx: Context, given: Json) -> Json:
        return {1, 2}

    [command] = asked(odd)
    assert command["type"] == "FailWorkflow"


def test_a_failed_activity_raises_in_the_handler() -> None:
    assert asked(two_steps, failed(1)) == [
        {"type": "FailWorkflow", "error": "activity 'work' failed: boom"}
    ]


async def fan_out(ctx: Context, given: Json) -> Json:
    return await ctx.execute_parallel([{"name": "work", "input": n} for n in range(3)])


def test_a_fan_out_asks_for_all_that_is_open() -> None:
    assert [command["seq"] for command in asked(fan_out)] == [1, 2, 3]
    assert [command["seq"] for command in asked(fan_out, done(2))] == [1, 3]


def test_a_fan_out_waits_for_all_and_raises_the_first_in_list_order() -> None:
    assert [command["seq"] for command in asked(fan_out, failed(3, "c"))] == [1, 2]
    [command] = asked(fan_out, failed(3, "c"), done(1), failed(2, "b"))
    assert command["error"] == "activity 'work' failed: b"
    [command] = asked(fan_out, done(3, "c"), done(1, "a"), done(2, "b"))
    assert command["result"] == ["a", "b", "c"]


async def waits(ctx: Context, given: Json) -> Json:
    seen = [await ctx.wait_for_signal("go", timeout=5)]
    await ctx.sleep(1)
    seen.append(await ctx.wait_for_signal("go"))
    return seen


def test_a_timed_wait_asks_for_its_timer_and_the_signal() -> None:
    assert asked(waits) == [
        {"type": "ScheduleTimer", "seq": 1, "duration_secs": 5},
        {"type": "WaitForSignal", "name": "go", "timer_seq": 1},
    ]


def test_a_timed_wait_is_decided_by_event_seq() -> None:
    sleep = [{"type": "ScheduleTimer", "seq": 2, "duration_secs": 1}]
    assert asked(waits, signal("x")) == sleep
    assert asked(waits, signal("x"), fired(1)) == sleep
    assert asked(waits, fired(1), signal("x")) == sleep
    won = asked(waits, signal("x"), fired(1), fired(2), signal("y"))
    assert won == [{"type": "CompleteWorkflow", "result": ["x", "y"]}]
    lost = asked(waits, fired(1), signal("x"), fired(2))
    assert lost == [{"type": "CompleteWorkflow", "result": [None, "x"]}]


def test_signals_are_consumed_in_order_and_by_name() -> None:
    async def pair(ctx: Context, given: Json) -> Json:
        return [await ctx.wait_for_signal("go"), await ctx.wait_for_signal("go")]

    assert asked(pair, signal(1), signal(9, "other")) == [{"type": "WaitForSignal", "name": "go"}]
    [command] = asked(pair, signal(1), signal(9, "other"), signal(2), signal(3))
    assert command["result"] == [1, 2]


async def parent(ctx: Context, given: Json) -> Json:
    return await ctx.start_child_workflow("Child", workflow_id="c", input=1, task_queue="q")


def test_a_child_is_started_and_answered() -> None:
    [command] = asked(parent)
    assert command == {
        "type": "StartChildWorkflow",
        "workflow_type": "Child",
        "workflow_id": "c",
        "input": 1,
        "task_queue": "q",
    }
    completed = ("ChildWorkflowCompleted", {"child_workflow_id": "c", "result": 2})
    assert asked(parent, completed) == [{"type": "CompleteWorkflow", "result": 2}]
    broken = ("ChildWorkflowFailed", {"child_workflow_id": "c", "error": "no"})
    assert asked(parent, broken)[0]["error"] == "child workflow 'c' failed: no"


def test_cancellation_escapes_as_a_cancelled_run_with_its_reason() -> None:
    assert asked(two_steps, cancel("enough")) == [{"type": "CancelWorkflow", "reason": "enough"}]
    assert asked(two_steps, cancel()) == [{"type": "CancelWorkflow"}]


def test_cancellation_is_raised_at_the_first_call_nothing_before_it_answers() -> None:
    reached = []

    async def watched(ctx: Context, given: Json) -> Json:
        reached.append(await ctx.execute_activity("work"))
        reached.append(await ctx.execute_activity("work"))

    asked(watched, done(1, "before"), cancel(), done(2, "after"))
    assert reached == ["before"]


async def tidy(ctx: Context, given: Json) -> Json:
    try:
        await ctx.execute_activity("work")
    except Cancelled:
        await ctx.execute_activity("clean")
        raise


def test_cleanup_is_recorded_and_answered_and_the_raising_call_kept_its_number() -> None:
    [command] = asked(tidy, cancel())
    assert (command["name"], command["seq"]) == ("clean", 2)
    [command] = asked(tidy, cancel(), cancel(), done(1))
    assert (command["name"], command["seq"]) == ("clean", 2)
    assert asked(tidy, cancel(), done(2)) == [{"type": "CancelWorkflow"}]


def test_no_child_is_started_once_cancelled() -> None:
    async def stubborn(ctx: Context, given: Json) -> Json:
        with contextlib.suppress(Cancelled):
            await ctx.sleep(1)
        await ctx.start_child_workflow("Child", workflow_id="c")

    [command] = asked(stubborn, cancel())
    assert command["type"] == "CancelWorkflow"


def test_a_handler_may_cancel_its_own_run() -> None:
    async def quits(ctx: Context, given: Json) -> Json:
        await ctx.cancel("own wish")

    assert asked(quits) == [{"type": "CancelWorkflow", "reason": "own wish"}]


def test_calls_while_a_handler_is_abandoned_come_to_nothing() -> None:
    async def clings(ctx: Context, given: Json) -> Json:
        try:
            await ctx.sleep(1)
        finally:
            await ctx.execute_activity("too late")

    assert [command["type"] for command in asked(clings)] == ["ScheduleTimer"]


def test_a_handler_may_catch_a_failure_and_go_on() -> None:
    async def lenient(ctx: Context, given: Json) -> Json:
        with contextlib.suppress(CallFailed):
            await ctx.execute_activity("work")
        return "anyway"

    assert asked(lenient, failed(1)) == [{"type": "CompleteWorkflow", "result": "anyway"}]
