"""How every run ended, against its program: replayed on its history, and undisturbed."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
)
from tests.faults.simulation.chains import signals
from tests.faults.simulation.invariants import check_rows
from tests.faults.simulation.programs_of_records import attributes_of_tagger
from tests.faults.simulation.replays import answer, ideal
from tests.faults.simulation.row_types import RunRow
from tests.faults.simulation.rows import parsed
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

DISTURBED = """SELECT DISTINCT run_no FROM event WHERE type = 'WorkflowCancelRequested'
               OR type = 'WorkflowTimedOut' OR type = 'WorkflowFailed'
               AND json_extract(payload, '$.terminated') ORDER BY run_no"""


def check_endings(world: "World") -> None:
    """Every run, its rows and its result; of those that were deleted what they had told."""
    rows = world.rows
    check_rows(rows.connection, sorted(rows.runs))
    for grave in rows.graves.values():
        _replays(world, grave.run, standing(grave.history))
    disturbed = {row[0] for row in rows.connection.execute(DISTURBED)}
    disturbed |= {run.no for run in rows.runs.values() if run.id in world.chains.operated}
    # Who has the id of a run that was deleted may find children of that one.
    gone = {grave.run.id for grave in rows.graves.values()}
    disturbed |= {run.no for run in rows.runs.values() if run.id in gone}
    # Nobody can tell any more what became of a chain with a link that is gone, or who was asked to
    # stop and is gone since.
    graves = {no: grave.run for no, grave in rows.graves.items()}
    cut = [
        run for run in graves.values() if run.successor_no is not None or run.cancel_seq is not None
    ]
    disturbed |= {run.no for run in cut}
    near = reached({**graves, **rows.runs}, disturbed)
    for run in rows.runs.values():
        history = rows.history(run.no)
        _replays(world, run, history)
        if run.no not in near and not run.id.startswith("claimed"):
            _undisturbed(world, run, history[0].payload, history[-1])
        if run.type == "tagger" and history[-1].type == "WorkflowCompleted":
            _tagged(run, history[0].payload)


def standing(history: list[Event]) -> list[Event]:
    """A history without what operator retries took back: only the last end is looked at."""
    retried = any(event.type == "ActivityRetryRequested" for event in history)
    return [] if retried else history


def reached(runs: dict[int, RunRow], disturbed: set[int]) -> set[int]:
    """These runs, all below and after them, and all above and before those."""
    before = {run.successor_no: run.no for run in runs.values() if run.successor_no}
    above = {no: {run.parent_no, before.get(no)} for no, run in runs.items()}
    below: dict[int, set[int]] = {no: set() for no in runs}
    for no, names in above.items():
        for name in names & runs.keys():
            below[name or 0].add(no)
    found: set[int] = set()
    for ways in (above, below):
        seen, left = set(disturbed), list(disturbed)
        while left:
            new = {no for no in ways.get(left.pop(), set()) if no} - seen
            seen |= new
            left += new
        found |= seen
    return found


def _replays(world: "World", run: RunRow, history: list[Event]) -> None:
    """A replay of what led to the end asks for that end, and for nothing else.

    A cancel request may have come after the worker had its history: it decided without it.
    """
    if not history or run.id in world.chains.operated:
        return
    ending = history[-1]
    if ending.type == "WorkflowTimedOut":
        return
    if ending.type == "WorkflowFailed" and "terminated" in ending.payload:
        return
    if ending.type == "WorkflowCancelled" and history[-2].type == "WorkflowCancelRequested":
        return
    seen = [at for at, event in enumerate(history) if event.type == "WorkflowCancelRequested"]
    tries = [
        answer(run.type, history[0].payload, run.id, history[:end])
        for end in (len(history) - 1, *seen)
    ]
    if not any(agrees(world, run, history, commands) for commands in tries):
        raise Broken(f"{run.id} ended with {ending}, its replay asks for {tries[0]}")


def agrees(world: "World", run: RunRow, history: list[Event], commands: Sequence[Command]) -> bool:
    """Whether these commands bring that end about."""
    ending = history[-1]
    match commands[-1:], ending.type:
        case (CompleteWorkflow(result=text),), "WorkflowCompleted":
            return bool(parsed(text) == ending.payload)
        case (FailWorkflow(error=error),), "WorkflowFailed":
            return bool(error == ending.payload["error"])
        case (CancelWorkflow(),), "WorkflowCancelled":
            return True
        case (ContinueAsNew(input=text, carry=carry),), "WorkflowContinuedAsNew":
            return _goes_on(world, run, history, (parsed(text), carry))
        case _:
            return False


def _goes_on(
    world: "World", run: RunRow, history: list[Event], asked: tuple[Json, tuple[int, ...]]
) -> bool:
    """The successor began with that input, and with these signals first."""
    input, carry = asked
    no = run.successor_no or 0
    if world.rows.even_if_gone(no) is None:
        return False
    began = world.rows.whole_history(no)
    born_with = world.chains.carried[no]
    got = [event.payload for event in signals(began) if event.seq in born_with]
    by_seq = {event.seq: event.payload for event in history}
    return bool(began[0].payload == input and got == [by_seq[seq] for seq in carry])


ENDINGS = {
    "CompleteWorkflow": "WorkflowCompleted",
    "FailWorkflow": "WorkflowFailed",
    "CancelWorkflow": "WorkflowCancelled",
    "ContinueAsNew": "WorkflowContinuedAsNew",
}


def _undisturbed(world: "World", run: RunRow, input: Json, ending: Event) -> None:
    expected = ideal(run.type, input, run.id, world.healed)
    result = expected.get("result")
    same = ending.type == ENDINGS[expected["type"]]
    if same and ending.type == "WorkflowCompleted" and "race" not in json.dumps(result):
        same = ending.payload == result
    if not same:
        raise Broken(f"{run.id} ended with {ending}, undisturbed it ends with {expected}")


def _tagged(run: RunRow, input: Json) -> None:
    """What a tagger has set is there, whatever came between."""
    has = json.loads(run.search_attributes or "{}")
    missing = [
        name for name, value in attributes_of_tagger(input).items() if has.get(name) != value
    ]
    if missing or ("assay_engine_version" not in has and run.parent_no is None):
        raise Broken(f"{run.id} has {has}, without {missing}")
