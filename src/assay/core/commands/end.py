"""A handler ends its run."""

from assay.core.close_run import close_run
from assay.core.draft import Draft
from assay.core.payload import failure_of, payload
from assay.model.commands import CancelWorkflow, CompleteWorkflow, FailWorkflow
from assay.model.events import EventType
from assay.model.run import Run
from assay.model.states import RunStatus


def complete_workflow(draft: Draft, run: Run, command: CompleteWorkflow) -> Run:
    """The handler returned: the result itself is the event's payload."""
    return close_run(draft, run, RunStatus.COMPLETED, EventType.WORKFLOW_COMPLETED, command.result)


def fail_workflow(draft: Draft, run: Run, command: FailWorkflow) -> Run:
    """The handler raised."""
    text = payload(error=command.error, **failure_of(command.failure))
    return close_run(
        draft, run, RunStatus.FAILED, EventType.WORKFLOW_FAILED, text, error=command.error
    )


def cancel_workflow(draft: Draft, run: Run, command: CancelWorkflow) -> Run:
    """The handler ended as cancelled, after a request or by itself."""
    text = None if command.reason is None else payload(reason=command.reason)
    return close_run(draft, run, RunStatus.CANCELLED, EventType.WORKFLOW_CANCELLED, text)
