"""Records of what a namespace has beside runs: itself, its workers, its queues."""

from msgspec import Struct

from assay.model.time import seconds
from assay.model.worker import Worker
from assay.wire.fields import JsonText, Time


class NamespaceRecord(Struct, frozen=True):
    """A tenant."""

    name: str
    created_at: Time


class NamespaceStats(Struct, frozen=True):
    """How much a tenant has; runs of other statuses than those named count in the total only."""

    namespace: str
    total_workflows: int
    running: int
    pending: int
    completed: int
    failed: int
    schedules: int
    workers: int


class QueueStats(Struct, frozen=True):
    """How many activities wait and run on a queue, and how many living workers poll it."""

    queue: str
    pending_activities: int
    running_activities: int
    workers: int


class WorkerRecord(Struct, frozen=True):
    """A living worker; `active_tasks` are leases and running activities that it holds."""

    id: str
    namespace: str
    identity: str
    task_queue: str
    workflows: JsonText | None
    activities: JsonText | None
    max_concurrent_workflows: int
    max_concurrent_activities: int
    active_tasks: int
    last_heartbeat: Time
    registered_at: Time


def worker_record(worker: Worker, active_tasks: int) -> WorkerRecord:
    """A worker as lists show it."""
    return WorkerRecord(
        id=worker.id,
        namespace=worker.namespace,
        identity=worker.identity,
        task_queue=worker.queue,
        workflows=worker.workflows,
        activities=worker.activities,
        max_concurrent_workflows=worker.max_workflows,
        max_concurrent_activities=worker.max_activities,
        active_tasks=active_tasks,
        last_heartbeat=seconds(worker.last_seen),
        registered_at=seconds(worker.registered_at),
    )
