"""A schedule is due: what its overlap policy makes of it, in one decision."""

from typing import assert_never

from msgspec.structs import replace

from assay.core.cancel import cancel
from assay.core.draft import Draft
from assay.core.free_id import free_id
from assay.core.open_run import Opening, open_run
from assay.core.schedules import next_run
from assay.model.note import Kind
from assay.model.operations import Cancel
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.time import MICROS


def schedule_due_at(schedule: Schedule) -> int | None:
    """When it next comes due; a start that waits for a run's end is found by looking."""
    return None if schedule.paused else schedule.next_run_at


def fire_schedule(draft: Draft, schedule: Schedule) -> bool:
    """Make the start that waits, if its time has come, and what is due now. False: neither is."""
    if schedule.paused or not draft.namespace(schedule.namespace):
        return False
    previous = _previous(draft, schedule)
    fired = before = _follow(schedule, previous)
    if fired.queued_start is not None and previous is None:
        fired = _start(draft, fired, fired.queued_start)
        fired = replace(fired, queued_start=None)
        previous = _previous(draft, fired)
    due = fired.next_run_at
    if due is not None and due <= draft.now:
        fired = _come_due(draft, fired, previous, due)
    if fired is before and before is schedule:
        return False
    draft.schedules.put(fired)
    return True


def _come_due(draft: Draft, schedule: Schedule, previous: Run | None, due: int) -> Schedule:
    """Instants that were missed collapse into this one."""
    after = max(draft.now, due)
    schedule = replace(
        schedule,
        last_run_at=due,
        next_run_at=next_run(schedule.cron, schedule.timezone, after),
    )
    if previous is None:
        return _start(draft, schedule, due)
    draft.put(previous)  # whether it is still going on is what the policy rests on
    match schedule.overlap:
        case OverlapPolicy.SKIP:
            return schedule
        case OverlapPolicy.QUEUE:
            waiting = schedule.queued_start
            return replace(schedule, queued_start=due if waiting is None else waiting)
        case OverlapPolicy.CANCEL_OLD:
            cancel(draft, Cancel(previous.id, f"replaced by schedule {schedule.name}"))
            return _start(draft, schedule, due)
        case OverlapPolicy.ALLOW_ALL:
            return _start(draft, schedule, due)
        case _:
            assert_never(schedule.overlap)


def _start(draft: Draft, schedule: Schedule, due: int) -> Schedule:
    workflow_id = free_id(draft, f"{schedule.name}-{due // MICROS}")
    opening = Opening(
        id=workflow_id,
        type=schedule.type,
        namespace=schedule.namespace,
        queue=schedule.queue,
        input=schedule.input,
        run_id=f"run-{workflow_id}",
    )
    run = open_run(draft, draft.take_number(), opening)
    draft.note(Kind.SCHEDULE_TRIGGERED, run, {"schedule": schedule.name})
    return replace(schedule, last_run_no=run.no, last_workflow_id=workflow_id)


def _previous(draft: Draft, schedule: Schedule) -> Run | None:
    """The run it started last, or what that has become, while it is going on."""
    started = None if schedule.last_run_no is None else draft.run(schedule.last_run_no)
    last = None if started is None else draft.last_link(started)
    return last if last is not None and last.is_open else None


def _follow(schedule: Schedule, previous: Run | None) -> Schedule:
    """Remember what its run has become, so that the end of that is what a queued start awaits."""
    if previous is None or previous.no == schedule.last_run_no:
        return schedule
    return replace(schedule, last_run_no=previous.no)
