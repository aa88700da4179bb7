"""Activities scheduled over REST (contract 5.10): like those of a command."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json


@over_http
async def test_defaults(api: Api) -> None:
    run = await api.start()
    body = {"name": "work", "task_queue": api.queue, "seq": 1}
    record = (await api.send("POST", at(run, "activities"), body, 201)).json()
    assert await api.activity(record["id"]) == record
    assert (record["status"], record["attempt"], record["max_attempts"]) == ("PENDING", 1, 3)
    assert await api.status(run) == "RUNNING"  # an activity ends the wait for a worker
    await api.claim(run, wait=0)  # which it is still offered to


@over_http
async def test_all_options_and_repetition(api: Api) -> None:
    run = await api.start()
    options = {
        "max_attempts": 7,
        "initial_interval_secs": 0.5,
        "backoff_coefficient": 1.5,
        "start_to_close_secs": 60,
        "heartbeat_timeout_secs": 9,
    }
    body = {"name": "work", "task_queue": api.queue, "seq": 3.0, "input": {"a": [1]}} | options
    record = (await api.send("POST", at(run, "activities"), body, 201)).json()
    assert {key: record[key] for key in options} == options
    assert (record["seq"], record["input"]) == (3, '{"a":[1]}')
    again = (await api.send("POST", at(run, "activities"), body, 201)).json()
    assert again["id"] == record["id"]
    assert len(await api.events(run, "ActivityScheduled")) == 1


@over_http
async def test_refusals(api: Api) -> None:
    run = await api.start()
    body: Json = {"name": "work", "task_queue": api.queue, "seq": 1}
    await api.send("POST", at(run, "activities"), body, 201)
    await api.send("POST", at(run, "activities"), body | {"name": "other"}, 409)
    await api.terminate(run)
    await api.send("POST", at(run, "activities"), body | {"seq": 4}, 409)
    answer = await api.send("POST", at("none", "activities"), body, 404)
    assert answer.error == "not found: workflow none"


@pytest.mark.parametrize(
    ("wrong", "status"), [*commands.WRONG_ACTIVITIES, ({"task_queue": None}, 422)]
)
@over_http
async def test_options_out_of_range(api: Api, wrong: Json, status: int) -> None:
    run = await api.start()
    body = {"name": "work", "task_queue": api.queue, "seq": 1} | wrong
    await api.send("POST", at(run, "activities"), body, status)
    assert await api.kinds(run) == ["WorkflowStarted"]
    assert await api.status(run) == "PENDING"
