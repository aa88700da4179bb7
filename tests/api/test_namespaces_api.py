"""Namespaces (contract 5.13): they come and go; what is in one that goes, goes on."""

from __future__ import annotations

import asyncio

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json
from tests.support.plans import of_schedule


async def registered(api: Api, status: int = 200, **fields: Json) -> str:
    body = {"identity": "me", "queue": api.queue, **fields}
    answer = await api.send("POST", "/workers/register", body, status)
    return str(answer.json().get("worker_id"))


@over_http
async def test_a_name_is_taken_once(api: Api) -> None:
    name = api.fresh("space") + " ä/?"
    answer = await api.send("POST", "/namespaces", {"name": name}, 201)
    assert (answer.body, answer.headers["content-length"]) == (b"", "0")
    again = await api.send("POST", "/namespaces", {"name": name}, 409)
    assert name in again.error
    await api.send("POST", "/namespaces", {"name": "main"}, 409)
    answer = await api.close_namespace(name)
    assert (answer.body, answer.headers["content-length"]) == (b"", "0")
    gone = await api.close_namespace(name, 404)
    assert gone.error == f"not found: namespace {name}"


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 422), ({"name": 5}, 422), ({"name": ""}, 400), ({"name": "x" * 1001}, 400)],
)
@over_http
async def test_what_is_no_name(api: Api, body: Json, status: int) -> None:
    await api.send("POST", "/namespaces", body, status)


@over_http
async def test_main_stays(api: Api) -> None:
    answer = await api.close_namespace("main", 404)
    assert answer.error == "not found: cannot delete the 'main' namespace"
    await api.start()


@over_http
async def test_of_many_requests_one_makes_it_and_one_deletes_it(api: Api) -> None:
    name = api.fresh("space")
    made = [api.ask("POST", "/namespaces", {"name": name}) for _ in range(10)]
    assert sorted(answer.status for answer in await asyncio.gather(*made)) == [201] + [409] * 9
    gone = [api.ask("DELETE", f"/namespaces/{name}") for _ in range(10)]
    assert sorted(answer.status for answer in await asyncio.gather(*gone)) == [200] + [404] * 9


@over_http
async def test_coming_going_and_starting_at_once_is_one_after_the_other(api: Api) -> None:
    for _ in range(5):
        name = await api.open_namespace()
        body: Json = {"workflow_type": "Story", "task_queue": "nobody", "namespace": name}
        calls = [
            api.ask("DELETE", f"/namespaces/{name}"),
            api.ask("POST", "/namespaces", {"name": name}),
            *(api.ask("POST", "/workflows", body) for _ in range(4)),
        ]
        gone, made, *started = await asyncio.gather(*calls)
        assert gone.status == 200
        assert made.status in (201, 409)
        assert {answer.status for answer in started} <= {201, 404}
        await api.send("POST", "/workflows", body, 201 if made.status == 201 else 404)
        await api.close_namespace(name, 200 if made.status == 201 else 404)


@over_http
async def test_nothing_new_begins_in_one_that_is_gone(api: Api) -> None:
    name = await api.open_namespace()
    await api.close_namespace(name)
    body: Json = {"workflow_type": "Story", "workflow_id": api.fresh(), "namespace": name}
    answer = await api.send("POST", "/workflows", body, 404)
    assert answer.error == f"not found: namespace {name}"
    await api.schedule(status=404, namespace=name)
    await registered(api, 404, namespace=name)


@over_http
async def test_a_run_of_one_that_is_gone_can_still_be_asked_for_by_starting_it(api: Api) -> None:
    name = await api.open_namespace()
    run = await api.start(namespace=name)
    await api.close_namespace(name)
    body: Json = {"workflow_type": "Story", "workflow_id": run, "namespace": name}
    answer = await api.send("POST", "/workflows", body | {"if_exists": "use"}, 200)
    record = await api.describe(run)
    assert answer.json() == {"workflow_id": run, "run_id": record["run_id"], "status": "PENDING"}
    await api.send("POST", "/workflows", body, 404)
    other = body | {"if_exists": "use", "workflow_type": "Other"}
    await api.send("POST", "/workflows", other, 404)


@over_http
async def test_its_runs_go_on_children_and_successors_included(api: Api) -> None:
    name, child = await api.open_namespace(), api.fresh("child")
    worker = await registered(api, namespace=name)
    run = await api.start(namespace=name)
    await api.close_namespace(name)
    await api.claim(run, worker=worker)
    await api.submit(
        run, commands.child(child, task_queue=api.queue), commands.wait("go"), worker=worker
    )
    await api.claim(child, worker=worker)
    await api.submit(child, commands.complete(), worker=worker)
    await api.claim(run, worker=worker)
    await api.submit(run, commands.continue_as_new(), worker=worker)
    [*_, last] = await api.history(run)
    new = await api.describe(last.payload["new_workflow_id"])
    assert (new["namespace"], new["status"]) == (name, "PENDING")
    again = await api.continue_as_new(new["id"])
    body = {"name": "work", "task_queue": api.queue, "seq": 1}
    await api.send("POST", at(again["id"], "activities"), body, 201)
    await api.signal(again["id"], "go")
    await api.claim(again["id"], worker=worker)
    await api.submit(again["id"], commands.complete(), worker=worker)


@over_http
async def test_its_schedules_stay(api: Api) -> None:
    space = await api.open_namespace()
    name = (await api.schedule(namespace=space))["name"]
    await api.close_namespace(space)
    assert (await api.patch(name, namespace=space))["name"] == name
    assert (await api.pause(name, namespace=space))["paused"]
    await api.send("DELETE", of_schedule(name, namespace=space))


@over_http
async def test_tenants_do_not_see_each_others_tasks(api: Api) -> None:
    ours, theirs = await api.open_namespace(), await api.open_namespace()
    worker = await registered(api, namespace=ours)
    run = await api.start(namespace=theirs)
    assert await api.poll_run(worker=worker) is None
    mine = await api.start(namespace=ours)
    task = await api.claim(mine, worker=worker)
    assert task["namespace"] == ours
    assert (await api.claim(run, worker="unknown"))["namespace"] == theirs
    await api.submit(run, commands.activity(1, task_queue=api.queue), worker="unknown")
    assert await api.poll_activity(worker=worker) is None
    await api.take()


@over_http
async def test_ids_are_unique_across_namespaces_schedules_are_not(api: Api) -> None:
    space = await api.open_namespace()
    run = await api.start(namespace=space)
    await api.send("POST", "/workflows", {"workflow_type": "Story", "workflow_id": run}, 409)
    name = (await api.schedule(namespace=space))["name"]
    await api.schedule(name)
    await api.schedule(name, status=409)
    await api.patch(name, namespace=space, task_queue="theirs")
    assert (await api.patch(name))["task_queue"] == api.queue
    await api.unschedule(name)
    assert (await api.patch(name, namespace=space))["task_queue"] == "theirs"
    await api.unschedule(name, namespace=space)
