"""A run starts another one and will be told how it ended."""

from assay.core.claim import offer
from assay.core.close_run import append_child_outcome
from assay.core.draft import Draft
from assay.core.open_run import open_run
from assay.core.payload import payload
from assay.model.commands import StartChild
from assay.model.events import EventType
from assay.model.run import Run


def start_child(draft: Draft, run: Run, command: StartChild) -> Run:
    """A new child; or the id is taken, and then what that means is told at once."""
    if run.cancel_seq is not None:
        return run
    taken = draft.run_by_id(command.id)
    if taken is not None:
        return _id_taken(draft, run, command, taken)
    text = payload(child_workflow_id=command.id, workflow_type=command.type)
    run = draft.put(draft.append(run, EventType.CHILD_WORKFLOW_STARTED, text))
    open_run(
        draft,
        no=draft.take_number(),
        workflow_id=command.id,
        workflow_type=command.type,
        namespace=run.namespace,
        queue=command.queue,
        input_text=command.input,
        parent=run,
    )
    return run


def _id_taken(draft: Draft, run: Run, command: StartChild, taken: Run) -> Run:
    """Our own child: nothing while it runs, its outcome if it has ended. Another run: a failure."""
    if taken.no != run.no:
        draft.put(taken)
    if taken.parent_no == run.no and taken.is_open:
        return run
    if not draft.is_told(run, command.id):
        if taken.parent_no == run.no:
            run = append_child_outcome(draft, run, taken, draft.result_of(taken))
        else:
            error = f"workflow id {command.id} is in use by another run"
            text = payload(child_workflow_id=command.id, error=error)
            run = draft.append(run, EventType.CHILD_WORKFLOW_FAILED, text)
    return draft.put(offer(run, draft.now))
