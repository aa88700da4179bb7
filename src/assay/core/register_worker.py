"""A worker introduces itself."""

from assay.core.draft import Draft
from assay.errors import NotFound
from assay.model.operations import DONE, Done, RegisterWorker


def register_worker(draft: Draft, operation: RegisterWorker) -> Done:
    """Durable before it is answered: its polls yield tasks of this namespace only, from now on."""
    if not draft.view.namespace(operation.worker.namespace):
        raise NotFound(f"not found: namespace {operation.worker.namespace}")
    draft.workers.append(operation.worker)
    return DONE
