"""The one dispatch: every operation, and the file that decides it."""

from typing import assert_never

from msgspec import Struct

from assay.core.activity_outcome import (
    complete_activity,
    heartbeat_activity,
    undo_activity_claim,
)
from assay.core.add_activity import add_activity
from assay.core.cancel import cancel
from assay.core.claim import block_run
from assay.core.continue_run import continue_run
from assay.core.delete_run import delete_run
from assay.core.draft import Draft
from assay.core.due import due
from assay.core.failed_attempt import fail_activity
from assay.core.namespaces import create_namespace, delete_namespace
from assay.core.open_run import start
from assay.core.register_worker import register_worker
from assay.core.report import (
    reject_commands,
    renew_leases,
    report_mismatch,
    show_refusal,
    submit_commands,
    undo_workflow_claim,
)
from assay.core.retry_run import retry
from assay.core.schedules import (
    create_schedule,
    delete_schedule,
    patch_schedule,
    pause_schedule,
    resume_schedule,
)
from assay.core.signal import signal
from assay.core.terminate import terminate
from assay.errors import BadValue, NonDeterminism, Refusal
from assay.model.operations import (
    DONE,
    AddActivity,
    Administration,
    Cancel,
    CompleteActivity,
    ContinueRun,
    CreateNamespace,
    CreateSchedule,
    DeleteNamespace,
    DeleteRun,
    DeleteSchedule,
    Done,
    Due,
    FailActivity,
    HeartbeatActivity,
    Operation,
    Outcome,
    PatchSchedule,
    PauseSchedule,
    RegisterWorker,
    RejectCommands,
    RenewLeases,
    ReportMismatch,
    ResumeSchedule,
    Retry,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
    UndoActivityClaim,
    UndoWorkflowClaim,
)


class Rules(Struct, frozen=True):
    """What the operator sets, and the version that starts record."""

    lease: int
    version: str = "0"


def decide(draft: Draft, operation: Operation, rules: Rules) -> Outcome | Refusal:
    """Judge one operation. A refusal leaves no trace, but for the text of a blocked replay."""
    mark = draft.mark()
    try:
        return _dispatch(draft, operation, rules)
    except NonDeterminism as mismatch:
        draft.roll_back(mark)
        if isinstance(operation, SubmitCommands):
            run = draft.run_by_id(operation.id)
            if run is not None:
                block_run(draft, run, str(mismatch))
        return mismatch
    except Refusal as refusal:
        draft.roll_back(mark)
        if isinstance(refusal, BadValue) and isinstance(operation, SubmitCommands):
            show_refusal(draft, operation, refusal)
        return refusal


def _dispatch(draft: Draft, operation: Operation, rules: Rules) -> Outcome:  # noqa: C901, PLR0911, PLR0912 - one line per operation
    match operation:
        case CompleteActivity():
            return complete_activity(draft, operation)
        case SubmitCommands():
            return submit_commands(draft, operation, rules.lease)
        case Start():
            return start(draft, operation, rules.version)
        case Signal():
            return signal(draft, operation)
        case Due():
            return due(draft, operation)
        case FailActivity():
            return fail_activity(draft, operation)
        case HeartbeatActivity():
            return heartbeat_activity(draft, operation)
        case RenewLeases():
            return renew_leases(draft, operation, rules.lease)
        case Cancel():
            return cancel(draft, operation)
        case Terminate():
            return terminate(draft, operation)
        case RegisterWorker():
            return register_worker(draft, operation)
        case Retry():
            return retry(draft, operation)
        case AddActivity():
            return add_activity(draft, operation)
        case ContinueRun():
            return continue_run(draft, operation)
        case DeleteRun():
            return delete_run(draft, operation)
        case RejectCommands():
            return reject_commands(draft, operation)
        case ReportMismatch():
            return report_mismatch(draft, operation)
        case UndoWorkflowClaim():
            return undo_workflow_claim(draft, operation)
        case UndoActivityClaim():
            return _undo_activity(draft, operation)
        case _:
            return _administer(draft, operation)


def _administer(draft: Draft, operation: Administration) -> Outcome:  # noqa: PLR0911 - one line per operation
    match operation:
        case CreateNamespace():
            return create_namespace(draft, operation)
        case DeleteNamespace():
            return delete_namespace(draft, operation)
        case CreateSchedule():
            return create_schedule(draft, operation)
        case PatchSchedule():
            return patch_schedule(draft, operation)
        case PauseSchedule():
            return pause_schedule(draft, operation)
        case ResumeSchedule():
            return resume_schedule(draft, operation)
        case DeleteSchedule():
            return delete_schedule(draft, operation)
        case _:
            assert_never(operation)


def _undo_activity(draft: Draft, operation: UndoActivityClaim) -> Done:
    activity = draft.activities.get(operation.no)
    if activity is None or activity.claim_token != operation.token:
        return DONE
    run = draft.run(activity.run_no)
    if run is not None:
        undo_activity_claim(draft, run, activity)
    return DONE
