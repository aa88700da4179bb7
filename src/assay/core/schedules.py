"""Schedules are made, changed, paused, resumed and deleted; `fire_schedule.py` lets them fire."""

from msgspec.structs import replace

from assay.core.cron import next_instant, parse, zone
from assay.core.draft import Draft
from assay.errors import Conflict, NotFound
from assay.model.operations import (
    DONE,
    CreateSchedule,
    DeleteSchedule,
    Done,
    PatchSchedule,
    PauseSchedule,
    Planned,
    ResumeSchedule,
)
from assay.model.schedule import Schedule


def create_schedule(draft: Draft, operation: CreateSchedule) -> Planned:
    """It fires at its next instant, never at registration."""
    next_run_at = next_run(operation.cron, operation.timezone, draft.now)
    namespace, name = operation.namespace, operation.name
    if not draft.namespace(namespace):
        raise NotFound(f"not found: namespace {namespace}")
    if draft.schedules.named(namespace, name) is not None:
        raise Conflict(f"schedule {name} exists in namespace {namespace}")
    schedule = Schedule(
        no=draft.take_number(),
        namespace=namespace,
        name=name,
        type=operation.type,
        cron=operation.cron,
        timezone=operation.timezone,
        input=operation.input,
        queue=operation.queue,
        overlap=operation.overlap,
        paused=False,
        created_at=draft.now,
        next_run_at=next_run_at,
    )
    return Planned(draft.schedules.add(schedule))


def patch_schedule(draft: Draft, operation: PatchSchedule) -> Planned:
    """What is given replaces what was; a new rhythm counts from now."""
    parts = (operation.cron, operation.timezone, operation.input, operation.queue)
    if operation.cron is not None:
        parse(operation.cron)
    if operation.timezone is not None:
        zone(operation.timezone)
    schedule = known_schedule(draft, operation.namespace, operation.name)
    if operation.overlap is None and parts == (None, None, None, None):
        return Planned(schedule)
    cron = schedule.cron if operation.cron is None else operation.cron
    timezone = schedule.timezone if operation.timezone is None else operation.timezone
    same_rhythm = operation.cron is None and operation.timezone is None
    return Planned(
        draft.schedules.put(
            replace(
                schedule,
                cron=cron,
                timezone=timezone,
                input=schedule.input if operation.input is None else operation.input,
                queue=schedule.queue if operation.queue is None else operation.queue,
                overlap=schedule.overlap if operation.overlap is None else operation.overlap,
                next_run_at=schedule.next_run_at
                if same_rhythm
                else next_run(cron, timezone, _from(draft, schedule)),
            )
        )
    )


def pause_schedule(draft: Draft, operation: PauseSchedule) -> Planned:
    """It starts nothing until it is resumed; a start that waits is forgotten."""
    schedule = known_schedule(draft, operation.namespace, operation.name)
    if schedule.paused:
        return Planned(schedule)
    return Planned(draft.schedules.put(replace(schedule, paused=True, queued_start=None)))


def resume_schedule(draft: Draft, operation: ResumeSchedule) -> Planned:
    """It goes on from now: what it missed meanwhile stays missed."""
    schedule = known_schedule(draft, operation.namespace, operation.name)
    if not schedule.paused:
        return Planned(schedule)
    next_run_at = next_run(schedule.cron, schedule.timezone, _from(draft, schedule))
    return Planned(draft.schedules.put(replace(schedule, paused=False, next_run_at=next_run_at)))


def delete_schedule(draft: Draft, operation: DeleteSchedule) -> Done:
    """It is gone; its runs go on."""
    draft.schedules.drop(known_schedule(draft, operation.namespace, operation.name))
    return DONE


def known_schedule(draft: Draft, namespace: str, name: str) -> Schedule:
    """The schedule of that name."""
    schedule = draft.schedules.named(namespace, name)
    if schedule is None:
        raise NotFound(f"not found: schedule {name}")
    return schedule


def _from(draft: Draft, schedule: Schedule) -> int:
    """From now, but never again an instant that an engine whose clock is ahead has fired."""
    return max(draft.now, schedule.last_run_at or 0)


def next_run(cron: str, timezone: str, after: int) -> int | None:
    """The next instant of a cron expression; None if there is none."""
    return next_instant(parse(cron), zone(timezone), after)
