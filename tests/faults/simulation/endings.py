"""How every run ended, against its program: replayed on its history, and undisturbed."""

import json
from typing import TYPE_CHECKING

from assay.model.commands import CancelWorkflow, CompleteWorkflow, FailWorkflow
from tests.faults.simulation.invariants import check_rows
from tests.faults.simulation.network import parsed
from tests.faults.simulation.programs import answer, ideal
from tests.faults.simulation.rows import RunRow
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

STANDING = """SELECT seq, type, payload, at FROM event
              WHERE run_no = ? AND voided_by IS NULL ORDER BY seq"""
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
        history = [
            Event(seq, kind, parsed(text), at)
            for seq, kind, text, at in connection.execute(STANDING, (run.no,))
        ]
        ending = history[-1]
        _replays(world, run, history)
        related = [id for id in disturbed if f"{id}.".startswith(f"{run.id}.")]
        above = [id for id in disturbed if f"{run.id}.".startswith(f"{id}.")]
        if not related and not above and not run.id.startswith("claimed"):
            _undisturbed(world, run, history[0].payload, ending)


def _replays(world: "World", run: RunRow, history: list[Event]) -> None:
    """A replay of what led to the end asks for that end, and for nothing else."""
    ending = history[-1]
    if ending.type == "WorkflowFailed" and "terminated" in ending.payload:
        return
    if ending.type == "WorkflowCancelled" and history[-2].type == "WorkflowCancelRequested":
        return
    commands = answer(world.kinds[run.id], history[0].payload, run.id, history[:-1])
    match commands[-1:], ending.type:
        case (CompleteWorkflow(result=text),), "WorkflowCompleted":
            agrees = parsed(text) == ending.payload
        case (FailWorkflow(error=error),), "WorkflowFailed":
            agrees = error == ending.payload["error"]
        case (CancelWorkflow(),), "WorkflowCancelled":
            agrees = True
        case _:
            agrees = False
    if not agrees:
        raise Broken(f"{run.id} ended with {ending}, its replay asks for {commands}")


def _undisturbed(world: "World", run: RunRow, input: Json, ending: Event) -> None:
    expected = ideal(world.kinds[run.id], input, run.id, world.healed)
    if ending.type != expected["type"].replace("Complete", "").replace("Fail", "").replace(
        "Cancel", ""
    ) + {"CompleteWorkflow": "Completed", "FailWorkflow": "Failed", "CancelWorkflow": "Cancelled"}[
        expected["type"]
    ]:
        raise Broken(f"{run.id} ended with {ending}, undisturbed it ends with {expected}")
    result = expected.get("result")
    if expected["type"] == "CompleteWorkflow" and "race" not in json.dumps(result):
        if ending.payload != result:
            raise Broken(f"{run.id} came to {ending.payload}, undisturbed to {result}")
