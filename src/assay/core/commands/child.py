"""A run starts another one and will be told how it ended."""

from msgspec.structs import replace

from assay.core.claim import offer
from assay.core.close_run import append_child_outcome
from assay.core.draft import Draft
from assay.core.open_run import Opening, open_run
from assay.core.payload import payload
from assay.model.commands import StartChild
from assay.model.events import EventType
from assay.model.ids import run_id
from assay.model.run import Run


def start_child(draft: Draft, run: Run, command: StartChild) -> Run:
    """A new child; or the id is taken, and then what that means is told at once.

    An id that is free again may have had its outcome: there is no second one, so nothing is begun.
    """
    if run.cancel_seq is not None:
        return run
    taken = draft.run_by_id(command.id)
    if taken is not None:
        return _id_taken(draft, run, command, taken)
    if run.lost_children and draft.is_told(run, command.id):
        return draft.put(offer(run, draft.now))
    text = payload(child_workflow_id=command.id, workflow_type=command.type)
    run = draft.put(draft.append(run, EventType.CHILD_WORKFLOW_STARTED, text))
    opening = Opening(
        id=command.id,
        type=command.type,
        namespace=run.namespace,
        queue=command.queue,
        input=command.input,
        run_id=run_id(command.id, draft.now),
        parent_no=run.no,
        parent_id=run.id,
        child_id=command.id,
    )
    open_run(draft, draft.take_number(), opening)
    return run


def _id_taken(draft: Draft, run: Run, command: StartChild, taken: Run) -> Run:
    """Our own child: nothing while it runs, its outcome if it has ended. Another run: a failure."""
    if taken.no != run.no:
        draft.put(taken)
    # A successor of a child answers under the id its parent knows, under no other.
    own = taken.parent_no == run.no and taken.child_id == command.id
    last = _last_link(draft, taken) if own else taken
    if own and last is not None and last.is_open:
        return run
    if not draft.is_told(run, command.id):
        if not own:
            text = _failed(command.id, f"workflow id {command.id} is in use by another run")
            run = draft.append(run, EventType.CHILD_WORKFLOW_FAILED, text)
            run = replace(run, lost_children=run.lost_children + 1)
        elif last is None:
            text = _failed(command.id, "the run it continued as was deleted")
            run = draft.append(run, EventType.CHILD_WORKFLOW_FAILED, text)
        else:
            run = append_child_outcome(draft, run, last, draft.result_of(last))
    return draft.put(offer(run, draft.now))


def _last_link(draft: Draft, child: Run) -> Run | None:
    """The child, or the run it has become; None if that is gone."""
    last = draft.last_link(child)
    if last is not None and last.no != child.no:
        draft.put(last)
    return last


def _failed(child_id: str, error: str) -> str:
    return payload(child_workflow_id=child_id, error=error)
