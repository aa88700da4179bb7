"""Polls (contract 5.16, 5.17, 8.1): exact answers, held answers, who gets what."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json

PATHS = ["/workflow-tasks/poll", "/tasks/poll"]
SOON_SECS = 1.5  # the contract says 100 ms; a busy test machine is not light load


@over_http
async def test_no_workflow_task_is_four_bytes(api: Api) -> None:
    answer = await api.send("POST", PATHS[0], {"queue": api.queue, "worker_id": "w"})
    assert answer.body == b"null"
    assert answer.headers["content-length"] == "4"
    assert answer.headers["content-type"].startswith("application/json")


@over_http
async def test_no_activity_is_an_object(api: Api) -> None:
    answer = await api.send("POST", PATHS[1], {"queue": api.queue, "worker_id": "w"})
    assert answer.json() == {"task": None}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"queue": None}, 422),
        ({"worker_id": None}, 422),
        ({"queue": 5}, 422),
        ({"queue": " "}, 400),
        ({"worker_id": ""}, 400),
        ({"wait_secs": -1}, 400),
        ({"wait_secs": 61}, 400),
        ({"wait_secs": "1"}, 422),
    ],
)
@over_http
async def test_odd_polls(api: Api, path: str, wrong: Json, status: int) -> None:
    await api.send("POST", path, {"queue": api.queue, "worker_id": "w"} | wrong, status)


@pytest.mark.parametrize("path", PATHS)
@over_http
async def test_a_poll_is_held_as_long_as_it_says(api: Api, path: str) -> None:
    body = {"queue": api.queue, "worker_id": "w", "wait_secs": 0.3}
    asked_at = time.monotonic()
    answer = await api.send("POST", path, body)
    waited = time.monotonic() - asked_at
    assert answer.json() in (None, {"task": None})
    assert 0.25 < waited < 0.3 + SOON_SECS


@over_http
async def test_a_held_workflow_poll_is_answered_when_work_appears(api: Api) -> None:
    held = asyncio.create_task(api.claim())
    await asyncio.sleep(0.1)
    assert not held.done()
    started_at = time.monotonic()
    run = await api.start()
    assert (await held)["workflow_id"] == run
    assert time.monotonic() - started_at < SOON_SECS


@over_http
async def test_a_held_activity_poll_is_answered_when_work_appears(api: Api) -> None:
    held = asyncio.create_task(api.take())
    run = await api.start()
    await api.claim(run)
    assert not held.done()
    started_at = time.monotonic()
    await api.submit(run, commands.activity(1, "work", task_queue=api.queue))
    assert (await held)["name"] == "work"
    assert time.monotonic() - started_at < SOON_SECS


@over_http
async def test_held_polls_share_what_appears(api: Api) -> None:
    held = [asyncio.create_task(api.claim(worker=f"w-{n}")) for n in range(5)]
    runs = {await api.start() for _ in range(5)}
    assert {(await poll)["workflow_id"] for poll in held} == runs


@over_http
async def test_a_queue_sees_only_its_own(api: Api) -> None:
    run = await api.start()
    elsewhere = api.fresh("queue")
    assert await api.poll_run(queue=elsewhere) is None
    assert await api.poll_run(queue=api.queue.upper()) is None
    await api.advance(run, commands.activity(1, "work", task_queue=elsewhere))
    assert await api.poll_activity() is None
    task = await api.poll_activity(queue=elsewhere)
    assert task["task_queue"] == elsewhere


@over_http
async def test_the_longest_waiting_run_comes_first(api: Api) -> None:
    runs = [await api.start() for _ in range(5)]
    assert [(await api.claim())["workflow_id"] for _ in runs] == runs
    for run in runs:
        await api.submit(run)
    for run in reversed(runs):
        await api.signal(run, "go")
    assert [(await api.claim())["workflow_id"] for _ in runs] == runs[::-1]


@over_http
async def test_a_claim_clears_the_mark_and_changes_the_status(api: Api) -> None:
    run = await api.start()
    task = await api.claim(run, wait=0)
    assert await api.status(run) == "RUNNING"
    assert isinstance(task["lease"], str)
    assert await api.poll_run() is None
    await api.submit(run, lease=task["lease"])
    assert await api.poll_run() is None


@over_http
async def test_news_while_held_offers_the_run_right_after(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.signal(run, "one")
    await api.signal(run, "two")
    assert await api.poll_run() is None
    waiting = asyncio.create_task(api.claim(run, worker="w-next"))
    await api.submit(run, commands.timer(1, 100))
    task = await waiting
    assert [item["event_type"] for item in task["history"][1:]] == [
        "SignalReceived",
        "SignalReceived",
        "TimerScheduled",
    ]
    await api.submit(run, worker="w-next")
    assert await api.poll_run() is None


@over_http
async def test_a_registered_worker_polls_like_any_other(api: Api) -> None:
    body = {"identity": "me", "queue": api.queue, "workflows": {}, "activities": []}
    worker = (await api.send("POST", "/workers/register", body)).json()["worker_id"]
    again = (await api.send("POST", "/workers/register", body)).json()["worker_id"]
    assert worker != again
    assert worker.startswith("w-")
    assert len(worker) == 18
    run = await api.start()
    task = await api.claim(run, worker=worker)
    await api.submit(run, commands.complete(), worker=worker, lease=task["lease"])
