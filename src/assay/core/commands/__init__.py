"""What a replay asks for, one file per kind of command, and the dispatch over all of them."""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from assay.core.commands.child import start_child
from assay.core.commands.end import cancel_workflow, complete_workflow, fail_workflow
from assay.core.commands.schedule_activity import schedule_activity
from assay.core.commands.timer import schedule_timer
from assay.core.commands.wait_for_signal import wait_for_signal
from assay.core.draft import Draft
from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    WaitForSignal,
)
from assay.model.run import Run

NOT_AFTER_CANCEL = (ScheduleActivity, ScheduleTimer, StartChild)


def apply_command(  # noqa: PLR0911 - one line per command
    draft: Draft, run: Run, command: Command
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
        case ScheduleTimer(seq=seq) if seq <= run.top_timer:
            return partial(draft.timers.at, run.no, seq)
        case _:
            return None
