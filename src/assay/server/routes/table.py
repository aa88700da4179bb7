"""Every route there is: path, handler, what it reads, what it answers, by the thing it is about.

A route says what it answers with 200, or by status: a record, a list of them, None for no body; and
the errors that not every route has (`server/openapi/errors.py` knows the others).
"""

from assay.server.route import Media, Resource, delete, get, patch, post
from assay.server.routes import (
    activities,
    activity_tasks,
    docs,
    exchange,
    namespaces,
    queues,
    runs,
    schedules,
    service,
    stream,
    workers,
    workflow_tasks,
)
from assay.server.table import Table
from assay.wire.answers import Health, Heard, NoTask, Registered, Retried, Started, Version
from assay.wire.batches import BatchBody
from assay.wire.codec import Body, optional
from assay.wire.describing import DescribedRun
from assay.wire.exchange.answer import ExchangeAnswer
from assay.wire.exchange.request import EXCHANGE
from assay.wire.fields import Object
from assay.wire.frames import EventFrame
from assay.wire.queries import HOLD, PAGE_OF_EVENTS, RUNS, SCOPE, WATCH
from assay.wire.records import (
    ActivityRecord,
    AttemptRecord,
    ContinuedRecord,
    EventRecord,
    RunRecord,
    ScheduleRecord,
)
from assay.wire.requests import (
    AddActivity,
    CompleteTask,
    ContinueWorkflow,
    CreateNamespace,
    CreateSchedule,
    EndWorkflow,
    FailTask,
    HeartbeatTask,
    HeartbeatWorker,
    NoFields,
    PatchSchedule,
    Poll,
    RegisterWorker,
    RetryWorkflow,
    SendSignal,
    StartWorkflow,
)
from assay.wire.snapshots import QueryValue, RunState
from assay.wire.tasks import WorkflowTask
from assay.wire.tenancy import (
    NamespaceRecord,
    NamespaceStats,
    QueueStats,
    WorkerRecord,
)

SERVICE = Resource(
    "service",
    "Whether the server lives, what it is, and whether it takes work.",
    (
        get("/health", service.health, Health),
        get("/ready", service.ready, None),
        get("/version", service.version, Version),
    ),
)

DOCS = Resource(
    "docs",
    "What there is to ask for.",
    (get("/openapi.json", docs.openapi, Object), get("/docs", docs.page, Media("text/html"))),
)

WORKFLOWS = Resource(
    "workflows",
    "Runs of workflows: start them, look at them, tell them something, end them.",
    (
        post(
            "/workflows",
            runs.start,
            Body(StartWorkflow),
            {201: Started, 200: Started},
            errors=(404, 409),
        ),
        get("/workflows", runs.list_all, list[RunRecord], asks=RUNS),
        get("/workflows/{id}", runs.describe, DescribedRun, errors=(404,)),
        delete("/workflows/{id}", runs.delete, {204: None}, errors=(404, 409)),
        get("/workflows/{id}/events", runs.events, list[EventRecord], asks=PAGE_OF_EVENTS),
        get(
            "/workflows/{id}/result",
            runs.result,
            {200: RunRecord, 202: RunRecord},
            asks=HOLD,
            errors=(404,),
        ),
        get("/workflows/{id}/children", runs.children, list[RunRecord]),
        get("/workflows/{id}/state", runs.state, RunState, errors=(404,)),
        get("/workflows/{id}/state/{name}", runs.state_of, QueryValue, errors=(404,)),
        post(
            "/workflows/{id}/signal/{name}",
            runs.signal,
            optional(SendSignal),
            None,
            errors=(404, 409),
        ),
        post("/workflows/{id}/cancel", runs.cancel, optional(EndWorkflow), None, errors=(404,)),
        post(
            "/workflows/{id}/terminate", runs.terminate, optional(EndWorkflow), None, errors=(404,)
        ),
        post(
            "/workflows/{id}/continue-as-new",
            runs.continue_as_new,
            optional(ContinueWorkflow),
            {201: ContinuedRecord},
            errors=(404, 409),
        ),
        post("/workflows/{id}/retry", runs.retry, Body(RetryWorkflow), Retried, errors=(404, 409)),
    ),
)

