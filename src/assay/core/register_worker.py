"""A worker introduces itself; it may bring the code that blocked runs of its queue wait for."""

from functools import partial

from assay.core.claim import is_held_back, offer_at_once
from assay.core.draft import Draft
from assay.core.view import look_at_all
from assay.errors import NotFound
from assay.model.operations import DONE, Done, RegisterWorker
from assay.model.run import Run
from assay.model.worker import Worker


def register_worker(draft: Draft, operation: RegisterWorker) -> Done:
    """Durable before it is answered: its polls yield tasks of this namespace only, from now on."""
    worker = operation.worker
    if not draft.namespace(worker.namespace):
        raise NotFound(f"not found: namespace {worker.namespace}")
    # Those of this batch too: what it has blocked stands in no row yet.
    nos = dict.fromkeys([*draft.view.blocked_runs(worker.queue), *draft.runs])
    look_at_all(partial(draft.run, no) for no in nos)
    for no in nos:
        run = draft.run(no)
        if run is None or not _waits_for(run, worker):
            continue
        if is_held_back(run, draft.now):
            draft.put(offer_at_once(run, draft.now))
        elif run.blocked is None and no not in draft.runs:
            draft.put(run)  # as it was read it is blocked: what was kept of it is old
    draft.workers.append(worker)
    return DONE


def _waits_for(run: Run, worker: Worker) -> bool:
    return (run.namespace, run.queue) == (worker.namespace, worker.queue)
