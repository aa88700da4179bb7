"""A run that has ended goes for good."""

from msgspec.structs import replace

from assay.core.draft import Draft
from assay.errors import Conflict, NotFound
from assay.model.note import Kind
from assay.model.operations import DONE, DeleteRun, Done


def delete_run(draft: Draft, operation: DeleteRun) -> Done:
    """Links of other runs name its number, which nobody gets again: so they lead nowhere.

    Its parent remembers that the id is free again, so that it is told of one end under it only.
    """
    run = draft.run_by_id(operation.id)
    if run is None:
        raise NotFound(f"not found: workflow {operation.id}")
    if run.is_open:
        raise Conflict(f"workflow {operation.id} is {run.status}: only ended runs can be deleted")
    if run.cascade is not None:
        raise Conflict(f"the cancel request to workflow {operation.id} is still on its way down")
    if run.no in draft.runs:
        raise Conflict(f"workflow {operation.id} is being changed by the same request; ask again")
    parent = None if run.parent_no is None else draft.run(run.parent_no)
    if parent is not None:
        draft.put(replace(parent, lost_children=parent.lost_children + 1))
    for activity in draft.activities.live(run.no):
        draft.activities.drop(activity)
    draft.note(Kind.WORKFLOW_DELETED, run)
    draft.purge(run)
    return DONE
