"""An operator ends a run without asking it. Its children go on."""

from assay.core.close_run import close_run
from assay.core.draft import Draft
from assay.core.payload import payload
from assay.errors import NotFound
from assay.model.events import EventType
from assay.model.operations import DONE, Done, Terminate
from assay.model.states import RunStatus


def terminate(draft: Draft, operation: Terminate) -> Done:
    """FAILED, with the reason as its error."""
    run = draft.run_by_id(operation.id)
    if run is None or not run.is_open:
        raise NotFound(f"not found: workflow {operation.id} not found or already terminal")
    error = "terminated" if operation.reason is None else operation.reason
    text = payload(error=error, terminated=True)
    close_run(draft, run, RunStatus.FAILED, EventType.WORKFLOW_FAILED, text, error=error)
    return DONE
