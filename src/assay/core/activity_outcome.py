"""What a worker reports of a running attempt, and what comes of one that is over.

Failures have a file of their own (`failed_attempt.py`).
"""

from msgspec.structs import replace

from assay.core.claim import attempt_deadline, offer
from assay.core.draft import Draft
from assay.core.frames import about
from assay.core.payload import failure_of, payload, raw
from assay.errors import Conflict, NotFound
from assay.model.activity import Activity
from assay.model.events import EventType
from assay.model.ids import claim_token
from assay.model.note import Kind
from assay.model.operations import (
    CompleteActivity,
    Fence,
    Heard,
    HeartbeatActivity,
    Reported,
)
from assay.model.run import Run
from assay.model.states import ActivityStatus


def complete_activity(draft: Draft, operation: CompleteActivity) -> Reported:
    """The work is done: its result enters history and the run has news."""
    activity, run = held_activity(draft, operation.no, operation.fence)
    reported = Reported(activity.claimed_by)
    activity = replace(closed(draft, activity), status=ActivityStatus.COMPLETED, error=None)
    conclude(draft, run, activity, operation.result)
    return reported


def heartbeat_activity(draft: Draft, operation: HeartbeatActivity) -> Heard:
    """The attempt is alive. It learns whether its run still wants it."""
    activity, run = held_activity(draft, operation.no, operation.fence)
    started_at = draft.now if activity.started_at is None else activity.started_at
    draft.activities.put(
        replace(
            activity,
            last_heartbeat=draft.now,
            details=activity.details if operation.details is None else operation.details,
            claim_until=attempt_deadline(activity, started_at, draft.now),
        )
    )
    asked = run.last_cancel_seq  # a repeated request is told, but no reason to give up cleanup
    told = not run.is_open or (asked is not None and asked > activity.wanted_seq)
    return Heard(told, activity.claimed_by)


def undo_activity_claim(draft: Draft, run: Run, activity: Activity) -> None:
    """As if the claim had never been; nobody wants the work any more: cancelled."""
    draft.put(run)
    if is_unwanted(run, activity):
        draft.activities.put(
            replace(
                pending_again(activity), status=ActivityStatus.CANCELLED, completed_at=draft.now
            )
        )
        return
    draft.activities.put(replace(pending_again(activity), ready_at=activity.scheduled_at))


def held_activity(draft: Draft, no: int, fence: Fence) -> tuple[Activity, Run]:
    """The running activity a report is about, or the ground why the report does not count."""
    activity = draft.activities.get(no)
    run = None if activity is None else draft.run(activity.run_no)
    if activity is None or run is None:
        raise NotFound(f"not found: activity {no} not found")
    if activity.status is not ActivityStatus.RUNNING or activity.claim_token is None:
        raise Conflict(f"activity {no} is {activity.status}, not RUNNING")
    if fence.worker_id is not None and fence.worker_id != activity.claimed_by:
        raise Conflict(f"activity {no} is not held by worker {fence.worker_id}")
    if fence.attempt is not None and fence.attempt != activity.attempt:
        raise Conflict(f"activity {no} is at attempt {activity.attempt}, not {fence.attempt}")
    if fence.token is not None and fence.token != claim_token(activity.claim_token):
        raise Conflict(f"token {fence.token} is not the current one of activity {no}")
    return activity, run


def is_unwanted(run: Run, activity: Activity) -> bool:
    """The run is over, or cancel was requested since the activity was scheduled."""
    asked = run.cancel_seq
    return not run.is_open or (asked is not None and asked > activity.wanted_seq)


def pending_again(activity: Activity) -> Activity:
    """The activity without any trace of its claim; heartbeat details stay."""
    return replace(
        activity,
        status=ActivityStatus.PENDING,
        claim_token=None,
        claimed_by=None,
        claim_until=None,
        started_at=None,
        last_heartbeat=None,
        error=None,
    )


def append_outcome(draft: Draft, run: Run, activity: Activity, outcome: str | None) -> Run:
    """What became of an activity, in its run's history: with its result, or its failure."""
    if activity.status is ActivityStatus.COMPLETED:
        text = payload(
            activity_id=activity.no,
            activity_seq=activity.seq,
            name=activity.name,
            result=raw(outcome),
            error=None,
        )
        return draft.append(run, EventType.ACTIVITY_COMPLETED, text)
    text = payload(
        activity_id=activity.no,
        activity_seq=activity.seq,
        name=activity.name,
        error=activity.error,
        final_attempt=activity.attempt,
        **failure_of(outcome),
    )
    return draft.append(run, EventType.ACTIVITY_FAILED, text)


def conclude(draft: Draft, run: Run, activity: Activity, outcome: str | None) -> None:
    """The activity is over: its run is told, with a result or a failure, if it still listens."""
    if not run.is_open:
        draft.put(run)
        draft.activities.put(replace(activity, late_outcome=outcome))
        completed = activity.status is ActivityStatus.COMPLETED
        kind = Kind.TASK_COMPLETED if completed else Kind.TASK_FAILED
        draft.note(kind, run, about(activity))
        return
    run = draft.put(offer(append_outcome(draft, run, activity, outcome), draft.now))
    draft.activities.put(replace(activity, outcome_seq=run.last_seq))


def closed(draft: Draft, activity: Activity) -> Activity:
    """The activity without its claim."""
    return replace(activity, claim_token=None, claim_until=None, completed_at=draft.now)
