"""What a replay asks for, one file per kind of command, and the dispatch over all of them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, assert_never

from assay.core.commands.child import start_child
from assay.core.commands.continue_as_new import continue_as_new
from assay.core.commands.end import cancel_workflow, complete_workflow, fail_workflow
from assay.core.commands.record import record_patch, record_side_effect, record_step
from assay.core.commands.schedule_activity import schedule_activity
from assay.core.commands.snapshot import record_snapshot
from assay.core.commands.timer import cancel_timer, schedule_timer
from assay.core.commands.upsert import upsert
from assay.core.commands.wait_for_signal import wait_for_signal
from assay.core.draft import Draft
from assay.model.commands import (
    CancelTimer,
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    RecordPatch,
    RecordSideEffect,
    RecordSnapshot,
    RecordStep,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    UpsertSearchAttributes,
    WaitForSignal,
)
from assay.model.run import Run

NOT_AFTER_CANCEL = (ScheduleActivity, ScheduleTimer, StartChild)


class BatchOfCommands(NamedTuple):
    """What commands know of the batch they come in.

    The number of events before it, that of those its sender had seen for certain, and whether it
    holds nothing but snapshots and upserts.
    """

    event_seq: int
    seen: int
    only_notes: bool


def batch_of(run: Run, commands: tuple[Command, ...], seen: int) -> BatchOfCommands:
    """The batch as its commands see it."""
    notes = (RecordSnapshot, UpsertSearchAttributes)
    only_notes = all(isinstance(command, notes) for command in commands)
    return BatchOfCommands(run.last_seq, seen, only_notes)


def is_overtaken(run: Run, command: Command, batch: BatchOfCommands) -> bool:
    """A cancel request that its sender could not know of forbids it.

    What is begun after the first request belongs to the cleanup; nothing may pass by the latest.
    """
    if isinstance(command, ContinueAsNew):
        return run.last_cancel_seq is not None and run.last_cancel_seq > batch.seen
    early = run.cancel_seq is not None and run.cancel_seq > batch.seen
    return early and isinstance(command, NOT_AFTER_CANCEL)


def apply_command(  # noqa: C901, PLR0911, PLR0912 - one line per command
    draft: Draft, run: Run, command: Command, batch: BatchOfCommands
) -> Run:
    """One command's effect; the run that comes back is already on the desk."""
    match command:
        case ScheduleActivity():
            return schedule_activity(draft, run, command)
        case ScheduleTimer():
            return schedule_timer(draft, run, command)
        case WaitForSignal():
            return wait_for_signal(draft, run, command)
        case StartChild():
            return start_child(draft, run, command)
        case CancelTimer():
            return cancel_timer(draft, run, command)
        case RecordSideEffect():
            return record_side_effect(draft, run, command)
        case RecordStep():
            return record_step(draft, run, command)
        case RecordPatch():
            return record_patch(draft, run, command)
        case RecordSnapshot():
            return record_snapshot(draft, run, command, batch.event_seq)
        case UpsertSearchAttributes():
            return upsert(draft, run, command, alone=batch.only_notes)
        case ContinueAsNew():
            return continue_as_new(draft, run, command, batch.seen)
        case CompleteWorkflow():
            return complete_workflow(draft, run, command)
        case FailWorkflow():
            return fail_workflow(draft, run, command)
        case CancelWorkflow():
            return cancel_workflow(draft, run, command)
        case _:
            assert_never(command)


def first_look(draft: Draft, run: Run, command: Command) -> Callable[[], object] | None:
    """What a command reads first of rows that may not be at hand."""
    match command:
        case StartChild(id=child_id):
            return partial(draft.run_by_id, child_id)
        case ScheduleActivity(seq=seq) if seq <= run.top_activity:
            return partial(draft.activities.at, run.no, seq)
        case ScheduleTimer(seq=seq) | CancelTimer(seq=seq) if seq <= run.top_timer:
            return partial(draft.timers.at, run.no, seq)
        case RecordStep(seq=seq, final=False) if seq <= run.top_step:
            return partial(draft.timers.at, run.no, -seq)
        case _:
            return None
