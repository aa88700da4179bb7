"""What the histories tell in the end, held against what was acknowledged and what was refused.

Runs that were deleted tell what they told then.
"""

import json
from collections import defaultdict

from tests.faults.simulation.ledger import Key, Ledger
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.trace import Broken
from tests.support.runs import Event

Told = dict[Key, list[int]]


def check_told(ledger: Ledger, rows: Rows) -> None:
    """Everything that was acknowledged is in the histories, what was refused is not."""
    told = read(rows)
    for key, operation in ledger.kept.items():
        if not told.get(key) and not ledger.is_taken_back(operation):
            raise Broken(f"acknowledged, but not in the rows: {operation}")
    for key, times in ledger.refusals.items():
        if told.get(key) and times == ledger.arrivals[key]:
            raise Broken(f"refused, but in the rows: {key}")
    for workflow_id, no in ledger.starts.items():
        run = rows.even_if_gone(no)
        if run is None or run.id != workflow_id:
            raise Broken(f"acknowledged, but not there: the start of {workflow_id}")
    for key, runs in told.items():
        if len(runs) > 1 and not (key[0] == "signal" and is_handed_on(rows, runs)):
            raise Broken(f"{len(runs)} times in the rows: {key}")


def is_handed_on(rows: Rows, runs: list[int]) -> bool:
    """Each run but the first continues another one, or has the id of one that was deleted.

    A signal is handed on to successors, and may be repeated to who has its id.
    """
    known = [run for no in runs if (run := rows.even_if_gone(no)) is not None]
    successors = {run.successor_no for run in known}
    first = [run for run in known if run.no not in successors]
    gone = all(run.no in rows.graves for run in first[:-1])
    return len({*runs}) == len(known) and len({run.id for run in first}) == 1 and gone


def read(rows: Rows) -> Told:
    """Where each thing that nobody says twice is told, by run in the order of their births."""
    told: Told = defaultdict(list)
    for no in sorted({*rows.runs, *rows.graves}):
        run = rows.even_if_gone(no)
        for event in rows.whole_history(no):
            key = key_of_event("" if run is None else run.id, event)
            if key is not None:
                told[key].append(no)
    for text in rows.late_outcomes():
        told["result", json.loads(text)["by"]].append(0)
    return told


def key_of_event(workflow_id: str, event: Event) -> Key | None:
    """What an event says that no other does."""
    said = event.payload
    match event.type:
        case "SignalReceived":
            return "signal", str(said["payload"])
        case "ActivityCompleted":
            return "result", said["result"]["by"]
        case "WorkflowCancelRequested" if said is not None and "replaced" not in said["reason"]:
            return "cancel", f"{workflow_id} {said['reason']}"
        case "WorkflowFailed" if "terminated" in said:
            return "terminate", said["error"]
        case "ActivityRetryRequested":
            return "retry", said["reason"]
        case _:
            return None
