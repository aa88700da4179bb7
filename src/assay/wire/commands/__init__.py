"""Commands as a replay sends them: one definition each, and the union of all."""

from assay.wire.commands.activities import ScheduleActivity
from assay.wire.commands.endings import (
    CancelWorkflow,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
)
from assay.wire.commands.recorded import (
    RecordPatch,
    RecordSideEffect,
    RecordSnapshot,
    RecordStep,
    UpsertSearchAttributes,
)
from assay.wire.commands.waiting import (
    CancelTimer,
    ScheduleTimer,
    StartChildWorkflow,
    WaitForSignal,
)

CommandBody = (
    ScheduleActivity
    | ScheduleTimer
    | WaitForSignal
    | StartChildWorkflow
    | CancelTimer
    | RecordSideEffect
    | RecordStep
    | RecordPatch
    | RecordSnapshot
    | UpsertSearchAttributes
    | ContinueAsNew
    | CompleteWorkflow
    | FailWorkflow
    | CancelWorkflow
)
