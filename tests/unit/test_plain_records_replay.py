"""The plain worker's replay of recorded calls: what it runs, what it has kept, and when."""

from __future__ import annotations

import time

from tests.support.http import Json
from tests.support.plain_records import Handler, RecordingContext, replay
from tests.support.plain_replay import Commands
from tests.support.runs import Event


def asked(handler: Handler, *happened: tuple[str, Json], at: float = 0.0) -> Commands:
    """Replay over WorkflowStarted and what happened since."""
    whole = [("WorkflowStarted", None), *happened]
    history = [Event(seq, kind, payload, at) for seq, (kind, payload) in enumerate(whole, 1)]
    return replay(handler, None, RecordingContext(history))


def recorded(seq: int, value: Json) -> tuple[str, Json]:
    return "SideEffectRecorded", {"side_effect_seq": seq, "name": "x", "value": value}


def stepped(seq: int, attempt: int = 1, **outcome: Json) -> tuple[str, Json]:
    kind = "StepAttemptFailed" if "retry_in_secs" in outcome else "StepFailed"
    kind = "StepCompleted" if "result" in outcome else kind
    return kind, {"step_seq": seq, "name": "add", "attempt": attempt, **outcome}


PATCHED = ("PatchRecorded", {"patch_id": "new"})
SIGNAL = ("SignalReceived", {"signal": "go", "payload": 1})


async def effects(ctx: RecordingContext, given: Json) -> Json:
    return [await ctx.side_effect("x", lambda: None), await ctx.side_effect("y", lambda: 2)]


def test_a_side_effect_is_answered_by_its_presence() -> None:
    assert asked(effects) == [{"type": "RecordSideEffect", "seq": 1, "name": "x", "value": None}]
    [command] = asked(effects, recorded(1, None))
    assert (command["seq"], command["value"]) == (2, 2)
    [command] = asked(effects, recorded(1, None), recorded(2, 5))
    assert command["result"] == [None, 5]


def add(attempt: int) -> Json:
    if attempt < 3:
        raise RuntimeError(f"slip {attempt}")
    return attempt


async def steps(ctx: RecordingContext, given: Json) -> Json:
    return await ctx.step(add, retry_in_secs=5)


def test_a_step_goes_on_with_the_next_attempt_once_its_time_has_come() -> None:
    [command] = asked(steps)
    assert command == {
        "type": "RecordStep",
        "seq": 1,
        "name": "add",
        "attempt": 1,
        "error": "slip 1",
        "final": False,
        "retry_in_secs": 5,
    }
    slipped = stepped(1, error="slip", retry_in_secs=5)
    assert asked(steps, slipped, at=time.time()) == []
    [command] = asked(steps, slipped)
    assert (command["attempt"], command["final"]) == (2, False)
    [command] = asked(steps, slipped, stepped(1, 2, error="slip", retry_in_secs=5))
    assert (command["attempt"], command["result"]) == (3, 3)


def test_a_step_is_answered_by_its_final_outcome() -> None:
    assert asked(steps, stepped(1, result=7))[0]["result"] == 7
    assert asked(steps, stepped(1, error="no"))[0]["error"] == "step 'add' failed: no"


async def changed(ctx: RecordingContext, given: Json) -> Json:
    before = ctx.patched("new")
    await ctx.sleep(1)
    return [before, ctx.patched("new"), ctx.patched("newer")]


def test_a_patch_is_taken_where_nothing_is_behind_it() -> None:
    patch, timer = asked(changed)
    assert patch == {"type": "RecordPatch", "id": "new"}
    assert timer["type"] == "ScheduleTimer"
    fired = ("TimerFired", {"timer_seq": 1, "fire_at": 0})
    later, ended = asked(changed, fired)
    assert later == {"type": "RecordPatch", "id": "newer"}
    assert ended["result"] == [False, False, True]
    ended = asked(changed, PATCHED, fired)[-1]
    assert ended["result"] == [True, True, True]


async def notes(ctx: RecordingContext, given: Json) -> Json:
    seen = 0
    ctx.register_query("seen", lambda: seen)
    ctx.register_query("broken", lambda: given["nothing"])
    ctx.upsert_search_attributes({"a": 1})
    ctx.patched("new")
    seen = await ctx.side_effect("x", lambda: 1)
    ctx.upsert_search_attributes({"a": 2})
    await ctx.wait_for_signal("go")
    await ctx.continue_as_new(seen)


def test_snapshot_upserts_and_patches_go_out_before_what_ends_the_replay() -> None:
    assert [command["type"] for command in asked(notes)] == [
        "RecordSnapshot",
        "UpsertSearchAttributes",
        "RecordPatch",
        "RecordSideEffect",
    ]
    upserted = ("SearchAttributesUpserted", {"upsert_seq": 1, "patch": {"a": 1}})
    commands = asked(notes, upserted, PATCHED, recorded(1, 9))
    assert commands == [
        {"type": "RecordSnapshot", "state": {"seen": 9}},
        {"type": "UpsertSearchAttributes", "patch": {"a": 2}, "seq": 2},
        {"type": "WaitForSignal", "name": "go"},
    ]


def test_signals_that_were_not_taken_go_along() -> None:
    commands = asked(notes, PATCHED, recorded(1, 9), SIGNAL, SIGNAL, SIGNAL)
    assert commands[-1] == {"type": "ContinueAsNew", "input": 9, "carry": [5, 6]}
