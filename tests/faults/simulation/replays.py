"""What comes of a program: undisturbed, and on a history, in the engine's words."""

import json
from collections.abc import Callable
from random import Random

from assay.model.commands import (
    CancelTimer,
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    RecordPatch,
    RecordSideEffect,
    RecordSnapshot,
    RecordStep,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    UpsertSearchAttributes,
    WaitForSignal,
)
from assay.model.retry import RetryPolicy
from tests.faults.simulation.contexts import Ideal, Story, run_program
from tests.faults.simulation.programs import PROGRAMS
from tests.support.http import Json
from tests.support.runs import Event


def ideal(kind: str, input: Json, workflow_id: str, healed: set[str]) -> dict[str, Json]:
    """How a run ends that nobody disturbs."""
    return run_program(PROGRAMS[kind], input, Ideal(workflow_id, healed, PROGRAMS))[-1]


def answer(
    kind: str,
    input: Json,
    workflow_id: str,
    history: list[Event],
    *,
    now: float = float("inf"),
    coin: Callable[[], Json] = lambda: "nobody's",
) -> tuple[Command, ...]:
    """What a worker submits for this history."""
    story = Story(history, workflow_id, now=now, coin=coin)
    commands = run_program(PROGRAMS[kind], input, story)
    return tuple(command(item) for item in commands)


def command(item: dict[str, Json]) -> Command:  # noqa: PLR0911 - one line per command
    """A command of a replay."""
    match item["type"]:
        case "ScheduleActivity":
            options = {name: item[name] for name in RetryPolicy.__struct_fields__ if name in item}
            text = json.dumps(item["input"])
            queue = item.get("task_queue", "default")
            return ScheduleActivity(item["seq"], item["name"], queue, text, RetryPolicy(**options))
        case "ScheduleTimer":
            return ScheduleTimer(item["seq"], item["duration_secs"])
        case "WaitForSignal":
            return WaitForSignal(item["name"], item.get("timer_seq"))
        case "StartChildWorkflow":
            text = json.dumps(item["input"])
            return StartChild(item["workflow_type"], item["workflow_id"], item["task_queue"], text)
        case "CancelTimer":
            return CancelTimer(item["seq"])
        case "CompleteWorkflow" | "FailWorkflow" | "CancelWorkflow" | "ContinueAsNew":
            return ending(item)
        case _:
            return record(item)


def record(item: dict[str, Json]) -> Command:
    """A command that has something recorded."""
    match item["type"]:
        case "RecordSideEffect":
            return RecordSideEffect(item["seq"], item["name"], json.dumps(item["value"]))
        case "RecordStep":
            return RecordStep(
                item["seq"],
                item["name"],
                item["attempt"],
                json.dumps(item["result"]) if "result" in item else None,
                item.get("error"),
                item["final"],
                item.get("retry_in_secs", 0.0),
            )
        case "RecordPatch":
            return RecordPatch(item["id"])
        case "RecordSnapshot":
            return RecordSnapshot(json.dumps(item["state"]))
        case "UpsertSearchAttributes":
            return UpsertSearchAttributes(json.dumps(item["patch"]), item.get("seq"))
        case other:
            raise AssertionError(f"no command {other}")


def ending(item: dict[str, Json]) -> Command:
    """A command that ends the run."""
    match item["type"]:
        case "CompleteWorkflow":
            return CompleteWorkflow(json.dumps(item["result"]) if "result" in item else None)
        case "FailWorkflow":
            return FailWorkflow(item["error"])
        case "ContinueAsNew":
            return ContinueAsNew(json.dumps(item["input"]), tuple(item["carry"]))
        case _:
            return CancelWorkflow(item.get("reason"))


def echo(history: list[Event], dice: Random) -> tuple[Command, ...]:
    """Commands that history has answered long ago, with other values: nothing may come of them."""
    known = [again for event in history if (again := _again(event)) is not None]
    return tuple(dice.sample(known, min(3, len(known))))


def _again(event: Event) -> Command | None:  # noqa: PLR0911 - one line per event
    said = event.payload
    match event.type:
        case "SideEffectRecorded":
            return RecordSideEffect(said["side_effect_seq"], said["name"], '"echo"')
        case "StepCompleted" | "StepFailed":
            attempt = said["attempt"] + 1
            return RecordStep(said["step_seq"], said["name"], attempt, '"echo"', None, True, 0.0)
        case "StepAttemptFailed":
            seq, attempt = said["step_seq"], said["attempt"]
            return RecordStep(seq, said["name"], attempt, None, "echo", False, 0.0)
        case "PatchRecorded":
            return RecordPatch(said["patch_id"])
        case "SearchAttributesUpserted" if said["upsert_seq"] is not None:
            return UpsertSearchAttributes('{"echo": true}', said["upsert_seq"])
        case "TimerScheduled":
            return ScheduleTimer(said["timer_seq"], 0.0)
        case "ActivityScheduled":
            name, queue = said["name"], said["task_queue"]
            return ScheduleActivity(said["activity_seq"], name, queue, None, RetryPolicy())
        case _:
            return None
