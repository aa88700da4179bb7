"""History: the closed set of event types, and an event as it is stored."""

from enum import StrEnum

from msgspec import Struct


class EventType(StrEnum):
    """Everything a history can say."""

    WORKFLOW_STARTED = "WorkflowStarted"
    ACTIVITY_SCHEDULED = "ActivityScheduled"
    ACTIVITY_COMPLETED = "ActivityCompleted"
    ACTIVITY_FAILED = "ActivityFailed"
    ACTIVITY_RETRY_REQUESTED = "ActivityRetryRequested"
    TIMER_SCHEDULED = "TimerScheduled"
    TIMER_FIRED = "TimerFired"
    TIMER_CANCELLED = "TimerCancelled"
    SIGNAL_RECEIVED = "SignalReceived"
    WORKFLOW_AWAITING_SIGNAL = "WorkflowAwaitingSignal"
    SIDE_EFFECT_RECORDED = "SideEffectRecorded"
    STEP_COMPLETED = "StepCompleted"
    STEP_FAILED = "StepFailed"
    STEP_ATTEMPT_FAILED = "StepAttemptFailed"
    PATCH_RECORDED = "PatchRecorded"
    SEARCH_ATTRIBUTES_UPSERTED = "SearchAttributesUpserted"
    CHILD_WORKFLOW_STARTED = "ChildWorkflowStarted"
    CHILD_WORKFLOW_COMPLETED = "ChildWorkflowCompleted"
    CHILD_WORKFLOW_FAILED = "ChildWorkflowFailed"
    WORKFLOW_CANCEL_REQUESTED = "WorkflowCancelRequested"
    WORKFLOW_COMPLETED = "WorkflowCompleted"
    WORKFLOW_FAILED = "WorkflowFailed"
    WORKFLOW_CANCELLED = "WorkflowCancelled"
    WORKFLOW_TIMED_OUT = "WorkflowTimedOut"
    WORKFLOW_CONTINUED_AS_NEW = "WorkflowContinuedAsNew"


TERMINAL_EVENTS = frozenset(
    {
        EventType.WORKFLOW_COMPLETED,
        EventType.WORKFLOW_FAILED,
        EventType.WORKFLOW_CANCELLED,
        EventType.WORKFLOW_TIMED_OUT,
        EventType.WORKFLOW_CONTINUED_AS_NEW,
    }
)


CHILD_OUTCOMES = frozenset({EventType.CHILD_WORKFLOW_COMPLETED, EventType.CHILD_WORKFLOW_FAILED})

# What a replay had recorded, and is recorded once.
RECORDED = frozenset(
    {
        EventType.SIDE_EFFECT_RECORDED,
        EventType.STEP_COMPLETED,
        EventType.STEP_FAILED,
        EventType.STEP_ATTEMPT_FAILED,
        EventType.PATCH_RECORDED,
        EventType.SEARCH_ATTRIBUTES_UPSERTED,
    }
)


class Event(Struct, frozen=True, gc=False):
    """One entry of a run's history. `payload` is JSON text, `voided_by` an operator retry's seq."""

    run_no: int
    seq: int
    id: int
    type: EventType
    at: int
    payload: str | None
    voided_by: int | None = None
