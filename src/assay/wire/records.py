"""Records as REST answers show them.

JSON in a string: payloads of records are strings that hold JSON text, or null. Stored payloads are
such texts already, so that writing them as plain strings is the whole rule; it applies here and
nowhere else (a worker's task holds real JSON, see `tasks.py`).
"""

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.states import ActivityStatus, RunStatus
from assay.model.time import seconds
from assay.wire.fields import JsonText, Time
from assay.wire.tasks import Line

encode = msgspec.json.Encoder().encode


class RunRecord(Struct, frozen=True, gc=False):
    """A run as lists and describe show it."""

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


class EventRecord(Struct, frozen=True, gc=False):
    """One entry of a history."""

    id: int
    workflow_id: str
    seq: int
    event_type: str
    payload: JsonText | None
    timestamp: Time


class ActivityRecord(Struct, frozen=True, gc=False):
    """An activity; with a token, as it is handed to the worker that claimed it."""

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
    token: str | UnsetType = UNSET


class AttemptRecord(Struct, frozen=True, gc=False):
    """An attempt at an activity that failed."""

    attempt: int
    worker_id: str | None
    started_at: Time
    ended_at: Time
    error: str
    failure: JsonText | None


class ScheduleRecord(Struct, frozen=True, gc=False):
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


def run_record(run: Run, input: str | None, result: str | None) -> RunRecord:
    """A run with the payloads it began and ended with."""
    return RunRecord(
        id=run.id,
        namespace=run.namespace,
        workflow_type=run.type,
        task_queue=run.queue,
        run_id=run.run_id,
        status=run.status,
        input=input,
        result=result,
        search_attributes=run.search_attributes,
        error=run.error,
        parent_id=run.parent_id,
        claimed_by=run.claimed_by,
        archived_at=_time(run.archived_at),
        archive_uri=run.archive_uri,
        blocked=run.blocked,
        start_at=seconds(run.start_at),
        timeout_at=_time(run.timeout_at),
        created_at=seconds(run.created_at),
        updated_at=seconds(run.updated_at),
        completed_at=_time(run.completed_at),
    )


class ContinuedRecord(RunRecord, frozen=True, gc=False, kw_only=True):
    """The successor of a run; its id under both names that clients know."""

    workflow_id: str


def continued_record(run: Run, input: str | None) -> ContinuedRecord:
    """A successor as it begins."""
    return ContinuedRecord(**asdict(run_record(run, input, None)), workflow_id=run.id)


def activity_record(
    activity: Activity,
    workflow_id: str,
    *,
    input: str | None,
    result: str | None,
    token: str | UnsetType = UNSET,
) -> ActivityRecord:
    """An activity with its payloads, and for its claimer the token."""
    policy = activity.policy
    return ActivityRecord(
        id=activity.no,
        workflow_id=workflow_id,
        seq=activity.seq,
        name=activity.name,
        task_queue=activity.queue,
        input=input,
        status=activity.status,
        result=result,
        error=activity.error,
        attempt=activity.attempt,
        max_attempts=policy.max_attempts,
        initial_interval_secs=policy.initial_interval_secs,
        backoff_coefficient=policy.backoff_coefficient,
        start_to_close_secs=policy.start_to_close_secs,
        heartbeat_timeout_secs=policy.heartbeat_timeout_secs,
        claimed_by=activity.claimed_by,
        scheduled_at=seconds(activity.scheduled_at),
        started_at=_time(activity.started_at),
        completed_at=_time(activity.completed_at),
        last_heartbeat=_time(activity.last_heartbeat),
        heartbeat_details=activity.details,
        max_interval_secs=policy.max_interval_secs,
        jitter=policy.jitter,
        non_retryable=policy.non_retryable,
        token=token,
    )


def attempt_record(attempt: Attempt) -> AttemptRecord:
    """A failed attempt."""
    return AttemptRecord(
        attempt=attempt.attempt,
        worker_id=attempt.worker,
        started_at=seconds(attempt.started_at),
        ended_at=seconds(attempt.ended_at),
        error=attempt.error,
        failure=attempt.failure,
    )


def event_record(line: Line, workflow_id: str) -> EventRecord:
    """An entry of a history."""
    return EventRecord(line.id, workflow_id, line.seq, line.type, line.payload, seconds(line.at))


def schedule_record(schedule: Schedule) -> ScheduleRecord:
    """A schedule as it stands."""
    return ScheduleRecord(
        name=schedule.name,
        namespace=schedule.namespace,
        workflow_type=schedule.type,
        cron_expr=schedule.cron,
        timezone=schedule.timezone,
        input=schedule.input,
        task_queue=schedule.queue,
        overlap_policy=schedule.overlap,
        paused=schedule.paused,
        last_run_at=_time(schedule.last_run_at),
        next_run_at=_time(schedule.next_run_at),
        last_workflow_id=schedule.last_workflow_id,
        created_at=seconds(schedule.created_at),
    )


def _time(instant: int | None) -> float | None:
    return None if instant is None else seconds(instant)
