"""What comes of a program: undisturbed, and on a history, in the engine's words."""

import json

from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
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


def answer(kind: str, input: Json, workflow_id: str, history: list[Event]) -> tuple[Command, ...]:
    """What a worker submits for this history."""
    commands = run_program(PROGRAMS[kind], input, Story(history, workflow_id))
    return tuple(command(item) for item in commands)


def command(item: dict[str, Json]) -> Command:
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
        case _:
            return ending(item)


def ending(item: dict[str, Json]) -> Command:
    """A command that ends the run."""
    match item["type"]:
        case "CompleteWorkflow":
            return CompleteWorkflow(json.dumps(item["result"]) if "result" in item else None)
        case "FailWorkflow":
            return FailWorkflow(item["error"])
        case _:
            return CancelWorkflow(item.get("reason"))
