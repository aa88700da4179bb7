"""Records as REST answers show them.

JSON in a string: payloads of records are strings that hold JSON text, or null. Stored payloads are
such texts already, so that writing them as plain strings is the whole rule; it applies here and
nowhere else (a worker's task holds real JSON, see `tasks.py`).
"""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.model.activity import Activity
from assay.model.run import Run
from assay.model.time import seconds
from assay.wire.tasks import Line

encode = msgspec.json.Encoder().encode


class RunRecord(Struct, frozen=True, gc=False):
    """A run as lists and describe show it."""

    id: str
    namespace: str
    workflow_type: str
    task_queue: str
    run_id: str
    status: str
    input: str | None
    result: str | None
    search_attributes: str | None
    error: str | None
    parent_id: str | None
    claimed_by: str | None
    archived_at: float | None
    archive_uri: str | None
    blocked: str | None
    start_at: float
    timeout_at: float | None
    created_at: float
    updated_at: float
    completed_at: float | None


class EventRecord(Struct, frozen=True, gc=False):
    """One entry of a history."""

    id: int
    workflow_id: str
    seq: int
    event_type: str
    payload: str | None
    timestamp: float


class ActivityRecord(Struct, frozen=True, gc=False):
    """An activity; with a token, as it is handed to the worker that claimed it."""

    id: int
    workflow_id: str
    seq: int
    name: str
    task_queue: str
    input: str | None
    status: str
    result: str | None
    error: str | None
    attempt: int
    max_attempts: int
    initial_interval_secs: float
    backoff_coefficient: float
    start_to_close_secs: float
    heartbeat_timeout_secs: float | None
    claimed_by: str | None
    scheduled_at: float
    started_at: float | None
    completed_at: float | None
    last_heartbeat: float | None
    heartbeat_details: str | None
    token: str | UnsetType = UNSET


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
        token=token,
    )


def event_record(line: Line, workflow_id: str) -> EventRecord:
    """An entry of a history."""
    return EventRecord(line.id, workflow_id, line.seq, line.type, line.payload, seconds(line.at))


def _time(instant: int | None) -> float | None:
    return None if instant is None else seconds(instant)
