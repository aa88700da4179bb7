"""What time brings: timers and schedules fire, leases, attempts and runs expire, cascades go on."""

from typing import assert_never

from assay.core.cancel import continue_cascade
from assay.core.claim import expire_run_claim
from assay.core.close_run import close_run
from assay.core.commands.timer import fire_timer
from assay.core.draft import Draft
from assay.core.failed_attempt import expire_attempt
from assay.core.fire_schedule import fire_schedule
from assay.core.payload import payload
from assay.model.activity import Activity
from assay.model.events import EventType
from assay.model.operations import DONE, NOT_DUE, Done, Due, DueKind, NotDue
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.model.timer import Timer

TIMED_OUT = "timed out"


def run_due_at(run: Run) -> int | None:
    """When something becomes due on a run without anybody asking."""
    if run.cascade is not None:
        return run.updated_at
    if run.timeout_at is None or not run.is_open:
        return run.claim_until
    return run.timeout_at if run.claim_until is None else min(run.claim_until, run.timeout_at)


def activity_due_at(activity: Activity) -> int | None:
    """When a running attempt counts as failed."""
    return activity.claim_until if activity.status is ActivityStatus.RUNNING else None


def timer_due_at(timer: Timer) -> int | None:
    """When a timer fires."""
    return timer.fire_at if timer.is_live else None


def due(draft: Draft, operation: Due) -> Done | NotDue:
    """A moment has come for a row; if it was moved meanwhile nothing happens."""
    match operation.kind:
        case DueKind.RUN:
            return _run_due(draft, operation.no)
        case DueKind.ACTIVITY:
            activity = draft.activities.get(operation.no)
            if activity is not None and _has_come(draft, activity_due_at(activity)):
                expire_attempt(draft, activity)
                return DONE
        case DueKind.TIMER:
            timer = draft.timers.get(operation.no)
            if timer is not None and _has_come(draft, timer_due_at(timer)):
                fire_timer(draft, timer)
                return DONE
        case DueKind.SCHEDULE:
            schedule = draft.schedules.get(operation.no)
            if schedule is not None and fire_schedule(draft, schedule):
                return DONE
        case _:
            assert_never(operation.kind)
    return NOT_DUE


def _run_due(draft: Draft, no: int) -> Done | NotDue:
    run = draft.run(no)
    if run is None:
        return NOT_DUE
    if run.cascade is not None:
        continue_cascade(draft, run)
    elif run.is_open and _has_come(draft, run.timeout_at):
        close_run(
            draft,
            run,
            RunStatus.TIMED_OUT,
            EventType.WORKFLOW_TIMED_OUT,
            payload(error=TIMED_OUT),
            error=TIMED_OUT,
        )
    elif _has_come(draft, run.claim_until):
        expire_run_claim(draft, run)
    else:
        return NOT_DUE
    return DONE


def _has_come(draft: Draft, at: int | None) -> bool:
    return at is not None and at <= draft.now
