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
    SIGNAL_RECEIVED = "SignalReceived"
    WORKFLOW_AWAITING_SIGNAL = "WorkflowAwaitingSignal"
    CHILD_WORKFLOW_STARTED = "ChildWorkflowStarted"
    CHILD_WORKFLOW_COMPLETED = "ChildWorkflowCompleted"
    CHILD_WORKFLOW_FAILED = "ChildWorkflowFailed"
    WORKFLOW_CANCEL_REQUESTED = "WorkflowCancelRequested"
    WORKFLOW_COMPLETED = "WorkflowCompleted"
    WORKFLOW_FAILED = "WorkflowFailed"
    WORKFLOW_CANCELLED = "WorkflowCancelled"
    WORKFLOW_TIMED_OUT = "WorkflowTimedOut"


TERMINAL_EVENTS = frozenset(
    {
        EventType.WORKFLOW_COMPLETED,
        EventType.WORKFLOW_FAILED,
        EventType.WORKFLOW_CANCELLED,
        EventType.WORKFLOW_TIMED_OUT,
    }
)


CHILD_OUTCOMES = frozenset({EventType.CHILD_WORKFLOW_COMPLETED, EventType.CHILD_WORKFLOW_FAILED})


class Event(Struct, frozen=True, gc=False):
    """One entry of a run's history. `payload` is JSON text, `voided_by` an operator retry's seq."""

    run_no: int
    seq: int
    id: int
    type: EventType
    at: int
    payload: str | None
    voided_by: int | None = None
