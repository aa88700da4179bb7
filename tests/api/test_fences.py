"""Fences (contract 5.16, 5.17): reports of others, of earlier attempts and of lost leases."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json


async def taken(api: Api) -> tuple[str, Json]:
    run = await api.start()
    again: Json = {"task_queue": api.queue, "initial_interval_secs": 0}
    await api.advance(run, commands.activity(1, "work", **again))
    return run, await api.take("work", worker="w-holder")


FOREIGN: list[Json] = [
    {"worker_id": "w-other"},
    {"attempt": 2},
    {"token": "not-it"},
    {"worker_id": "w-holder", "attempt": 1, "token": "not-it"},
    {"worker_id": "w-holder", "attempt": 2},
]


@pytest.mark.parametrize("fence", FOREIGN)
@over_http
async def test_a_foreign_fence_is_refused_and_nothing_changes(api: Api, fence: Json) -> None:
    run, task = await taken(api)
    before = await api.activity(task["id"])
    await api.complete(task["id"], 1, status=409, **fence)
    await api.fail(task["id"], status=409, **fence)
    path = f"/tasks/{task['id']}/heartbeat"
    await api.send("POST", path, {"details": 1, **fence}, 409)
    assert await api.activity(task["id"]) == before
    assert "ActivityCompleted" not in await api.kinds(run)


@pytest.mark.parametrize("given", ["worker_id", "attempt", "token", "all", "none", "nulls"])
@over_http
async def test_the_own_fence_is_accepted(api: Api, given: str) -> None:
    _, task = await taken(api)
    whole: Json = {"worker_id": "w-holder", "attempt": 1, "token": task["token"]}
    fences: Json = {"all": whole, "none": {}, "nulls": dict.fromkeys(whole)}
    fence = fences.get(given) or {given: whole.get(given)}
    if given == "none":
        fence = {}
    assert not await api.beat(task["id"], {"x": 1}, **fence)
    await api.complete(task["id"], 1, **fence)


@over_http
async def test_reports_on_what_is_not_running(api: Api) -> None:
    run, task = await taken(api)
    await api.complete(task["id"], 1)
    before = await api.activity(task["id"])
    await api.complete(task["id"], 2, status=409)
    await api.fail(task["id"], status=409)
    await api.send("POST", f"/tasks/{task['id']}/heartbeat", status=409)
    assert await api.activity(task["id"]) == before
    assert len(await api.events(run, "ActivityCompleted")) == 1


@over_http
async def test_an_earlier_attempt_has_no_say(api: Api) -> None:
    _, first = await taken(api)
    await api.fail(first["id"], token=first["token"])
    await api.complete(first["id"], 1, status=409)  # PENDING again
    second = await api.take("work", worker="w-holder")
    assert second["token"] != first["token"]
    await api.complete(first["id"], 1, status=409, token=first["token"])
    await api.complete(first["id"], 1, status=409, worker_id="w-holder", attempt=1)
    await api.complete(first["id"], 2, worker_id="w-holder", attempt=2, token=second["token"])
    assert (await api.activity(first["id"]))["result"] == "2"


@over_http
async def test_fences_of_the_wrong_type(api: Api) -> None:
    _, task = await taken(api)
    for wrong in ({"worker_id": 5}, {"attempt": "1"}, {"token": 5}, {"attempt": 1.5}):
        await api.send("POST", f"/tasks/{task['id']}/complete", wrong, 422)
    await api.complete(task["id"], attempt=1.0)


@over_http
async def test_batches_need_the_claim(api: Api) -> None:
    run = await api.start()
    await api.submit(run, commands.complete(), status=409)  # nobody holds it
    task = await api.claim(run, worker="w-holder")
    await api.submit(run, commands.complete(), worker="w-other", status=409)
    await api.submit(run, commands.complete(), worker="w-holder", lease="not-it", status=409)
    await api.submit(run, worker="w-other", lease=task["lease"], status=409)
    assert await api.kinds(run) == ["WorkflowStarted"]
    await api.submit(run, commands.timer(1, 99), worker="w-holder", lease=task["lease"])
    await api.submit(run, commands.complete(), worker="w-holder", status=409)  # used up
    assert await api.status(run) == "RUNNING"


@over_http
async def test_the_lease_of_an_earlier_claim_is_refused(api: Api) -> None:
    run = await api.start()
    first = await api.claim(run)
    await api.submit(run)
    await api.signal(run, "again")
    second = await api.claim(run)
    assert second["lease"] != first["lease"]
    await api.submit(run, commands.complete(), lease=first["lease"], status=409)
    await api.submit(run, commands.complete(), lease=second["lease"])


@over_http
async def test_batches_of_the_wrong_shape(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    path = f"/workflow-tasks/{run}/commands"
    wrongs: list[Json] = [
        {"worker_id": "w-test"},
        {"commands": []},
        {"worker_id": 5, "commands": []},
        {"worker_id": "w-test", "commands": {"type": "CompleteWorkflow"}},
        {"worker_id": "w-test", "commands": [], "lease": 5},
        [],
    ]
    for wrong in wrongs:
        await api.send("POST", path, wrong, 422)
    await api.submit(run, commands.complete())
