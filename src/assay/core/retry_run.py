"""An operator heals a failed run: its last failed activity is tried anew.

What the failure brought about is taken back: events about activities from the retried one on, the
terminal event, and whatever the handler recorded after the failure. Those events stay in the table
(`voided_by`), but no replay sees them, and the engine forgets their seqs.
"""

from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.core.activity_outcome import append_outcome, pending_again
from assay.core.claim import offer
from assay.core.close_run import append_child_outcome
from assay.core.draft import Draft
from assay.core.payload import payload
from assay.core.view import WholeRun, look_at_all
from assay.core.waits import timer_arrived
from assay.errors import Conflict, NotFound
from assay.model.activity import Activity
from assay.model.decision import Voided
from assay.model.events import RECORDED, TERMINAL_EVENTS, Event, EventType
from assay.model.operations import Retried, Retry
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.time import micros
from assay.model.timer import Timer

ABOUT_ACTIVITIES = frozenset(
    {
        EventType.ACTIVITY_SCHEDULED,
        EventType.ACTIVITY_COMPLETED,
        EventType.ACTIVITY_FAILED,
        EventType.ACTIVITY_RETRY_REQUESTED,
    }
)


AFTER_FAILURE = RECORDED | {EventType.TIMER_CANCELLED}


class _Numbered(Struct):
    activity_seq: int = 0
    timer_seq: int = 0


_decoder = msgspec.json.Decoder(_Numbered)


def retry(draft: Draft, operation: Retry) -> Retried:
    """Set a failed run going again at its failed activity of the highest seq."""
    run = _retriable(draft, operation.id)
    if run.no in draft.runs:
        raise Conflict(f"workflow {operation.id} is being changed by the same request; ask again")
    whole = draft.view.whole_run(run.no)
    failed = [row for row in whole.activities if row.status is ActivityStatus.FAILED]
    if not failed:
        raise Conflict(f"workflow {operation.id} has no failed activity to retry")
    target = max(failed, key=lambda row: row.seq)
    failed_seq = target.outcome_seq or _end_seq(whole)
    voided = _voided(whole, target, failed_seq)
    later = [row for row in whole.activities if row.seq > target.seq]
    run = draft.append(
        run,
        EventType.ACTIVITY_RETRY_REQUESTED,
        payload(
            activity_id=target.no,
            activity_seq=target.seq,
            name=target.name,
            failed_event_seq=failed_seq,
            requested_by=operation.requested_by,
            reason=operation.reason,
            invalidated_activities=len(later),
        ),
    )
    draft.voided.append(Voided(run.no, tuple(sorted(voided)), run.last_seq))
    for row in (target, *later):
        draft.forget_attempts(row)
    for row in later:
        draft.activities.drop(row)
    activity = draft.activities.put(_anew(target, run.last_seq, draft.now))
    run = _reopened(draft, run, target.seq)
    run = _restore_timers(draft, run, whole, voided, failed_seq)
    run = _restore_activities(draft, run, whole, target.seq)
    run = draft.put(_append_late_children(draft, run, whole))
    return Retried(run, activity, len(later))


def _retriable(draft: Draft, workflow_id: str) -> Run:
    run = draft.run_by_id(workflow_id)
    if run is None:
        raise NotFound(f"not found: workflow {workflow_id}")
    if run.status is not RunStatus.FAILED:
        raise Conflict(f"workflow {workflow_id} is {run.status}, only FAILED runs can be retried")
    if run.archived_at is not None:
        raise Conflict(f"workflow {workflow_id} is archived")
    if run.child_id is not None:
        raise Conflict(f"workflow {workflow_id} is a child: its parent has been told of its end")
    return run


def _end_seq(whole: WholeRun) -> int:
    return max(event.seq for event in _standing(whole) if event.type in TERMINAL_EVENTS)


def _standing(whole: WholeRun) -> list[Event]:
    return [event for event in whole.events if event.voided_by is None]


