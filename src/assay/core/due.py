"""What time brings: timers fire, leases and attempts expire, cascades go on."""

from typing import assert_never

from assay.core.activity_outcome import expire_attempt
from assay.core.cancel import continue_cascade
from assay.core.claim import expire_run_claim
from assay.core.commands.timer import fire_timer
from assay.core.draft import Draft
from assay.model.activity import Activity
from assay.model.operations import DONE, Done, Due, DueKind
from assay.model.run import Run
from assay.model.states import ActivityStatus
from assay.model.timer import Timer


def run_due_at(run: Run) -> int | None:
    """When something becomes due on a run without anybody asking."""
    if run.cascade is not None:
        return run.updated_at
    return run.claim_until


def activity_due_at(activity: Activity) -> int | None:
    """When a running attempt counts as failed."""
    return activity.claim_until if activity.status is ActivityStatus.RUNNING else None


def timer_due_at(timer: Timer) -> int | None:
    """When a timer fires."""
    return timer.fire_at if timer.is_live else None


def due(draft: Draft, operation: Due) -> Done:
    """A moment has come for a row; if it was moved meanwhile nothing happens."""
    match operation.kind:
        case DueKind.RUN:
            _run_due(draft, operation.no)
        case DueKind.ACTIVITY:
            activity = draft.activities.get(operation.no)
            if activity is not None and _has_come(draft, activity_due_at(activity)):
                expire_attempt(draft, activity)
        case DueKind.TIMER:
            timer = draft.timers.get(operation.no)
            if timer is not None and _has_come(draft, timer_due_at(timer)):
                fire_timer(draft, timer)
        case _:
            assert_never(operation.kind)
    return DONE


def _run_due(draft: Draft, no: int) -> None:
    run = draft.run(no)
    if run is None:
        return
    if run.cascade is not None:
        continue_cascade(draft, run)
    elif run.claim_until is not None and run.claim_until <= draft.now:
        expire_run_claim(draft, run)


def _has_come(draft: Draft, at: int | None) -> bool:
    return at is not None and at <= draft.now
