"""Every call of the client's minimum (contract §20.1) against a real engine, awaited and blocking.

What a worker would do, the tests' own API does. API keys are in `tests/unit/sdk/test_starts.py`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from typing import Any

import pytest

from assay.sdk.faults import (
    BadRequest,
    Conflict,
    NotFound,
    RequestTimeout,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowTerminated,
    WorkflowTimedOut,
)
from tests.sdk.flavours import with_client
from tests.support import commands
from tests.support.api import Api
from tests.support.plans import NEVER_SOON
from tests.support.tasks import WORKER

ODD = "a/b ?&=%2F#ä\n"


@dataclasses.dataclass
class Receipt:
    total: int
    lines: list[str]


# Runs, from start to result


@with_client
async def test_a_run_from_its_start_to_its_result(client: Any, api: Api) -> None:
    id = api.fresh()
    handle = await client.workflows.start("Order", id, {"n": "ä"}, api.queue)
    assert (handle.id, handle.workflow_id, handle["workflow_id"]) == (id, id, id)
    assert handle.run_id == handle["run_id"]
    assert handle["status"] == "PENDING"
    record = await handle.describe()
    assert record == await client.workflows.describe(id)
    assert (record["workflow_type"], record["task_queue"]) == ("Order", api.queue)
    assert json.loads(record["input"]) == {"n": "ä"}
    waiting = asyncio.create_task(handle.result())
    await api.advance(id, commands.complete({"total": 5, "lines": ["a"]}))
    assert await waiting == {"total": 5, "lines": ["a"]}
    assert await client.workflows.result(id, 5, kind=Receipt) == Receipt(5, ["a"])
    again = client.workflows.handle(id, kind=Receipt)
    assert (again.id, again.run_id) == (id, None)
    assert await again.result(timeout=5) == Receipt(5, ["a"])
    assert await client.workflows.get_handle(id).result() == {"total": 5, "lines": ["a"]}


@with_client
async def test_a_start_with_nothing_but_a_type(client: Any, api: Api) -> None:
    handle = await client.workflows.start("Order")
    assert handle.id.startswith("wf-order-")
    record = await handle.describe()
    assert (record["input"], record["task_queue"], record["namespace"]) == (None, "default", "main")
    await handle.terminate()


@with_client
async def test_what_a_start_may_say(client: Any, api: Api) -> None:
    space = api.fresh("space")
    await client.namespaces.create(space)

    def workflow() -> None: ...

    workflow.__assay_name__ = "Decorated"  # type: ignore[attr-defined] # as the decorator does
    handle = await client.workflows.start(
        workflow,
        task_queue=api.queue,
        namespace=space,
        search_attributes={"city": "Köln"},
        timeout_secs=60,
        start_delay_secs=30,
    )
    record = await handle.describe()
    assert (record["workflow_type"], record["namespace"]) == ("Decorated", space)
    assert json.loads(record["search_attributes"])["city"] == "Köln"
    assert record["start_at"] == pytest.approx(record["created_at"] + 30, abs=0.01)
    assert record["timeout_at"] == pytest.approx(record["start_at"] + 60, abs=0.01)
    with pytest.raises(NotFound, match="namespace"):
        await client.workflows.start("Order", namespace="nowhere")
    with pytest.raises(BadRequest):
        await client.workflows.start("")


@with_client
async def test_an_id_is_taken_once_or_used(client: Any, api: Api) -> None:
    id = api.fresh()
    first = await client.workflows.start("Order", id, task_queue=api.queue)
    with pytest.raises(Conflict, match=id) as caught:
        await client.workflows.start("Order", id)
    assert caught.value.status == 409
    assert id in json.loads(caught.value.body)["error"]
    second = await client.workflows.start("Order", id, if_exists="use")
    assert second.run_id == first.run_id
    with pytest.raises(Conflict):
        await client.workflows.start("Other", id, if_exists="use")


@with_client
async def test_a_result_follows_the_successors(client: Any, api: Api) -> None:
    id = await api.start()
    waiting = asyncio.create_task(client.workflows.result(id))
    await api.advance(id, commands.continue_as_new({"n": 2}))
    task = await api.claim()
    assert task["workflow_id"] != id
    await api.submit(task["workflow_id"], commands.complete(None), lease=task["lease"])
    assert await waiting is None


@with_client
async def test_runs_that_fail_raise_what_became_of_them(client: Any, api: Api) -> None:
    failed, cancelled, terminated = [await api.start() for _ in range(3)]
    late = (await client.workflows.start("Order", task_queue=api.fresh(), timeout_secs=0.1)).id
    await api.claim(failed)
    await api.submit(failed, commands.fail("broken"))
    await client.workflows.cancel(cancelled, "enough")
    await client.workflows.terminate(terminated)
    told: list[tuple[str, type[WorkflowFailed], str, str | None]] = [
        (failed, WorkflowFailed, "FAILED", "broken"),
        (cancelled, WorkflowCancelled, "CANCELLED", "enough"),
        (terminated, WorkflowTerminated, "FAILED", "terminated"),
        (late, WorkflowTimedOut, "TIMED_OUT", "timed out"),
    ]
    for id, kind, status, error in told:
        with pytest.raises(WorkflowFailed) as caught:
            await client.workflows.result(id, 10)
        fault = caught.value
        assert type(fault) is kind
        assert (fault.workflow_id, fault.status, fault.error) == (id, status, error)


@with_client
async def test_a_result_is_waited_for_as_long_as_asked(client: Any, api: Api) -> None:
    id = await api.start()
    for secs in (0, 0.3):
        began = time.monotonic()
        with pytest.raises(RequestTimeout, match=id):
            await client.workflows.result(id, secs)
        assert secs - 0.01 <= time.monotonic() - began < secs + 1.5
    with pytest.raises(NotFound):
        await client.workflows.result("nobody")


# What can be asked of runs


@with_client
async def test_the_history_whole_and_in_pages(client: Any, api: Api) -> None:
    id = await api.start(input=1)
    for number in range(3):
        await client.workflows.signal(id, "go", number)
    events = await client.workflows.get_events(id)
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    assert json.loads(events[3]["payload"]) == {"signal": "go", "payload": 2}
    assert await client.workflows.get_events(id, 2, 1) == events[1:3]
    assert await client.workflows.get_events(id, limit=1, order="desc") == events[3:]
    assert await client.workflows.handle(id).events(cursor=3) == events[3:]
    assert await client.workflows.get_events("nobody") == []
    with pytest.raises(BadRequest):
        await client.workflows.get_events(id, limit=0)


@with_client
async def test_what_queries_answered(client: Any, api: Api) -> None:
    id = await api.start()
    assert await client.workflows.get_state(id) is None
    await api.advance(
        id, commands.snapshot({"step/1": 10**30, "none": None}), commands.timer(1, 60)
    )
    state = await client.workflows.get_state(id)
    assert state["state"] == {"step/1": 10**30, "none": None}
    assert (await client.workflows.get_state(id, "step/1"))["value"] == 10**30
    assert (await client.workflows.handle(id).state("none"))["value"] is None
    assert await client.workflows.handle(id).state() == state
    assert await client.workflows.get_state(id, "absent") is None


@with_client
async def test_children_and_strangers(client: Any, api: Api) -> None:
    id, child = await api.start(), api.fresh("child")
    assert await client.workflows.list_children(id) == []
    await api.advance(id, commands.child(child, task_queue=api.fresh("queue")))
    [found] = await client.workflows.list_children(id)
    assert (found["id"], found["parent_id"]) == (child, id)
    assert await client.workflows.describe("nobody") is None
    await client.workflows.terminate(child)


@with_client
async def test_signals_arrive_once(client: Any, api: Api) -> None:
    id = await api.start()
    await client.workflows.signal(id, "a/b c", {"n": 1}, "mine")
    await client.workflows.handle(id).signal("a/b c", {"n": 1}, "mine")
    await client.workflows.signal(id, "plain")
    signals = await api.events(id, "SignalReceived")
    assert [event.payload for event in signals] == [
        {"signal": "a/b c", "payload": {"n": 1}},
        {"signal": "plain", "payload": None},
    ]
    with pytest.raises(NotFound):
        await client.workflows.signal("nobody", "x")


@with_client
async def test_runs_are_stopped_and_deleted(client: Any, api: Api) -> None:
    asked, ended = await api.start(), await api.start()
    with pytest.raises(Conflict):
        await client.workflows.delete(asked)
    await client.workflows.handle(asked).cancel()
    await client.workflows.handle(ended).terminate("enough")
    assert (await client.workflows.describe(ended))["error"] == "enough"
    for call in (client.workflows.cancel, client.workflows.terminate):
        with pytest.raises(NotFound):
            await call(ended)
    await client.workflows.delete(asked)
    assert await client.workflows.describe(asked) is None
    with pytest.raises(NotFound):
        await client.workflows.delete(asked)


@with_client
async def test_runs_are_continued(client: Any, api: Api) -> None:
    id, named = await api.start(input=1), api.fresh("named")
    successor = await client.workflows.continue_as_new(id)
    assert successor["workflow_id"] == successor["id"]
    assert successor["id"].startswith(f"{id}-continued-")
    third = await client.workflows.continue_as_new(successor["id"], {"n": 3}, named)
    assert (third["id"], json.loads(third["input"])) == (named, {"n": 3})
    with pytest.raises(Conflict):
        await client.workflows.continue_as_new(named, workflow_id=id)


@with_client
async def test_a_failed_activity_is_retried(client: Any, api: Api) -> None:
    id = await api.start()
    await api.advance(id, commands.activity(1, "charge", task_queue=api.queue, max_attempts=1))
    await api.fail((await api.take("charge"))["id"])
    await api.advance(id, commands.fail("broken"))
    retried = await client.workflows.retry_failed_activity(id, "ann", "mended")
    assert (retried["status"], retried["activity"]["name"]) == ("WAITING", "charge")
    with pytest.raises(Conflict):
        await client.workflows.retry_failed_activity(id, "ann", "mended")


@with_client
async def test_runs_are_listed(client: Any, api: Api) -> None:
    space = api.fresh("space")
    await client.namespaces.create(space)
    ids = [
        (await client.workflows.start(kind, namespace=space, search_attributes={"n": number})).id
        for number, kind in enumerate(("A", "B", "B"))
    ]
    await client.workflows.terminate(ids[2])

    async def listed(*given: Any, **named: Any) -> list[str]:
        return [run["id"] for run in await client.workflows.list(*given, **named, namespace=space)]

    assert await listed() == ids[::-1]
    assert await listed("FAILED") == [ids[2]]
    assert await listed(None, "B") == [ids[2], ids[1]]
    assert await listed(search_attrs={"n": 1}) == [ids[1]]
    assert await listed(limit=1, offset=1) == [ids[1]]
    assert await listed(claimed_by=WORKER) == []
    with pytest.raises(BadRequest, match="limit"):
        await listed(limit=0)


@with_client
async def test_names_may_hold_anything(client: Any, api: Api) -> None:
    id = f"{api.fresh()} {ODD}"
    handle = await client.workflows.start(ODD, id, task_queue=ODD)
    assert handle.id == id
    await handle.signal(ODD, ODD)
    [event] = await handle.events(1, order="desc")
    assert json.loads(event["payload"]) == {"signal": ODD, "payload": ODD}
    assert id in [run["id"] for run in await client.workflows.list(type=ODD, limit=1000)]
    await handle.terminate(ODD)
    with pytest.raises(WorkflowTerminated, match="ä"):
        await handle.result()


# Schedules, namespaces, workers, queues


@with_client
async def test_a_schedule_from_its_making_to_its_end(client: Any, api: Api) -> None:
    name, schedules = f"{api.fresh()} {ODD}", client.schedules
    made = await schedules.create(name, "Report", NEVER_SOON)
    assert (made["timezone"], made["task_queue"], made["overlap_policy"]) == (
        "UTC",
        "default",
        "skip",
    )
    assert await schedules.describe(name) == made
    assert made in await schedules.list()
    with pytest.raises(Conflict):
        await schedules.create(name, "Report", NEVER_SOON)
    patched = await schedules.patch(name, timezone="Europe/Berlin", input={"a": 1}, task_queue="q")
    assert (patched["timezone"], patched["input"], patched["task_queue"]) == (
        *("Europe/Berlin", '{"a":1}', "q"),
    )
    assert (await schedules.patch(name, input={}))["input"] == "{}"
    assert await schedules.patch(name) == patched | {"input": "{}"}
    assert (await schedules.pause(name))["paused"] is True
    assert (await schedules.resume(name))["paused"] is False
    await schedules.delete(name)
    assert await schedules.describe(name) is None
    for gone in (schedules.patch, schedules.pause, schedules.resume, schedules.delete):
        with pytest.raises(NotFound):
            await gone(name)


@with_client
async def test_schedules_live_in_a_namespace(client: Any, api: Api) -> None:
    space, name = api.fresh("space"), api.fresh("plan")
    await client.namespaces.create(space)
    given = ("Report", NEVER_SOON, "Asia/Tokyo", [1], "q")
    made = await client.schedules.create(name, *given, overlap_policy="allow_all", namespace=space)
    assert (made["namespace"], made["timezone"], made["input"]) == (space, "Asia/Tokyo", "[1]")
    assert made["overlap_policy"] == "allow_all"
    assert await client.schedules.list(namespace=space) == [made]
    assert await client.schedules.describe(name) is None
    assert await client.schedules.describe(name, namespace=space) == made
    await client.schedules.delete(name, namespace=space)
    with pytest.raises(BadRequest):
        await client.schedules.create(name, "Report", "every day")


@with_client
async def test_namespaces(client: Any, api: Api) -> None:
    space, spaces = f"{api.fresh()} {ODD}", client.namespaces
    assert await spaces.create(space) is None
    with pytest.raises(Conflict):
        await spaces.create(space)
    assert {"main", space} <= {found["name"] for found in await spaces.list()}
    await client.workflows.start("Order", namespace=space)
    stats = await spaces.stats(space)
    assert (stats["namespace"], stats["total_workflows"], stats["pending"]) == (space, 1, 1)
    assert await spaces.describe(space) == stats
    await spaces.delete(space)
    assert await spaces.stats(space) is None
    for name in (space, "main"):
        with pytest.raises(NotFound):
            await spaces.delete(name)


@with_client
async def test_workers_and_queues(client: Any, api: Api) -> None:
    space = api.fresh("space")
    await client.namespaces.create(space)
    body = {"identity": "me", "queue": api.queue, "namespace": space, "workflows": ["Order"]}
    await api.send("POST", "/workers/register", body)
    [worker] = await client.workers.list(namespace=space)
    assert (worker["identity"], worker["workflows"]) == ("me", '["Order"]')
    [queue] = await client.queues.stats(namespace=space)
    assert queue == {
        "queue": api.queue,
        "pending_activities": 0,
        "running_activities": 0,
        "workers": 1,
    }
    assert space not in [found["namespace"] for found in await client.workers.list()]
    assert isinstance(await client.queues.stats(), list)
