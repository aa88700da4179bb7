"""A cancel request: the run is asked to stop, and every run below it.

Up to `CASCADE_AT_ONCE` runs on `LEVELS_AT_ONCE` levels are asked in one decision. A run whose
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
from assay.core.view import look_at_all
from assay.errors import NotFound
from assay.model.events import EventType
from assay.model.operations import DONE, Cancel, Done
from assay.model.run import Run
from assay.model.states import RunStatus

CASCADE_AT_ONCE = 1000
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
    """The part of a cascade that did not fit into the decision before."""
    text = run.cascade
    if text is not None:
        draft.put(replace(run, cascade=None))
        cascade(draft, run.no, text)


def cascade(draft: Draft, run_no: int, text: str) -> None:
    """Ask everything below a run, level by level, as far as one decision goes."""
    asked, level = 0, [run_no]
    for _ in range(LEVELS_AT_ONCE):
        children = _children_of(draft, level)
        if not children:
            return
        if asked + len(children) > CASCADE_AT_ONCE:
            for child in children[: CASCADE_AT_ONCE - asked]:
                _ask(draft, child, text)
            _leave_for_later(draft, level, text)
            _leave_for_later(
                draft, [child.no for child in children[: CASCADE_AT_ONCE - asked]], text
            )
            return
        for child in children:
            _ask(draft, child, text)
        asked += len(children)
        level = [child.no for child in children]
    _leave_for_later(draft, level, text)


def _children_of(draft: Draft, parents: list[int]) -> list[Run]:
    """Open children nobody asked yet, of a whole level at once."""
    look_at_all(partial(draft.open_children, no) for no in parents)
    children = (child for no in parents for child in draft.open_children(no))
    return [child for child in children if child.cancel_seq is None]


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