ACTIVITIES = Resource(
    "activities",
    "Single pieces of work that runs have scheduled.",
    (
        post(
            "/workflows/{id}/activities",
            activities.schedule,
            Body(AddActivity),
            {201: ActivityRecord},
            errors=(404, 409),
        ),
        get("/activities/{id:int}", activities.describe, ActivityRecord, errors=(404,)),
        get(
            "/activities/{id:int}/attempts",
            activities.attempts,
            list[AttemptRecord],
            errors=(404,),
        ),
    ),
)

ACTIVITY_TASKS = Resource(
    "tasks",
    "For workers: activities to be done, and how they went.",
    (
        post("/tasks/poll", activity_tasks.poll, Body(Poll), ActivityRecord | NoTask),
        post(
            "/tasks/{id:int}/complete",
            activity_tasks.complete,
            optional(CompleteTask),
            None,
            errors=(404, 409),
        ),
        post("/tasks/{id:int}/fail", activity_tasks.fail, Body(FailTask), None, errors=(404, 409)),
        post(
            "/tasks/{id:int}/heartbeat",
            activity_tasks.heartbeat,
            optional(HeartbeatTask),
            Heard,
            errors=(404, 409),
        ),
    ),
)

WORKFLOW_TASKS = Resource(
    "workflow-tasks",
    "For workers: runs that have news, and the commands that a replay of them gave.",
    (
        post("/workflow-tasks/poll", workflow_tasks.poll, Body(Poll), WorkflowTask | None),
        post(
            "/workflow-tasks/{workflow_id}/commands",
            workflow_tasks.submit,
            BatchBody(),
            None,
            errors=(404, 409),
        ),
    ),
)

EXCHANGES = Resource(
    "exchange",
    "For SDKs: many operations, tasks and results in one request.",
    (post("/exchange", exchange.exchange, EXCHANGE, ExchangeAnswer),),
)

WORKERS = Resource(
    "workers",
    "Who polls.",
    (
        post(
            "/workers/register", workers.register, Body(RegisterWorker), Registered, errors=(404,)
        ),
        get("/workers", workers.list_all, list[WorkerRecord], asks=SCOPE),
        post("/workers/heartbeat", workers.heartbeat, Body(HeartbeatWorker), None),
    ),
)

QUEUES = Resource(
    "queues",
    "Where activities wait.",
    (get("/queues", queues.list_all, list[QueueStats], asks=SCOPE),),
)

SCHEDULES = Resource(
    "schedules",
    "Runs that are started by the clock.",
    (
        post(
            "/schedules",
            schedules.create,
            Body(CreateSchedule),
            {201: ScheduleRecord},
            errors=(404, 409),
        ),
        get("/schedules", schedules.list_all, list[ScheduleRecord], asks=SCOPE),
        get("/schedules/{name}", schedules.describe, ScheduleRecord, asks=SCOPE, errors=(404,)),
        patch(
            "/schedules/{name}",
            schedules.patch,
            optional(PatchSchedule),
            ScheduleRecord,
            asks=SCOPE,
            errors=(404,),
        ),
        delete("/schedules/{name}", schedules.delete, None, asks=SCOPE, errors=(404,)),
        post(
            "/schedules/{name}/pause",
            schedules.pause,
            optional(NoFields),
            ScheduleRecord,
            asks=SCOPE,
            errors=(404,),
        ),
        post(
            "/schedules/{name}/resume",
            schedules.resume,
            optional(NoFields),
            ScheduleRecord,
            asks=SCOPE,
            errors=(404,),
        ),
    ),
)

EVENTS = Resource(
    "events",
    "What happens, as it happens.",
    (
        get(
            "/events/stream",
            stream.stream,
            Media("text/event-stream", EventFrame),
            asks=WATCH,
            heeds={"Last-Event-ID": int},
            errors=(410,),
        ),
    ),
)

NAMESPACES = Resource(
    "namespaces",
    "Tenants: runs, schedules and workers live in one.",
    (
        post("/namespaces", namespaces.create, Body(CreateNamespace), {201: None}, errors=(409,)),
        get("/namespaces", namespaces.list_all, list[NamespaceRecord]),
        get("/namespaces/{name}", namespaces.stats, NamespaceStats, errors=(404,)),
        delete("/namespaces/{name}", namespaces.delete, None, errors=(404,)),
    ),
)

ROUTES = Table(
    (
        WORKFLOWS,
        ACTIVITIES,
        SCHEDULES,
        NAMESPACES,
        EVENTS,
        WORKERS,
        QUEUES,
        ACTIVITY_TASKS,
        WORKFLOW_TASKS,
        EXCHANGES,
        SERVICE,
        DOCS,
    )
)
