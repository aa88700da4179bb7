"""Request bodies, one definition each; reading and documenting derive from it.

A field's type is its shape (422), the method that makes the operation checks the values (400).
`null` for an optional field equals its absence, so every default is None.
"""

from assay.wire.requests.activities import AddActivity
from assay.wire.requests.namespaces import CreateNamespace
from assay.wire.requests.runs import (
    ContinueWorkflow,
    EndWorkflow,
    RetryWorkflow,
    SendSignal,
    StartWorkflow,
)
from assay.wire.requests.schedules import CreateSchedule, NoFields, PatchSchedule
from assay.wire.requests.tasks import CompleteTask, FailTask, HeartbeatTask, Poll
from assay.wire.requests.workers import HeartbeatWorker, RegisterWorker

__all__ = [
    "AddActivity",
    "CompleteTask",
    "ContinueWorkflow",
    "CreateNamespace",
    "CreateSchedule",
    "EndWorkflow",
    "FailTask",
    "HeartbeatTask",
    "HeartbeatWorker",
    "NoFields",
    "PatchSchedule",
    "Poll",
    "RegisterWorker",
    "RetryWorkflow",
    "SendSignal",
    "StartWorkflow",
]
