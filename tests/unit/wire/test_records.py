"""Records and tasks: fields, order, and where JSON stands in a string."""

import json

from msgspec.structs import replace

from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.store.views import HistoryRow
from assay.wire.records import (
    activity_record,
    attempt_record,
    encode,
    event_record,
    run_record,
)
from assay.wire.tasks import workflow_task

NOW = 1_790_000_000_123_456
RUN = Run(
    no=1,
    id='a"/é',
    run_id="run-a",
    namespace="main",
    type="T",
    status=RunStatus.RUNNING,
    created_at=NOW,
    updated_at=NOW,
    start_at=NOW,
)
ACTIVITY = Activity(
    no=7,
    run_no=1,
    seq=1,
    name="pay",
    status=ActivityStatus.RUNNING,
    policy=RetryPolicy(),
    scheduled_seq=2,
    wanted_seq=2,
    scheduled_at=NOW,
    started_at=NOW,
    claimed_by="w",
)


def test_a_run_has_every_field_in_the_order_of_the_contract() -> None:
    record = json.loads(encode(run_record(RUN, '{"a":1}', None)))
    assert list(record) == [
        *("id", "namespace", "workflow_type", "task_queue", "run_id", "status"),
        *("input", "result", "search_attributes", "error", "parent_id", "claimed_by"),
        *("archived_at", "archive_uri", "blocked", "start_at", "timeout_at"),
        *("created_at", "updated_at", "completed_at"),
    ]
    assert (record["id"], record["status"], record["input"]) == ('a"/é', "RUNNING", '{"a":1}')
    assert (record["result"], record["completed_at"]) == (None, None)
    assert record["created_at"] == 1_790_000_000.123456


def test_an_activity_has_a_token_only_for_its_claimer() -> None:
    plain = json.loads(encode(activity_record(ACTIVITY, "wf", input="5", result=None)))
    assert list(plain) == [
        *("id", "workflow_id", "seq", "name", "task_queue", "input", "status", "result"),
        *("error", "attempt", "max_attempts", "initial_interval_secs", "backoff_coefficient"),
        *("start_to_close_secs", "heartbeat_timeout_secs", "claimed_by", "scheduled_at"),
        *("started_at", "completed_at", "last_heartbeat", "heartbeat_details"),
        *("max_interval_secs", "jitter", "non_retryable"),
    ]
    assert [plain[name] for name in list(plain)[-3:]] == [None, 0, None]
    assert (plain["id"], plain["input"], plain["max_attempts"]) == (7, "5", 3)
    record = activity_record(ACTIVITY, "wf", input="5", result=None, token="c9")
    assert json.loads(encode(record)) == {**plain, "token": "c9"}


def test_what_an_activity_is_not_retried_for_is_json_in_a_string() -> None:
    policy = RetryPolicy(max_interval_secs=9, jitter=0.5, non_retryable='["Fatal"]')
    record = activity_record(replace(ACTIVITY, policy=policy), "wf", input=None, result=None)
    shown = json.loads(encode(record))
    assert [shown[name] for name in ("max_interval_secs", "jitter", "non_retryable")] == [
        9,
        0.5,
        '["Fatal"]',
    ]


def test_a_failed_attempt() -> None:
    attempt = Attempt(1, 7, 2, "w", NOW, NOW + 1_000_000, "no", '{"type":"X"}')
    assert json.loads(encode(attempt_record(attempt))) == {
        "attempt": 2,
        "worker_id": "w",
        "started_at": 1_790_000_000.123456,
        "ended_at": 1_790_000_001.123456,
        "error": "no",
        "failure": '{"type":"X"}',
    }


def test_payloads_are_text_in_events_and_values_in_tasks() -> None:
    payload = '{"n":1.0,"s":"\\u0000"}'
    lines = [
        HistoryRow(1, 1, 11, "WorkflowStarted", NOW, payload),
        HistoryRow(1, 2, 12, "WorkflowCancelRequested", NOW, None),
    ]
    event = json.loads(encode(event_record(lines[0], "wf")))
    assert event == {
        "id": 11,
        "workflow_id": "wf",
        "seq": 1,
        "event_type": "WorkflowStarted",
        "payload": payload,
        "timestamp": 1_790_000_000.123456,
    }
    text = workflow_task(RUN, 0xAB, lines)
    task = json.loads(text)
    assert list(task) == [
        *("workflow_id", "namespace", "workflow_type", "task_queue"),
        *("lease", "input", "history"),
    ]
    assert (task["workflow_id"], task["lease"]) == ('a"/é', "cab")
    assert text.count(payload.encode()) == 2  # as input and in the first event, both untouched
    assert [list(line) for line in task["history"]] == [
        ["seq", "event_type", "payload", "timestamp"]
    ] * 2
    assert task["history"][1]["payload"] is None
