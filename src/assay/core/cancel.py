"""A cancel request: the run is asked to stop, and every run below it.

Up to `CASCADE_AT_ONCE` runs are asked in one batch, on `LEVELS_AT_ONCE` levels. A run whose
children are still to be asked carries the request's payload in `cascade`; that is a deadline which
is due at once, so the rest follows durably, in steps of the same size
(tests/unit/core/test_cancel.py).
"""

from functools import partial

from msgspec.structs import replace

from assay.core.claim import offer_at_once
from assay.core.close_run import close_run, silence
from assay.core.draft import Draft
from assay.core.payload import payload
from assay.core.view import CHILDREN_AT_ONCE, Missing, look_at_all
from assay.errors import NotFound
from assay.model.events import EventType
from assay.model.operations import DONE, Cancel, Done
from assay.model.run import Run
from assay.model.states import RunStatus

CASCADE_AT_ONCE = CHILDREN_AT_ONCE - 1
LEVELS_AT_ONCE = 16


def cancel(draft: Draft, operation: Cancel) -> Done:
    """A client asks a run to stop."""
    run = draft.run_by_id(operation.id)
    if run is None or not run.is_open:
        raise NotFound(f"not found: workflow {operation.id} not found or already terminal")
    text = "null" if operation.reason is None else payload(reason=operation.reason)
    if run.cancel_seq is not None:
        _ask_again(draft, run, text)
        return DONE
    _ask(draft, run, text)
    cascade(draft, run.no, text)
    return DONE


def continue_cascade(draft: Draft, run: Run) -> None:
    """The part of a cascade that did not fit into the batch before."""
    text = run.cascade
    if text is not None and draft.cascaded < CASCADE_AT_ONCE:
        draft.put(replace(run, cascade=None))
        cascade(draft, run.no, text)


def cascade(draft: Draft, run_no: int, text: str) -> None:
    """Ask everything below a run, level by level, as far as one batch goes."""
    level = [run_no]
    for _ in range(LEVELS_AT_ONCE):
        below: list[int] = []
        for at in range(len(level)):
            if not _ask_children(draft, level[at:], below, text):
                _leave_for_later(draft, [*level[at:], *below], text)
                return
        if not below:
            return
        level = below
    _leave_for_later(draft, level, text)


def _ask_children(draft: Draft, parents: list[int], below: list[int], text: str) -> bool:
    """Ask the children of the first of these; False when this batch has asked enough."""
    try:
        children, whole = draft.unasked_children(parents[0])
    except Missing:
        look_at_all(partial(draft.unasked_children, no) for no in parents)
        raise
    for child in children:
        if draft.cascaded == CASCADE_AT_ONCE:
            return False
        draft.cascaded += 1
        _ask(draft, child, text)
        below.append(child.no)
    return whole


def _ask(draft: Draft, run: Run, text: str) -> None:
    event_text = None if text == "null" else text
    pending = run.status is RunStatus.PENDING
    run = draft.append(run, EventType.WORKFLOW_CANCEL_REQUESTED, event_text)
    run = replace(run, cancel_seq=run.last_seq)
    if pending:
        close_run(draft, run, RunStatus.CANCELLED, EventType.WORKFLOW_CANCELLED, event_text)
        return
    silence(draft, run)
    draft.put(offer_at_once(run, draft.now))


def _ask_again(draft: Draft, run: Run, text: str) -> None:
    event_text = None if text == "null" else text
    run = draft.append(run, EventType.WORKFLOW_CANCEL_REQUESTED, event_text)
    draft.put(offer_at_once(run, draft.now))


def _leave_for_later(draft: Draft, parents: list[int], text: str) -> None:
    for no in parents:
        run = draft.run(no)
        if run is not None:
            draft.put(replace(run, cascade=text))
