"""The list of workers (contract 5.14): who lives, and how many tasks each holds."""

from __future__ import annotations

import asyncio
import json
import time

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import until
from tests.support.http import Json

FIELDS = {
    "id": str,
    "namespace": str,
    "identity": str,
    "task_queue": str,
    "workflows": str | None,
    "activities": str | None,
    "max_concurrent_workflows": int,
    "max_concurrent_activities": int,
    "active_tasks": int,
    "last_heartbeat": float | int,
    "registered_at": float | int,
}


async def register(api: Api, **fields: Json) -> str:
    body = {"identity": "me", "queue": api.queue, **fields}
    return str((await api.send("POST", "/workers/register", body)).json()["worker_id"])


async def workers(api: Api, space: str) -> list[Json]:
    return list(await api.get(f"/workers?namespace={space}"))


async def active(api: Api, space: str) -> dict[str, int]:
    return {worker["id"]: worker["active_tasks"] for worker in await workers(api, space)}


@over_http
async def test_every_field_is_there(api: Api) -> None:
    space, before = await api.open_namespace(), time.time()
    told = {"workflows": ["a", "ä"], "max_concurrent_workflows": 3, "max_concurrent_activities": 0}
    plain, full = await register(api, namespace=space), await register(api, namespace=space, **told)
    one, other = await workers(api, space)
    assert (one["id"], other["id"]) == (plain, full)
    for worker in (one, other):
        for name, kind in FIELDS.items():
            assert isinstance(worker[name], kind), (name, worker)
        assert (worker["namespace"], worker["task_queue"]) == (space, api.queue)
        assert before - 1 < worker["registered_at"] <= worker["last_heartbeat"] < time.time() + 1
    assert (one["workflows"], one["activities"]) == (None, None)
    assert (one["max_concurrent_workflows"], one["max_concurrent_activities"]) == (10, 20)
    assert json.loads(other["workflows"]) == ["a", "ä"]
    assert (other["max_concurrent_workflows"], other["max_concurrent_activities"]) == (3, 0)


@over_http
async def test_they_come_in_the_order_in_which_they_registered(api: Api) -> None:
    space = await api.open_namespace()
    ids = [await register(api, namespace=space) for _ in range(5)]
    assert [worker["id"] for worker in await workers(api, space)] == ids
    await asyncio.gather(*(register(api, namespace=space) for _ in range(20)))
    found = await workers(api, space)
    assert len(found) == 25
    moments = [(worker["registered_at"], worker["id"]) for worker in found]
    assert moments == sorted(moments)


@over_http
async def test_tenants_are_apart(api: Api) -> None:
    space, other = await api.open_namespace(), await api.open_namespace()
    worker = await register(api, namespace=space)
    assert [each["id"] for each in await workers(api, space)] == [worker]
    assert await workers(api, other) == []
    assert await workers(api, api.fresh("none")) == []
    own = await register(api)
    assert own in {each["id"] for each in await api.get("/workers")}
    await api.close_namespace(space)
    assert [each["id"] for each in await workers(api, space)] == [worker]


@over_http
async def test_signs_of_life_are_seen_before_they_are_written(api: Api) -> None:
    space = await api.open_namespace()
    worker = await register(api, namespace=space)
    seen = [(await workers(api, space))[0]["last_heartbeat"]]
    for call in (
        api.send("POST", "/workers/heartbeat", {"worker_id": worker}),
        api.poll_run(worker=worker),
        api.poll_activity(worker=worker),
    ):
        await call
        seen.append((await workers(api, space))[0]["last_heartbeat"])
    assert seen == sorted(set(seen)), "each call moved it, within one second"

    async def written() -> bool:
        """Written behind, what is shown stays."""
        await asyncio.sleep(0.3)
        return bool((await workers(api, space))[0]["last_heartbeat"] == seen[-1])

    for _ in range(5):
        assert await written()


@over_http
async def test_leases_and_running_activities_are_active_tasks(api: Api) -> None:
    space = await api.open_namespace()
    ann = await register(api, namespace=space)
    bob = await register(api, namespace=space)
    assert await active(api, space) == {ann: 0, bob: 0}
    runs = [await api.start(namespace=space) for _ in range(3)]
    tasks = [await api.claim(run, worker=ann) for run in runs]
    assert await active(api, space) == {ann: 3, bob: 0}
    work = [commands.activity(seq, task_queue=api.queue) for seq in (1, 2)]
    await api.submit(runs[0], *work, worker=ann, lease=tasks[0]["lease"])
    assert await active(api, space) == {ann: 2, bob: 0}
    one, other = await api.take(worker=bob), await api.take(worker=ann)
    assert await active(api, space) == {ann: 3, bob: 1}
    await api.complete(one["id"])
    await api.fail(other["id"])  # it will be tried again
    assert await active(api, space) == {ann: 2, bob: 0}
    await api.terminate(runs[1])
    await api.submit(runs[2], commands.complete(), worker=ann, lease=tasks[2]["lease"])
    assert await active(api, space) == {ann: 0, bob: 0}
    again = await api.claim(runs[0], worker=bob)
    assert await active(api, space) == {ann: 0, bob: 1}
    await api.submit(runs[0], worker=bob, lease=again["lease"])
    assert await active(api, space) == {ann: 0, bob: 0}


@over_http
async def test_a_claim_that_is_undone_counts_no_more(api: Api) -> None:
    space = await api.open_namespace()
    worker = await register(api, namespace=space)
    connection = await api.http.open()
    body = json.dumps({"queue": api.queue, "worker_id": worker, "wait_secs": 30}).encode()
    head = f"POST /api/v1/workflow-tasks/poll HTTP/1.1\r\nhost: a\r\ncontent-length: {len(body)}"
    await connection.send(f"{head}\r\ncontent-type: application/json\r\n\r\n".encode() + body)
    await until(lambda: workers(api, space))
    connection.hang_up()
    run = await api.start(namespace=space)
    await until(lambda: active(api, space), lambda seen: seen == {worker: 0})
    await api.claim(run, worker=worker)
    assert await active(api, space) == {worker: 1}


@over_http
async def test_a_report_without_fence_is_a_sign_of_its_claimers_life(api: Api) -> None:
    """And no sign of life of a worker that is not the claimer (contract §10.3)."""
    space = await api.open_namespace()
    ann, bob = await register(api, namespace=space), await register(api, namespace=space)
    run = await api.start(namespace=space)
    await api.claim(run, worker=ann)
    tasks = [commands.activity(seq, task_queue=api.queue) for seq in (1, 2)]
    await api.submit(run, *tasks, worker=ann)
    one, two = await api.take(worker=ann), await api.take(worker=ann)

    async def heard(worker: str) -> float:
        return float(
            {each["id"]: each for each in await workers(api, space)}[worker]["last_heartbeat"]
        )

    last, silent = await heard(ann), await heard(bob)
    for report in (
        api.beat(one["id"]),
        api.send("POST", f"/tasks/{one['id']}/complete"),
        api.send("POST", f"/tasks/{two['id']}/fail", {"error": "no"}),
    ):
        await report
        before, last = last, await heard(ann)
        assert last > before
    path = f"/tasks/{two['id']}/heartbeat"
    await api.send("POST", path, {"worker_id": bob}, 409)
    assert await heard(bob) == silent
