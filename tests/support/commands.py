"""Commands of a workflow task, as a worker writes them."""

from __future__ import annotations

from tests.support.http import Json

# What may be wrong with an activity, in a command or over REST, and the status it is refused with.
WRONG_ACTIVITIES: list[tuple[Json, int]] = [
    ({"max_attempts": 0}, 400),
    ({"initial_interval_secs": -1}, 400),
    ({"backoff_coefficient": 0}, 400),
    ({"start_to_close_secs": 0}, 400),
    ({"heartbeat_timeout_secs": 0}, 400),
    ({"heartbeat_timeout_secs": 1e11}, 400),
    ({"max_interval_secs": 0}, 400),
    ({"max_interval_secs": 1e11}, 400),
    ({"jitter": 1.5}, 400),
    ({"jitter": -0.5}, 400),
    ({"non_retryable": ["Fatal", ""]}, 400),
    ({"jitter": "some"}, 422),
    ({"non_retryable": "Fatal"}, 422),
    ({"non_retryable": [None]}, 422),
    ({"seq": 0}, 400),
    ({"seq": 2**53 + 1}, 400),
    ({"name": " "}, 400),
    ({"task_queue": ""}, 400),
    ({"max_attempts": "three"}, 422),
    ({"seq": 1.5}, 422),
    ({"seq": True}, 422),
    ({"seq": None}, 422),
    ({"name": None}, 422),
]


def activity(seq: int, name: str = "work", **options: Json) -> Json:
    return {"type": "ScheduleActivity", "seq": seq, "name": name, **options}


def timer(seq: int, secs: float = 0) -> Json:
    return {"type": "ScheduleTimer", "seq": seq, "duration_secs": secs}


def cancel_timer(seq: int) -> Json:
    return {"type": "CancelTimer", "seq": seq}


def wait(name: str, timer_seq: int | None = None) -> Json:
    timed = {} if timer_seq is None else {"timer_seq": timer_seq}
    return {"type": "WaitForSignal", "name": name, **timed}


def child(run_id: str, kind: str = "Child", **fields: Json) -> Json:
    return {
        "type": "StartChildWorkflow",
        "workflow_type": kind,
        "workflow_id": run_id,
        **fields,
    }


def side_effect(seq: int, value: Json, name: str = "effect") -> Json:
    return {"type": "RecordSideEffect", "seq": seq, "name": name, "value": value}


def step(seq: int, result: Json = None, name: str = "charge", **fields: Json) -> Json:
    return {"type": "RecordStep", "seq": seq, "name": name, "result": result, **fields}


def step_failed(seq: int, attempt: int = 1, retry_in: float = 0, **fields: Json) -> Json:
    """An attempt that failed and that another one follows."""
    again = {"attempt": attempt, "final": False, "retry_in_secs": retry_in, "error": "broke"}
    return {"type": "RecordStep", "seq": seq, "name": "charge", **again, **fields}


def patch(patch_id: str) -> Json:
    return {"type": "RecordPatch", "id": patch_id}


def snapshot(state: Json) -> Json:
    return {"type": "RecordSnapshot", "state": state}


def upsert(attributes: Json, seq: int | None = None) -> Json:
    numbered = {} if seq is None else {"seq": seq}
    return {"type": "UpsertSearchAttributes", "patch": attributes, **numbered}


def continue_as_new(input: Json = None, carry: Json = None) -> Json:
    carried = {} if carry is None else {"carry": carry}
    return {"type": "ContinueAsNew", "input": input, **carried}


def complete(result: Json = None) -> Json:
    return {"type": "CompleteWorkflow", "result": result}


def fail(error: str = "broken") -> Json:
    return {"type": "FailWorkflow", "error": error}


def cancelled(reason: str | None = None) -> Json:
    given = {} if reason is None else {"reason": reason}
    return {"type": "CancelWorkflow", **given}
