"""Every route there is."""

from assay.server.routes import (
    activities,
    activity_tasks,
    runs,
    service,
    workers,
    workflow_tasks,
)
from assay.server.table import Table, get, post
from assay.wire.batches import BatchBody
from assay.wire.codec import Body
from assay.wire.requests import (
    CompleteTask,
    EndWorkflow,
    FailTask,
    HeartbeatTask,
    HeartbeatWorker,
    Poll,
    RegisterWorker,
    RetryWorkflow,
    SendSignal,
    StartWorkflow,
)

ENDING = Body(EndWorkflow, optional=True)
POLL = Body(Poll)

ROUTES = Table(
    (
        get("/health", service.health),
        get("/ready", service.ready),
        get("/version", service.version),
        post("/workflows", runs.start, Body(StartWorkflow)),
        get("/workflows/{id}", runs.describe),
        get("/workflows/{id}/events", runs.events),
        post("/workflows/{id}/signal/{name}", runs.signal, Body(SendSignal, optional=True)),
        post("/workflows/{id}/cancel", runs.cancel, ENDING),
        post("/workflows/{id}/terminate", runs.terminate, ENDING),
        post("/workflows/{id}/retry", runs.retry, Body(RetryWorkflow)),
        get("/activities/{id}", activities.describe),
        post("/tasks/poll", activity_tasks.poll, POLL),
        post("/tasks/{id}/complete", activity_tasks.complete, Body(CompleteTask, optional=True)),
        post("/tasks/{id}/fail", activity_tasks.fail, Body(FailTask)),
        post("/tasks/{id}/heartbeat", activity_tasks.heartbeat, Body(HeartbeatTask, optional=True)),
        post("/workflow-tasks/poll", workflow_tasks.poll, POLL),
        post("/workflow-tasks/{id}/commands", workflow_tasks.submit, BatchBody()),
        post("/workers/register", workers.register, Body(RegisterWorker)),
        post("/workers/heartbeat", workers.heartbeat, Body(HeartbeatWorker)),
    )
)
