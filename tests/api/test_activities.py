"""Activities (contract 5.10, 5.16, 8.2): scheduled, claimed, completed, retried, exhausted."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import NOTHING, Json

RECORD = {
    "id": int,
    "workflow_id": str,
    "seq": int,
    "name": str,
    "task_queue": str,
    "input": str | None,
    "status": str,
    "result": str | None,
    "error": str | None,
    "attempt": int,
    "max_attempts": int,
    "initial_interval_secs": int | float,
    "backoff_coefficient": int | float,
    "start_to_close_secs": int | float,
    "heartbeat_timeout_secs": int | float | None,
    "claimed_by": str | None,
    "scheduled_at": int | float,
    "started_at": int | float | None,
    "completed_at": int | float | None,
    "last_heartbeat": int | float | None,
    "heartbeat_details": str | None,
}


async def scheduled(api: Api, **options: Json) -> str:
    """A run that waits for one activity called `work`."""
    run = await api.start()
    await api.advance(run, commands.activity(1, "work", task_queue=api.queue, **options))
    return run


@over_http
async def test_the_record_and_its_defaults(api: Api) -> None:
    run = await scheduled(api)
    [event] = await api.events(run, "ActivityScheduled")
    record = await api.activity(event.payload["activity_id"])
    for name, kind in RECORD.items():
        assert isinstance(record[name], kind), (name, record)
    assert (record["status"], record["attempt"], record["max_attempts"]) == ("PENDING", 1, 3)
    assert (record["initial_interval_secs"], record["backoff_coefficient"]) == (1, 2)
    assert (record["start_to_close_secs"], record["heartbeat_timeout_secs"]) == (300, None)
    assert (record["input"], record["claimed_by"], record["started_at"]) == (None, None, None)
    assert (record["workflow_id"], record["seq"], record["name"]) == (run, 1, "work")


@pytest.mark.parametrize(("wrong", "status"), commands.WRONG_ACTIVITIES)
@over_http
async def test_options_out_of_range(api: Api, wrong: Json, status: int) -> None:
    run = await api.start()
    task = await api.claim(run)
    await api.submit(run, commands.activity(1) | wrong, status=status)
    assert await api.kinds(run) == ["WorkflowStarted"]
    await api.submit(run, lease=task["lease"])  # the claim is still open


@over_http
async def test_a_poll_claims_the_oldest_once(api: Api) -> None:
    run = await api.start()
    assert await api.poll_activity() is None
    await api.advance(
        run, *(commands.activity(n, f"a{n}", task_queue=api.queue, input=n) for n in (1, 2, 3))
    )
    claimed = [await api.poll_activity(worker=f"w-{n}") for n in (1, 2, 3)]
    assert [task["name"] for task in claimed] == ["a1", "a2", "a3"]
    assert await api.poll_activity() is None
    first = claimed[0]
    assert (first["status"], first["claimed_by"], first["attempt"]) == ("RUNNING", "w-1", 1)
    assert (first["input"], first["workflow_id"]) == ("1", run)
    assert first["started_at"] >= first["scheduled_at"]
    assert first["token"] != claimed[1]["token"]


@pytest.mark.parametrize(
    ("body", "text", "result"),
    [
        (NOTHING, None, None),
        ({}, None, None),
        ([], None, None),
        ({"result": None}, None, None),
        ({"result": {"x": [1.0, "é"]}}, '{"x":[1.0,"é"]}', {"x": [1.0, "é"]}),
        ({"result": []}, "[]", []),
        ({"result": False}, "false", False),
    ],
)
@over_http
async def test_completing(api: Api, body: object, text: str | None, result: Json) -> None:
    run = await scheduled(api)
    task = await api.take("work")
    answer = await api.send("POST", f"/tasks/{task['id']}/complete", body)
    assert answer.body == b""
    record = await api.activity(task["id"])
    assert (record["status"], record["result"]) == ("COMPLETED", text)
    assert record["completed_at"] >= record["started_at"]
    history = await api.advance(run, commands.complete())
    assert history[-1].type == "ActivityCompleted"
    assert history[-1].payload == {
        "activity_id": task["id"],
        "activity_seq": 1,
        "name": "work",
        "result": result,
        "error": None,
    }


@over_http
async def test_retries_are_delayed_by_the_policy(api: Api) -> None:
    run = await scheduled(
        api, max_attempts=3, initial_interval_secs=0.2, backoff_coefficient=2, input=5
    )
    task = await api.take("work")
    for attempt, delay in ((1, 0.2), (2, 0.4)):
        assert task["attempt"] == attempt
        await api.beat(task["id"], {"seen": attempt})
        await api.fail(task["id"], f"no {attempt}")
        record = await api.activity(task["id"])
        assert (record["status"], record["attempt"]) == ("PENDING", attempt + 1)
        cleared = ("claimed_by", "started_at", "last_heartbeat", "error", "completed_at")
        assert [name for name in cleared if record[name] is not None] == []
        assert await api.poll_activity() is None
        failed_at = record["scheduled_at"] - delay
        assert task["started_at"] <= failed_at < task["started_at"] + 1
        task = await api.take("work")
        assert task["started_at"] >= record["scheduled_at"]
        assert task["heartbeat_details"] == f'{{"seen":{attempt}}}'
    assert await api.kinds(run) == ["WorkflowStarted", "ActivityScheduled"]
    await api.complete(task["id"], "at last")
    assert (await api.activity(task["id"]))["attempt"] == 3


@over_http
async def test_the_back_off_has_no_cap(api: Api) -> None:
    await scheduled(api, initial_interval_secs=1000, backoff_coefficient=1e6, max_attempts=2)
    task = await api.take("work")
    await api.fail(task["id"])
    record = await api.activity(task["id"])
    assert 999 < record["scheduled_at"] - task["started_at"] < 1010


@over_http
async def test_an_exhausted_activity_fails_and_the_handler_decides(api: Api) -> None:
    run = await scheduled(api, max_attempts=2, initial_interval_secs=0)
    first = await api.take("work")
    await api.fail(first["id"], "no good")
    task = await api.take("work")
    await api.fail(task["id"], "no good")
    record = await api.activity(task["id"])
    assert (record["status"], record["error"], record["attempt"]) == ("FAILED", "no good", 2)
    assert await api.status(run) == "RUNNING"
    history = await api.advance(run, commands.complete("without it"))
    assert history[-1].type == "ActivityFailed"
    payload = history[-1].payload
    assert (payload["activity_id"], payload["activity_seq"]) == (task["id"], 1)
    assert (payload["name"], payload["error"], payload["final_attempt"]) == ("work", "no good", 2)
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_outcomes_of_an_ended_run_are_kept_and_append_nothing(api: Api) -> None:
    run = await api.start()
    await api.advance(run, *(commands.activity(n, f"a{n}", task_queue=api.queue) for n in (1, 2)))
    good, bad = await api.take("a1"), await api.take("a2")
    await api.terminate(run)
    before = await api.history(run)
    assert await api.beat(good["id"])
    await api.complete(good["id"], "late")
    await api.fail(bad["id"], "late too")
    assert await api.history(run) == before
    done, failed = await api.activity(good["id"]), await api.activity(bad["id"])
    assert (done["status"], done["result"]) == ("COMPLETED", '"late"')
    assert (failed["status"], failed["error"], failed["attempt"]) == ("FAILED", "late too", 1)
    assert await api.poll_activity() is None


@over_http
async def test_unknown_activities_are_not_found(api: Api) -> None:
    missing = 2**50
    for method, path in (
        ("GET", f"/activities/{missing}"),
        ("POST", f"/tasks/{missing}/complete"),
        ("POST", f"/tasks/{missing}/heartbeat"),
    ):
        answer = await api.send(method, path, status=404)
        assert answer.error == f"not found: activity {missing} not found"
    await api.fail(missing, status=404)
    await api.send("GET", "/activities/abc", status=400)
    await api.send("POST", "/tasks/1.5/complete", status=400)


@over_http
async def test_a_repeated_command_schedules_once(api: Api) -> None:
    run = await scheduled(api)
    await api.signal(run, "again")
    again = commands.activity(1, "work", task_queue=api.queue, input="ignored")
    await api.advance(run, again, again, commands.activity(2, "more", task_queue=api.queue))
    assert len(await api.events(run, "ActivityScheduled")) == 2
    assert (await api.take("work"))["input"] is None
    await api.take("more")
    assert await api.poll_activity() is None


@over_http
async def test_another_name_for_a_seq_is_non_determinism(api: Api) -> None:
    run = await scheduled(api)
    await api.signal(run, "again")
    before = await api.history(run)
    await api.claim(run)
    answer = await api.submit(
        run,
        commands.timer(1, 0),
        commands.activity(1, "else", task_queue=api.queue),
        status=409,
    )
    assert answer.error.startswith("non-deterministic replay")
    assert await api.history(run) == before
    assert (await api.describe(run))["blocked"]
    await api.claim(run)  # offered again after a second
    await api.submit(run, commands.activity(1, "work", task_queue=api.queue))
    assert (await api.describe(run))["blocked"] is None
