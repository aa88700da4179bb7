"""Every way a run begins."""

from assay.core.draft import Draft
from assay.errors import Conflict, NotFound
from assay.model.events import EventType
from assay.model.ids import generated_workflow_id, run_id
from assay.model.operations import Start, Started
from assay.model.run import Run
from assay.model.states import RunStatus


def start(draft: Draft, operation: Start) -> Started:
    """A client asks for a new run."""
    if not draft.view.namespace(operation.namespace):
        raise NotFound(f"not found: namespace {operation.namespace}")
    no = draft.take_number()
    workflow_id = operation.id
    if workflow_id is None:
        workflow_id = generated_workflow_id(operation.type, no, draft.now)
    elif draft.run_by_id(workflow_id) is not None:
        raise Conflict(f"workflow id {workflow_id} is in use")
    return Started(
        open_run(
            draft,
            no=no,
            workflow_id=workflow_id,
            workflow_type=operation.type,
            namespace=operation.namespace,
            queue=operation.queue,
            input_text=operation.input,
        )
    )


def open_run(
    draft: Draft,
    *,
    no: int,
    workflow_id: str,
    workflow_type: str,
    namespace: str,
    queue: str,
    input_text: str | None,
    parent: Run | None = None,
) -> Run:
    """Record a run as pending, with its first event, and offer it."""
    now = draft.now
    run = Run(
        no=no,
        id=workflow_id,
        run_id=run_id(workflow_id, now),
        namespace=namespace,
        type=workflow_type,
        status=RunStatus.PENDING,
        created_at=now,
        updated_at=now,
        start_at=now,
        queue=queue,
        ready_at=now,
        parent_no=None if parent is None else parent.no,
        parent_id=None if parent is None else parent.id,
        child_id=None if parent is None else workflow_id,
    )
    return draft.open(draft.append(run, EventType.WORKFLOW_STARTED, input_text))
