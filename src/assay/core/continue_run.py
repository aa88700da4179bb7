"""A run goes on as a new one: by its handler's wish or an operator's."""

import re

from msgspec.structs import replace

from assay.core.close_run import close_run
from assay.core.draft import Draft
from assay.core.free_id import free_id
from assay.core.open_run import Opening, open_run
from assay.core.payload import payload
from assay.errors import Conflict, NotFound
from assay.model.events import Event, EventType
from assay.model.ids import run_id
from assay.model.operations import Continued, ContinueRun
from assay.model.run import Run
from assay.model.states import RunStatus
from assay.model.time import MICROS

_CONTINUED = re.compile(r"-continued-[0-9]+(?:-[0-9]+)?\Z")


def continue_run(draft: Draft, operation: ContinueRun) -> Continued:
    """An operator starts the successor of a run. One that has ended keeps its end."""
    run = draft.run_by_id(operation.id)
    if run is None:
        raise NotFound(f"not found: workflow {operation.id}")
    new_id = operation.new_id
    if new_id is None:
        new_id = derived_id(draft, run)
    elif draft.run_by_id(new_id) is not None:
        raise Conflict(f"workflow id {new_id} is in use")
    if run.is_open:
        successor = succeed(draft, run, new_id, operation.input)
    else:
        draft.put(run)
        successor = _open_successor(draft, run, new_id, operation.input)
    return Continued(successor, operation.input)


def succeed(
    draft: Draft, run: Run, new_id: str, input_text: str | None, carried: tuple[Event, ...] = ()
) -> Run:
    """End an open run and begin its successor, which gets the carried signals."""
    successor = _open_successor(draft, run, new_id, input_text)
    for event in carried:
        successor = draft.append(successor, EventType.SIGNAL_RECEIVED, event.payload)
    draft.put(successor)
    close_run(
        draft,
        replace(run, successor_no=successor.no),
        RunStatus.COMPLETED,
        EventType.WORKFLOW_CONTINUED_AS_NEW,
        payload(new_workflow_id=new_id),
    )
    return successor


def derived_id(draft: Draft, run: Run) -> str:
    """The id of a successor nobody named (contract §8.7)."""
    base = _CONTINUED.sub("", run.id)
    return free_id(draft, f"{base}-continued-{draft.now // MICROS}")


def _open_successor(draft: Draft, run: Run, new_id: str, input_text: str | None) -> Run:
    # A parent that was deleted is nobody's parent any more.
    parent = None if run.parent_no is None else draft.run(run.parent_no)
    opening = Opening(
        id=new_id,
        type=run.type,
        namespace=run.namespace,
        queue=run.queue,
        input=input_text,
        run_id=run_id(new_id, draft.now),
        parent_no=None if parent is None else parent.no,
        parent_id=None if parent is None else parent.id,
        child_id=run.child_id,
        search_attributes=run.search_attributes,
        timeout_secs=run.timeout_secs,
    )
    return open_run(draft, draft.take_number(), opening)
