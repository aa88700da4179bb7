"""The records that the engine answers with, as dictionaries (contract §3).

Fields of the type `JsonText` are strings that hold JSON text; times are Unix seconds. An engine
newer than this file may send further fields.
"""

from typing import Any, Literal, TypeAlias, TypedDict

JsonText: TypeAlias = str
Time: TypeAlias = float

RunStatus: TypeAlias = Literal[
    "PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"
]
ActivityStatus: TypeAlias = Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]
OverlapPolicy: TypeAlias = Literal["skip", "queue", "cancel_old", "allow_all"]
ReasonKind: TypeAlias = Literal[
    "workflow_task", "activity", "retry", "timer", "signal", "child", "start_delay", "blocked"
]
Order: TypeAlias = Literal["asc", "desc"]
IfExists: TypeAlias = Literal["error", "use"]


class RunRecord(TypedDict):
    """A run."""

    id: str
    namespace: str
    workflow_type: str
    task_queue: str
    run_id: str
    status: RunStatus
    input: JsonText | None
    result: JsonText | None
    search_attributes: JsonText | None
    error: str | None
    parent_id: str | None
    claimed_by: str | None
    archived_at: Time | None
    archive_uri: str | None
    blocked: str | None
    start_at: Time
    timeout_at: Time | None
    created_at: Time
    updated_at: Time
    completed_at: Time | None


class WaitingFor(TypedDict):
    """One reason why a run is not moving."""

    kind: ReasonKind
    name: str | None
    since: Time
    until: Time | None
    note: str


class DescribedRun(RunRecord, total=False):
    """A run as describe shows it: while it is open, with what it waits for."""

    waiting_for: list[WaitingFor]


class ContinuedRecord(RunRecord):
    """The successor of a run, its id under both names."""

    workflow_id: str


class StartedRecord(TypedDict):
    """A run that was started, or was there already."""

    workflow_id: str
    run_id: str
    status: RunStatus


class EventRecord(TypedDict):
    """One entry of a history."""

    id: int
    workflow_id: str
    seq: int
    event_type: str
    payload: JsonText | None
    timestamp: Time


class AttemptRecord(TypedDict):
    """An attempt at an activity that failed."""

    attempt: int
    worker_id: str | None
    started_at: Time
    ended_at: Time
    error: str
    failure: JsonText | None


class ActivityRecord(TypedDict):
    """An activity."""

    id: int
    workflow_id: str
    seq: int
    name: str
    task_queue: str
    input: JsonText | None
    status: ActivityStatus
    result: JsonText | None
    error: str | None
    attempt: int
    max_attempts: int
    initial_interval_secs: float
    backoff_coefficient: float
    start_to_close_secs: float
    heartbeat_timeout_secs: float | None
    claimed_by: str | None
    scheduled_at: Time
    started_at: Time | None
    completed_at: Time | None
    last_heartbeat: Time | None
    heartbeat_details: JsonText | None
    max_interval_secs: float | None
    jitter: float
    non_retryable: JsonText | None


class RetriedRecord(TypedDict):
    """A failed run that was set going again, and the activity it goes on with."""

    workflow_id: str
    status: RunStatus
    activity: ActivityRecord
    invalidated_activities: int


class RunState(TypedDict):
    """The answers of all queries of a run, real JSON, as of that many events."""

    state: dict[str, Any]
    event_seq: int
    created_at: Time


class QueryValue(TypedDict):
    """The answer of one query of a run, real JSON, as of that many events."""

    value: Any
    event_seq: int
    created_at: Time


class ScheduleRecord(TypedDict):
    """A schedule."""

    name: str
    namespace: str
    workflow_type: str
    cron_expr: str
    timezone: str
    input: JsonText | None
    task_queue: str
    overlap_policy: OverlapPolicy
    paused: bool
    last_run_at: Time | None
    next_run_at: Time | None
    last_workflow_id: str | None
    created_at: Time


class WorkerRecord(TypedDict):
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


class NamespaceRecord(TypedDict):
    """A tenant."""

    name: str
    created_at: Time


class NamespaceStats(TypedDict):
    """How much a tenant has; runs of other statuses count in the total only."""

    namespace: str
    total_workflows: int
    running: int
    pending: int
    completed: int
    failed: int
    schedules: int
    workers: int


class QueueStats(TypedDict):
    """How many activities wait and run on a queue, and how many living workers poll it."""

    queue: str
    pending_activities: int
    running_activities: int
    workers: int


class KeyRecord(TypedDict):
    """An API key, without the key."""

    prefix: str
    label: str | None
    created_at: Time


class NewKey(KeyRecord, total=False):
    """An API key; with the key itself if it was made just now, which is shown only then."""

    plaintext: str
