"""Options and errors of activities beyond the contract: what ends them, and what is kept of it."""

from __future__ import annotations

import json

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json

FAILURE: Json = {
    "type": "Declined",
    "message": "no \u0000 money",
    "traceback": 'File "pay.py", line 3\n',
    "cause": {"type": "Empty", "message": "é", "traceback": None, "cause": None},
    "code": 1.0,
}


async def scheduled(api: Api, **options: Json) -> tuple[str, Json]:
    """A run and its one activity, claimed."""
    run = await api.start()
    await api.advance(run, commands.activity(1, "work", task_queue=api.queue, **options))
    return run, await api.take("work")


async def attempts(api: Api, no: int) -> list[Json]:
    return list(await api.get(f"/activities/{no}/attempts"))


async def delay(api: Api, no: int) -> float:
    """How long after its failed attempt the next one comes."""
    record, [*_, last] = await api.activity(no), await attempts(api, no)
    assert record["status"] == "PENDING"
    return float(record["scheduled_at"] - last["ended_at"])


@over_http
async def test_each_failed_attempt_is_shown_with_its_error(api: Api) -> None:
    options: Json = {"max_attempts": 3, "initial_interval_secs": 0, "start_to_close_secs": 0.2}
    run, task = await scheduled(api, **options)
    no = task["id"]
    assert await attempts(api, no) == []
    await api.take("work", worker="w-slow")  # which says nothing
    await api.fail((await api.take("work", worker="w-bob"))["id"], "broke", failure=FAILURE)
    lost, slow, last = await attempts(api, no)
    for number, worker, shown in ((1, "w-test", lost), (2, "w-slow", slow)):
        assert (shown["attempt"], shown["worker_id"]) == (number, worker)
        assert (shown["error"], shown["failure"]) == ("start_to_close timeout", None)
        took = round((shown["ended_at"] - shown["started_at"]) * 1e6)  # floats are finer than times
        assert took >= 200_000
    assert (last["attempt"], last["worker_id"], last["error"]) == (3, "w-bob", "broke")
    assert json.loads(last["failure"]) == FAILURE
    assert list(last) == ["attempt", "worker_id", "started_at", "ended_at", "error", "failure"]
    record = await api.activity(no)
    assert (record["started_at"], record["completed_at"]) == (last["started_at"], last["ended_at"])
    assert (record["error"], record["result"]) == ("broke", None)
    [event] = await api.events(run, "ActivityFailed")
    assert event.payload["failure"] == FAILURE
    assert (await api.advance(run))[-1].payload == event.payload


@over_http
async def test_an_error_without_more_to_say_is_told_as_ever(api: Api) -> None:
    run, task = await scheduled(api, max_attempts=1)
    await api.fail(task["id"], "broke", failure=None)
    [event] = await api.events(run, "ActivityFailed")
    assert event.payload == {
        "activity_id": task["id"],
        "activity_seq": 1,
        "name": "work",
        "error": "broke",
        "final_attempt": 1,
    }
    assert [shown["failure"] for shown in await attempts(api, task["id"])] == [None]


@over_http
async def test_attempts_of_nothing(api: Api) -> None:
    answer = await api.send("GET", f"/activities/{2**50}/attempts", status=404)
    assert answer.error == f"not found: activity {2**50} not found"
    await api.send("GET", "/activities/one/attempts", status=400)


@over_http
async def test_a_retried_or_deleted_activity_has_no_old_attempts(api: Api) -> None:
    options: Json = {"task_queue": api.queue, "max_attempts": 2, "initial_interval_secs": 0}
    run = await api.start()
    await api.advance(run, *(commands.activity(seq, f"a{seq}", **options) for seq in (1, 2)))
    first, second = await api.take("a1"), await api.take("a2")
    for task in (first, second):
        await api.fail(task["id"], "no")
    for task in (await api.take("a1"), await api.take("a2")):
        await api.fail(task["id"], "no")
    assert [len(await attempts(api, task["id"])) for task in (first, second)] == [2, 2]
    await api.advance(run, commands.fail())
    await api.retry(run)
    assert [len(await attempts(api, task["id"])) for task in (first, second)] == [2, 0]
    await api.fail((await api.take("a2"))["id"], "again")
    assert [shown["error"] for shown in await attempts(api, second["id"])] == ["again"]
    await api.terminate(run)
    await api.delete(run)
    for task in (first, second):
        await api.send("GET", f"/activities/{task['id']}/attempts", status=404)


# When the next attempt comes


@over_http
async def test_the_longest_interval(api: Api) -> None:
    options: Json = {"initial_interval_secs": 5, "backoff_coefficient": 100}
    _, task = await scheduled(api, **options, max_interval_secs=7)
    await api.fail(task["id"])
    assert await delay(api, task["id"]) == pytest.approx(5)
    _, task = await scheduled(api, **(options | {"initial_interval_secs": 50}), max_interval_secs=7)
    await api.fail(task["id"])
    assert await delay(api, task["id"]) == pytest.approx(7)
    assert (await api.activity(task["id"]))["max_interval_secs"] == 7


