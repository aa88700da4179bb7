"""What a start may ask for (contract 5.1): a delay, and to be content with what is there."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json

LATE_SECS = 1.5  # the contract says one; a busy test machine is not light load


async def asked(api: Api, run: str, status: int, **fields: Json) -> Json:
    body = {"workflow_type": "Story", "task_queue": api.queue, "workflow_id": run, **fields}
    return (await api.send("POST", "/workflows", body, status)).json()


# A delay


@over_http
async def test_a_delayed_run_is_there_at_once_and_offered_later(api: Api) -> None:
    run = await api.start(start_delay_secs=0.6, input=1)
    record = await api.describe(run)
    assert record["status"] == "PENDING"
    assert abs(record["start_at"] - record["created_at"] - 0.6) < 0.001
    assert await api.poll_run() is None
    await api.signal(run, "go")
    assert await api.poll_run() is None
    task = await api.claim(run)
    assert 0 <= time.time() + 0.05 - record["start_at"] < LATE_SECS
    assert [event["event_type"] for event in task["history"]] == [
        "WorkflowStarted",
        "SignalReceived",
    ]
    assert await api.status(run) == "RUNNING"
    await api.submit(run)
    await api.signal(run, "go")
    await api.claim(run, wait=0)


@over_http
async def test_work_added_to_a_delayed_run_does_not_wake_it(api: Api) -> None:
    run = await api.start(start_delay_secs=600)
    body = {"name": "work", "task_queue": api.queue, "seq": 1}
    activity = (await api.send("POST", at(run, "activities"), body, 201)).json()
    assert await api.status(run) == "RUNNING"
    await api.take("work")
    await api.complete(activity["id"])
    assert await api.poll_run() is None
    await api.cancel(run)
    await api.advance(run, commands.cancelled())
    assert await api.status(run) == "CANCELLED"


@over_http
async def test_a_cancel_request_ends_a_delayed_run_at_once(api: Api) -> None:
    run = await api.start(start_delay_secs=600)
    await api.cancel(run, "not today")
    assert await api.kinds(run) == [
        "WorkflowStarted",
        "WorkflowCancelRequested",
        "WorkflowCancelled",
    ]


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"start_delay_secs": -1}, 400),
        ({"start_delay_secs": 1e11}, 400),
        ({"start_delay_secs": "soon"}, 422),
        ({"timeout_secs": 0}, 400),
        ({"timeout_secs": -1}, 400),
        ({"timeout_secs": 1e11}, 400),
        ({"timeout_secs": "late"}, 422),
        ({"if_exists": "replace"}, 400),
        ({"if_exists": 1}, 422),
    ],
)
@over_http
async def test_options_out_of_range(api: Api, wrong: Json, status: int) -> None:
    run = api.fresh()
    await asked(api, run, status, **wrong)
    await api.send("GET", at(run), status=404)


@over_http
async def test_null_is_absent(api: Api) -> None:
    run = api.fresh()
    await asked(api, run, 201, start_delay_secs=None, timeout_secs=None, if_exists=None, input=None)
    record = await api.describe(run)
    assert (record["start_at"], record["timeout_at"]) == (record["created_at"], None)


# A run that is there already


@over_http
async def test_a_like_run_will_do_whatever_its_status(api: Api) -> None:
    run = api.fresh()
    first = await asked(api, run, 201, if_exists="use", input=1)
    assert await asked(api, run, 200, if_exists="use", input=2) == first
    await api.claim(run)
    assert await asked(api, run, 200, if_exists="use") == first | {"status": "RUNNING"}
    await api.terminate(run)
    before = [await api.describe(run), await api.history(run)]
    assert await asked(api, run, 200, if_exists="use") == first | {"status": "FAILED"}
    assert [await api.describe(run), await api.history(run)] == before
    await asked(api, run, 409, if_exists="error")
    await asked(api, run, 409)


@over_http
async def test_another_type_or_namespace_will_not(api: Api) -> None:
    run, space = await api.start(), await api.open_namespace()
    await asked(api, run, 409, if_exists="use", workflow_type="Other")
    await asked(api, run, 409, if_exists="use", namespace=space)
    await asked(api, run, 404, if_exists="use", namespace="nowhere")
    other = await api.start(namespace=space)
    await asked(api, other, 409, if_exists="use")
    assert (await asked(api, other, 200, if_exists="use", namespace=space))["workflow_id"] == other


@over_http
async def test_of_many_at_once_one_starts_it(api: Api) -> None:
    run = api.fresh()
    body = {"workflow_type": "Story", "task_queue": api.queue, "workflow_id": run}
    calls = [api.ask("POST", "/workflows", body | {"if_exists": "use"}) for _ in range(20)]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len({answer.body for answer in answers}) == 1
    assert await api.kinds(run) == ["WorkflowStarted"]


@over_http
async def test_without_an_id_each_start_is_a_new_run(api: Api) -> None:
    body = {"workflow_type": "Story", "task_queue": api.queue, "if_exists": "use"}
    ids = {(await api.send("POST", "/workflows", body, 201)).json()["workflow_id"] for _ in "abc"}
    assert len(ids) == 3
