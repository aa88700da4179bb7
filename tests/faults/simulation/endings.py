"""How every run ended, against its program: replayed on its history, and undisturbed."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model.commands import CancelWorkflow, Command, CompleteWorkflow, FailWorkflow
from tests.faults.simulation.invariants import check_rows
from tests.faults.simulation.replays import answer, ideal
from tests.faults.simulation.rows import RunRow, parsed
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

DISTURBED = """SELECT DISTINCT run.id FROM event JOIN run ON run.no = event.run_no
               WHERE event.type = 'WorkflowCancelRequested'
                  OR event.type = 'WorkflowFailed'
                     AND json_extract(event.payload, '$.terminated') ORDER BY run.id"""


def check_endings(world: "World") -> None:
    """Every run, its rows and its result."""
    connection = world.store._connection
    check_rows(connection, sorted(world.rows.runs))
    disturbed = [row[0] for row in connection.execute(DISTURBED)]
    for run in world.rows.runs.values():
        history = world.rows.history(run.no)
        ending = history[-1]
        _replays(world, run, history)
        related = [id for id in disturbed if f"{id}.".startswith(f"{run.id}.")]
        above = [id for id in disturbed if f"{run.id}.".startswith(f"{id}.")]
        if not related and not above and not run.id.startswith("claimed"):
            _undisturbed(world, run, history[0].payload, ending)


def _replays(world: "World", run: RunRow, history: list[Event]) -> None:
    """A replay of what led to the end asks for that end, and for nothing else.

    A cancel request may have come after the worker had its history: it decided without it.
    """
    ending = history[-1]
    if ending.type == "WorkflowFailed" and "terminated" in ending.payload:
        return
    if ending.type == "WorkflowCancelled" and history[-2].type == "WorkflowCancelRequested":
        return
    seen = [at for at, event in enumerate(history) if event.type == "WorkflowCancelRequested"]
    tries = [
        answer(world.kinds[run.id], history[0].payload, run.id, history[:end])
        for end in (len(history) - 1, *seen)
    ]
    if not any(agrees(commands, ending) for commands in tries):
        raise Broken(f"{run.id} ended with {ending}, its replay asks for {tries[0]}")


def agrees(commands: Sequence[Command], ending: Event) -> bool:
    """Whether these commands bring that end about."""
    match commands[-1:], ending.type:
        case (CompleteWorkflow(result=text),), "WorkflowCompleted":
            return bool(parsed(text) == ending.payload)
        case (FailWorkflow(error=error),), "WorkflowFailed":
            return bool(error == ending.payload["error"])
        case (CancelWorkflow(),), "WorkflowCancelled":
            return True
        case _:
            return False


ENDINGS = {
    "CompleteWorkflow": "WorkflowCompleted",
    "FailWorkflow": "WorkflowFailed",
    "CancelWorkflow": "WorkflowCancelled",
}


def _undisturbed(world: "World", run: RunRow, input: Json, ending: Event) -> None:
    expected = ideal(world.kinds[run.id], input, run.id, world.healed)
    result = expected.get("result")
    same = ending.type == ENDINGS[expected["type"]]
    if same and ending.type == "WorkflowCompleted" and "race" not in json.dumps(result):
        same = ending.payload == result
    if not same:
        raise Broken(f"{run.id} ended with {ending}, undisturbed it ends with {expected}")