def _voided(whole: WholeRun, target: Activity, failed_seq: int) -> set[int]:
    """The seqs of the events that no longer count."""
    voided: set[int] = set()
    timers_gone = {timer.seq for timer in whole.timers if timer.scheduled_seq > failed_seq}
    for event in _standing(whole):
        if event.type in TERMINAL_EVENTS:
            voided.add(event.seq)
        elif event.type in ABOUT_ACTIVITIES:
            if _number(event).activity_seq >= target.seq:
                voided.add(event.seq)
        elif event.type in AFTER_FAILURE:
            if event.seq > failed_seq:
                voided.add(event.seq)
        elif event.type in (EventType.TIMER_SCHEDULED, EventType.TIMER_FIRED):
            if _number(event).timer_seq in timers_gone:
                voided.add(event.seq)
    return voided


def _number(event: Event) -> _Numbered:
    return _decoder.decode(event.payload or "{}")


def _anew(target: Activity, wanted_seq: int, now: int) -> Activity:
    return replace(
        pending_again(target),
        attempt=1,
        wanted_seq=wanted_seq,
        scheduled_at=now,
        ready_at=now,
        outcome_seq=None,
        late_outcome=None,
        completed_at=None,
        details=None,
    )


def _reopened(draft: Draft, run: Run, top_activity: int) -> Run:
    now = draft.now
    return replace(
        run,
        status=RunStatus.WAITING,
        updated_at=now,
        error=None,
        result_seq=None,
        completed_at=None,
        ready_at=None,
        top_activity=top_activity,
        timeout_at=None if run.timeout_secs is None else now + micros(run.timeout_secs),
    )


def _restore_timers(
    draft: Draft, run: Run, whole: WholeRun, voided: set[int], failed_seq: int
) -> Run:
    """Timers of the voided part are forgotten; those it silenced get the time they had left."""
    kept: list[Timer] = []
    for timer in whole.timers:
        if timer.scheduled_seq > failed_seq:
            draft.timers.drop(timer)
            run = timer_arrived(run, timer.seq)
            continue
        kept.append(timer)
        if timer.silenced_seq in voided and timer.silenced_at is not None:
            draft.timers.put(
                replace(
                    timer,
                    state=TimerState.OPEN,
                    fire_at=draft.now + max(0, timer.fire_at - timer.silenced_at),
                    silenced_at=None,
                    silenced_seq=None,
                )
            )
    return replace(run, top_timer=max((timer.seq for timer in kept if timer.seq > 0), default=0))


def _restore_activities(draft: Draft, run: Run, whole: WholeRun, target_seq: int) -> Run:
    """Cancelled work of lower seq is offered again; outcomes that came too late are told now."""
    lower = [row for row in whole.activities if row.seq < target_seq]
    for row in lower:
        if row.status is ActivityStatus.CANCELLED:
            draft.activities.put(
                replace(
                    pending_again(row),
                    wanted_seq=run.last_seq,
                    scheduled_at=draft.now,
                    ready_at=draft.now,
                    completed_at=None,
                )
            )
    late = [row for row in lower if not row.is_live and row.outcome_seq is None]
    late = [row for row in late if row.status is not ActivityStatus.CANCELLED]
    for row in sorted(late, key=lambda row: (row.completed_at or 0, row.no)):
        run = offer(append_outcome(draft, run, row, row.late_outcome), draft.now)
        draft.activities.put(replace(row, outcome_seq=run.last_seq, late_outcome=None))
    return run


def _append_late_children(draft: Draft, run: Run, whole: WholeRun) -> Run:
    """Children that ended after this run had ended told nobody; they do now.

    One that continued as new has not ended: the last of its successors tells.
    """
    ended = [child for child in whole.ended_children if child.successor_no is None]
    look_at_all(partial(draft.result_of, child) for child in ended)
    for child in ended:
        wanted = run.cancel_seq is None or child.status is RunStatus.COMPLETED
        if wanted and not draft.is_told(run, child.child_id or child.id):
            run = append_child_outcome(draft, run, child, draft.result_of(child))
            run = offer(run, draft.now)
    return run
