"""A signal reaches a run."""

from assay.core.claim import offer
from assay.core.draft import Draft
from assay.core.payload import payload, raw
from assay.core.waits import signal_arrived
from assay.errors import Conflict, NotFound
from assay.model.events import EventType
from assay.model.operations import DONE, Done, Signal


def signal(draft: Draft, operation: Signal) -> Done:
    """History is the only source: the signal is an event, and the run has news."""
    run = draft.run_by_id(operation.id)
    if run is None:
        raise NotFound(f"not found: workflow {operation.id}")
    request_id = operation.request_id
    if request_id is not None:
        if draft.is_repeat(run, request_id):
            return DONE
        draft.keep_request(run, request_id)
    if not run.is_open:
        raise Conflict(f"workflow {operation.id} is {run.status} and takes no signal")
    text = payload(signal=operation.name, payload=raw(operation.payload))
    run = draft.append(signal_arrived(run, operation.name), EventType.SIGNAL_RECEIVED, text)
    draft.put(offer(run, draft.now))
    return DONE
