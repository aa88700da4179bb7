"""What the event stream tells that stands in no history."""

from enum import StrEnum

from msgspec import Struct

from assay.model.frame import Details


class Kind(StrEnum):
    """The kinds of frames of the event stream (contract §14)."""

    WORKFLOW_STARTED = "workflow_started"
    WORKFLOW_RUNNING = "workflow_running"
    WORKFLOW_COMPLETED = "workflow_completed"
    WORKFLOW_FAILED = "workflow_failed"
    WORKFLOW_TERMINATED = "workflow_terminated"
    WORKFLOW_CANCELLED = "workflow_cancelled"
    WORKFLOW_TIMED_OUT = "workflow_timed_out"
    WORKFLOW_RETRY_REQUESTED = "workflow_retry_requested"
    WORKFLOW_BLOCKED = "workflow_blocked"
    WORKFLOW_DELETED = "workflow_deleted"
    SIGNAL_RECEIVED = "signal_received"
    ACTIVITY_INSERTED = "activity_inserted"
    TASK_COMPLETED = "task_completed"
    TASK_FAILED = "task_failed"
    SCHEDULE_TRIGGERED = "schedule_triggered"


class Note(Struct, frozen=True, gc=False):
    """Something that only the stream tells, between the events of its batch.

    `after` is how many events of the batch come before it.
    """

    kind: Kind
    run_no: int
    after: int
    details: Details
