"""A cancel request: the run is asked to stop, and every run below it.

Up to `CASCADE_AT_ONCE` runs are asked in one batch, on `LEVELS_AT_ONCE` levels. A run whose
children are still to be asked carries the request's payload in `cascade`; that is a deadline which
is due at once, so the rest follows durably, in steps of the same size
(tests/unit/core/test_cancel.py).

Of a run only the first request goes down, so the run's number names it: whom it reaches is marked
with that (`asked_by`), and is not asked by it again. Who was reached by another request before is.
Where a request comes to a run from which an earlier one is still on its way down, it takes over:
nothing below is left to two of them, and each has an end.
"""

from functools import partial
from typing import NamedTuple

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


class _Request(NamedTuple):
    """The run whose request it is, and the payload of its event."""

    asker: int
    text: str


def cancel(draft: Draft, operation: Cancel) -> Done:
    """A client asks a run to stop."""
    run = draft.run_by_id(operation.id)
    if run is None or not run.is_open:
        raise NotFound(f"not found: workflow {operation.id} not found or already terminal")
    text = "null" if operation.reason is None else payload(reason=operation.reason)
    if run.cancel_seq is not None:
        _ask(draft, run, text)
        return DONE
    _ask(draft, replace(run, asked_by=run.no), text)
    _cascade(draft, run.no, _Request(run.no, text))
    return DONE


def continue_cascade(draft: Draft, run: Run) -> None:
    """The part of a cascade that did not fit into the batch before."""
    text, asker = run.cascade, run.asked_by
    if text is not None and asker is not None and draft.cascaded < CASCADE_AT_ONCE:
        draft.put(replace(run, cascade=None))
        _cascade(draft, run.no, _Request(asker, text))


def _cascade(draft: Draft, run_no: int, request: _Request) -> None:
    """Ask everything below a run, level by level, as far as one batch goes."""
    level = [run_no]
    for _ in range(LEVELS_AT_ONCE):
        below: list[int] = []
        for at in range(len(level)):
            if not _ask_children(draft, level[at:], below, request):
                _leave_for_later(draft, [*level[at:], *below], request)
                return
        if not below:
            return
        level = below
    _leave_for_later(draft, level, request)


def _ask_children(draft: Draft, parents: list[int], below: list[int], request: _Request) -> bool:
    """Ask the children of the first of these; False when this batch has asked enough."""
    asker = request.asker
    try:
        children, whole = draft.unasked_children(parents[0], asker)
    except Missing:
        look_at_all(partial(draft.unasked_children, no, asker) for no in parents)
        raise
    for child in children:
        if draft.cascaded == CASCADE_AT_ONCE:
            return False
        draft.cascaded += 1
        _ask(draft, replace(child, asked_by=asker, cascade=None), request.text)
        below.append(child.no)
    return whole


def _ask(draft: Draft, run: Run, text: str) -> None:
    """One more event and one more turn; the first request also ends what waits."""
    event_text = None if text == "null" else text
    first, pending = run.cancel_seq is None, run.status is RunStatus.PENDING
    run = draft.append(run, EventType.WORKFLOW_CANCEL_REQUESTED, event_text)
    run = replace(run, last_cancel_seq=run.last_seq)
    if first:
        run = replace(run, cancel_seq=run.last_seq)
    if pending:
        close_run(draft, run, RunStatus.CANCELLED, EventType.WORKFLOW_CANCELLED, event_text)
        return
    if first:
        silence(draft, run)
    draft.put(offer_at_once(run, draft.now))


def _leave_for_later(draft: Draft, parents: list[int], request: _Request) -> None:
    for no in parents:
        run = draft.run(no)
        if run is not None:
            draft.put(replace(run, cascade=request.text))
