"""The only way a run ends: activities cancelled, timers silenced, claim released, parent told."""

from msgspec.structs import replace

from assay.core.claim import close_claim, offer
from assay.core.draft import Draft
from assay.core.payload import payload, raw
from assay.model.events import EventType
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus, TimerState


def close_run(
    draft: Draft,
    run: Run,
    status: RunStatus,
    kind: EventType,
    text: str | None,
    *,
    error: str | None = None,
) -> Run:
    """End a run with its terminal event, and all that belongs to an end, in one decision."""
    now = draft.now
    run = draft.append(run, kind, text)
    silence(draft, run)
    closed = draft.put(
        replace(
            close_claim(run),
            status=status,
            error=error,
            result_seq=run.last_seq if kind is EventType.WORKFLOW_COMPLETED else None,
            updated_at=now,
            completed_at=now,
            ready_at=None,
            attempt=0,
            blocked=None,
        )
    )
    if closed.parent_no is not None and closed.successor_no is None:
        tell_parent(draft, closed, text)
    return closed


def silence(draft: Draft, run: Run) -> None:
    """Pending activities are cancelled, open timers never fire; running ones are left alone."""
    for activity in draft.activities.live(run.no):
        if activity.status is ActivityStatus.PENDING:
            draft.activities.put(
                replace(
                    activity,
                    status=ActivityStatus.CANCELLED,
                    completed_at=draft.now,
                    ready_at=None,
                )
            )
    for timer in draft.timers.live(run.no):
        draft.timers.put(
            replace(
                timer,
                state=TimerState.SILENCED,
                silenced_at=draft.now,
                silenced_seq=run.last_seq,
            )
        )


def tell_parent(draft: Draft, child: Run, result: str | None) -> None:
    """The outcome reaches the parent's history, unless the parent is over or stops anyway."""
    parent = draft.run(child.parent_no) if child.parent_no is not None else None
    if parent is None:
        return
    wanted = parent.cancel_seq is None or child.status is RunStatus.COMPLETED
    if parent.is_open and wanted and not _is_told(draft, parent, child):
        parent = offer(append_child_outcome(draft, parent, child, result), draft.now)
    draft.put(parent)


def _is_told(draft: Draft, parent: Run, child: Run) -> bool:
    """Only a successor can come too late: an ended child may have been continued by an operator.

    Or a child whose id was free again, because another one of that id was deleted.
    """
    known_as = child.child_id
    if known_as is None or (known_as == child.id and not parent.lost_children):
        return False
    return draft.is_told(parent, known_as)


def append_child_outcome(draft: Draft, parent: Run, child: Run, result: str | None) -> Run:
    """How a child ended, under the id its parent knows it by."""
    child_id = child.child_id or child.id
    if child.status is RunStatus.COMPLETED:
        text = payload(child_workflow_id=child_id, result=raw(result))
        return draft.append(parent, EventType.CHILD_WORKFLOW_COMPLETED, text)
    text = payload(child_workflow_id=child_id, error=_ground(child))
    return draft.append(parent, EventType.CHILD_WORKFLOW_FAILED, text)


def _ground(child: Run) -> str | None:
    if child.status is RunStatus.CANCELLED:
        return "child workflow cancelled"
    if child.status is RunStatus.TIMED_OUT:
        return "timed out"
    return child.error
