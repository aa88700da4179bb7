"""Every way a run begins."""

from msgspec import Struct

from assay.core.attributes import with_engine_version
from assay.core.draft import Draft
from assay.errors import Conflict, NotFound
from assay.model.events import EventType
from assay.model.ids import generated_workflow_id, run_id
from assay.model.operations import Start, Started
from assay.model.run import Run
from assay.model.states import RunStatus
from assay.model.time import micros


class Opening(Struct, frozen=True, gc=False):
    """What a new run is made of. `child_id` is the id under which its parent knows it."""

    id: str
    type: str
    namespace: str
    queue: str
    input: str | None
    run_id: str
    parent_no: int | None = None
    parent_id: str | None = None
    child_id: str | None = None
    search_attributes: str | None = None
    timeout_secs: float | None = None
    delay: int = 0


def start(draft: Draft, operation: Start, version: str) -> Started:
    """A client asks for a new run, or for one that is there: though its namespace may be gone."""
    workflow_id = operation.id
    taken = None if workflow_id is None else draft.run_by_id(workflow_id)
    if taken is not None and _will_do(operation, taken):
        return Started(taken, existing=True)
    if not draft.namespace(operation.namespace):
        raise NotFound(f"not found: namespace {operation.namespace}")
    if taken is not None:
        raise Conflict(f"workflow id {taken.id} is in use")
    no = draft.take_number()
    if workflow_id is None:
        workflow_id = generated_workflow_id(operation.type, no, draft.now)
    opening = Opening(
        id=workflow_id,
        type=operation.type,
        namespace=operation.namespace,
        queue=operation.queue,
        input=operation.input,
        run_id=run_id(workflow_id, draft.now),
        search_attributes=with_engine_version(operation.search_attributes, version),
        timeout_secs=operation.timeout_secs,
        delay=micros(operation.delay_secs),
    )
    return Started(open_run(draft, no, opening))


def open_run(draft: Draft, no: int, opening: Opening) -> Run:
    """Record a run as pending, with its first event, and offer it."""
    now = draft.now
    start_at = now + opening.delay
    timeout = opening.timeout_secs
    run = Run(
        no=no,
        id=opening.id,
        run_id=opening.run_id,
        namespace=opening.namespace,
        type=opening.type,
        status=RunStatus.PENDING,
        created_at=now,
        updated_at=now,
        start_at=start_at,
        queue=opening.queue,
        ready_at=start_at,
        parent_no=opening.parent_no,
        parent_id=opening.parent_id,
        child_id=opening.child_id,
        search_attributes=opening.search_attributes,
        timeout_secs=timeout,
        timeout_at=None if timeout is None else start_at + micros(timeout),
    )
    return draft.open(draft.append(run, EventType.WORKFLOW_STARTED, opening.input))


def _will_do(operation: Start, taken: Run) -> bool:
    """Whether the run that has the id already is what the caller asked for."""
    like = taken.namespace == operation.namespace and taken.type == operation.type
    return operation.use_existing and like