@over_http
async def test_jitter_shortens_delays_each_by_its_own_share(api: Api) -> None:
    delays = set()
    for _ in range(5):
        run, task = await scheduled(api, initial_interval_secs=100, jitter=0.5)
        await api.fail(task["id"])
        delays.add(round(await delay(api, task["id"]), 3))
        [reason] = (await api.describe(run))["waiting_for"]
        [shown] = await attempts(api, task["id"])
        assert (reason["kind"], reason["since"]) == ("retry", shown["ended_at"])
    assert len(delays) == 5
    assert all(50 <= each <= 100 for each in delays)


@over_http
async def test_an_error_may_set_the_next_delay(api: Api) -> None:
    _, task = await scheduled(api, initial_interval_secs=0, max_interval_secs=1, jitter=1)
    await api.fail(task["id"], retry_after_secs=300)
    assert await delay(api, task["id"]) == pytest.approx(300)
    _, task = await scheduled(api, initial_interval_secs=300)
    await api.fail(task["id"], retry_after_secs=0)
    assert (await api.take("work"))["attempt"] == 2


# After which failures none comes


@pytest.mark.parametrize(
    ("report", "final"),
    [
        ({"retryable": False}, True),
        ({"retryable": False, "retry_after_secs": 0}, True),
        ({"retryable": True}, False),
        ({"failure": {"type": "Fatal"}}, True),
        ({"failure": FAILURE}, True),
        ({"failure": FAILURE, "retryable": True}, True),
        ({"failure": {"type": "Other", "cause": {"type": "Fatal"}}}, False),
        ({"failure": {"type": None}}, False),
        ({"failure": []}, False),
    ],
)
@over_http
async def test_what_is_not_retried(api: Api, report: Json, final: bool) -> None:
    run, task = await scheduled(api, non_retryable=["Fatal", "Declined"])
    await api.fail(task["id"], "Fatal", **report)
    record = await api.activity(task["id"])
    assert record["status"] == ("FAILED" if final else "PENDING")
    assert record["non_retryable"] == '["Fatal","Declined"]'
    told = await api.events(run, "ActivityFailed")
    assert [event.payload["final_attempt"] for event in told] == ([1] if final else [])


WRONG: list[tuple[Json, int]] = [
    ({"failure": "Fatal"}, 422),
    ({"failure": [1]}, 422),
    ({"failure": 5}, 422),
    ({"retryable": "no"}, 422),
    ({"retry_after_secs": "1"}, 422),
    ({"retry_after_secs": -1}, 400),
    ({"retry_after_secs": 1e11}, 400),
]


@pytest.mark.parametrize(("wrong", "status"), WRONG)
@over_http
async def test_malformed_reports(api: Api, wrong: Json, status: int) -> None:
    _, task = await scheduled(api)
    await api.fail(task["id"], "no", status, **wrong)
    assert (await api.activity(task["id"]))["status"] == "RUNNING"
    assert await attempts(api, task["id"]) == []


# The options


@over_http
async def test_options_over_rest(api: Api) -> None:
    run = await api.start()
    body: Json = {"name": "work", "task_queue": api.queue, "seq": 1}
    options: Json = {"max_interval_secs": 9.5, "jitter": 0.25, "non_retryable": ["Fatal"]}
    record = (await api.send("POST", at(run, "activities"), body | options, 201)).json()
    shown = {name: record[name] for name in options}
    assert shown == options | {"non_retryable": '["Fatal"]'}
    task = await api.take("work")
    assert {name: task[name] for name in options} == shown
    for seq, none in enumerate(({}, dict.fromkeys(options), {"non_retryable": []}), 2):
        plain = body | {"seq": seq} | none
        record = (await api.send("POST", at(run, "activities"), plain, 201)).json()
        assert [record[name] for name in options] == [None, 0, None]


# What else fails


@over_http
async def test_steps_and_runs_say_more_of_their_errors_too(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.step_failed(1, 1, failure=FAILURE))
    await api.advance(run, commands.step(1, attempt=2, error="no", failure=FAILURE))
    await api.advance(run, commands.fail("no") | {"failure": FAILURE})
    kinds = {"StepAttemptFailed": "broke", "StepFailed": "no", "WorkflowFailed": "no"}
    for kind, error in kinds.items():
        [event] = await api.events(run, kind)
        assert (event.payload["error"], event.payload["failure"]) == (error, FAILURE)
    assert (await api.describe(run))["error"] == "no"


@pytest.mark.parametrize("command", [commands.step(1, error="no"), commands.fail()])
@over_http
async def test_malformed_failures_of_commands(api: Api, command: Json) -> None:
    run = await api.start()
    await api.claim(run)
    for wrong in ("Fatal", [1], True):
        await api.submit(run, command | {"failure": wrong}, status=422)
    await api.submit(run, command | {"failure": None})
    assert "failure" not in (await api.history(run))[-1].payload
