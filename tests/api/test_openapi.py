"""The description of the interface and its page (contract 15), and that what it says is so."""

from __future__ import annotations

import json
import re

import pytest

from tests.support import commands, exchange
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.described import CheckedHttp, Description
from tests.support.exchange import Session
from tests.support.http import Answer, request_bytes

PREFIXES = pytest.mark.parametrize("prefix", ["/api/v1", "/api/v1/engine/workflow"])
WORKER = "w-walker"


@PREFIXES
@over_http
async def test_the_document_stands_under_the_prefix_it_was_fetched_from(
    api: Api, prefix: str
) -> None:
    api.prefix = prefix
    answer = await api.send("GET", "/openapi.json")
    document = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert document["openapi"].startswith("3.")
    assert document["info"]["title"] == "assay-workflow API"
    assert document["info"]["version"] == (await api.get("/version"))["version"]
    assert document["servers"] == [{"url": "/"}]
    beneath = {path.removeprefix(prefix) for path in document["paths"]}
    assert {"/workflows", "/tasks/{id}/complete", "/openapi.json", "/docs"} <= beneath


@PREFIXES
@over_http
async def test_the_page_may_do_nothing_but_ask_this_server(api: Api, prefix: str) -> None:
    api.prefix = prefix
    answer = await api.send("GET", "/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>assay-workflow API</title>" in answer.body.decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src 'self'" in policy


@over_http
async def test_every_answer_is_as_described(api: Api) -> None:
    description = Description(await api.get("/openapi.json"))
    async with CheckedHttp(api.http.host, api.http.port, description) as http:
        api.http = http
        await walk_service(api)
        await walk_namespaces(api)
        await walk_workers(api)
        await walk_schedules(api)
        await walk_runs(api)
        await walk_tasks(api)
        await walk_endings(api)
        await walk_exchange(api)
        await walk_refusals(api)
        await walk_stream(api, description)
    missing = description.promised() - description.seen
    assert not missing, "described, but never looked at here: let a walk pass by"


async def walk_service(api: Api) -> None:
    for path in ("/health", "/ready", "/version", "/openapi.json", "/docs"):
        await api.send("GET", path)


async def walk_namespaces(api: Api) -> None:
    name = api.fresh("tenant")
    await api.send("POST", "/namespaces", {"name": name}, 201)
    assert name in [each["name"] for each in await api.get("/namespaces")]
    await api.get(f"/namespaces/{name}")
    await api.send("DELETE", f"/namespaces/{name}")


async def walk_workers(api: Api) -> None:
    body = {"identity": "me", "queue": api.queue, "workflows": ["Story"], "activities": ["work"]}
    worker = (await api.send("POST", "/workers/register", body)).json()["worker_id"]
    await api.send("POST", "/workers/heartbeat", {"worker_id": worker, "workflow_ids": ["x"]})
    assert worker in [each["id"] for each in await api.get("/workers")]
    assert api.queue in [each["queue"] for each in await api.get("/queues")]


async def walk_schedules(api: Api) -> None:
    name = api.fresh("schedule")
    body = {"name": name, "workflow_type": "Story", "cron_expr": "0 0 1 1 *", "input": {"a": 1}}
    await api.send("POST", "/schedules", body, 201)
    assert name in [each["name"] for each in await api.get("/schedules")]
    await api.send("PATCH", f"/schedules/{name}", {"timezone": "Europe/Berlin"})
    await api.get(f"/schedules/{name}")
    await api.send("POST", f"/schedules/{name}/pause")
    await api.send("POST", f"/schedules/{name}/resume")
    await api.send("DELETE", f"/schedules/{name}")


async def walk_runs(api: Api) -> None:
    run = await api.start(input={"a": [1]}, search_attributes={"k": 1}, timeout_secs=900)
    body = {"workflow_type": "Story", "workflow_id": run, "if_exists": "use"}
    await api.send("POST", "/workflows", body)
    await api.signal(run, "go", {"now": True})
    await api.describe(run)
    assert run in [each["id"] for each in await api.get("/workflows?limit=1000")]
    await api.history(run)
    await api.send("GET", at(run, "result"), status=202)
    await api.send("POST", at(run, "continue-as-new"), {"input": 2}, 201)
    await api.send("GET", at(run, "result"), status=202)
    await api.send("DELETE", at(run), status=204)


async def walk_tasks(api: Api) -> None:
    """Both kinds of tasks, with and without anything to do."""
    api.queue = api.fresh("queue")
    assert await api.poll_run() is None
    run = await api.start(input="in")
    await api.advance(
        run,
        {"type": "RecordSnapshot", "state": {"progress": None}},
        *(commands.activity(seq, task_queue=api.queue) for seq in (1, 2)),
        commands.timer(1, 900),
        commands.child(api.fresh("child"), task_queue=api.fresh("nobody")),
        commands.side_effect(1, {"v": 1}),
    )
    await api.describe(run)
    assert await api.children(run)
    await api.get(at(run, "state"))
    await api.get(at(run, "state", "progress"))
    kept = {"name": "later", "seq": 3, "task_queue": api.fresh("nobody"), "input": [1]}
    await api.send("POST", at(run, "activities"), kept, 201)
    for _ in range(2):
        task = await api.take()
        await api.beat(task["id"], {"at": 1})
        await api.activity(task["id"])
        await (api.complete(task["id"], 7) if task["seq"] == 1 else api.fail(task["id"]))
        await api.get(f"/activities/{task['id']}/attempts")
    assert await api.poll_activity() is None
    await api.advance(run, commands.complete({"done": True}))
    await api.send("GET", at(run, "result"))


async def walk_endings(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.activity(1, task_queue=api.queue, max_attempts=1))
    await api.fail((await api.take())["id"])
    await api.advance(run, commands.fail("broken"))
    await api.describe(run)
    await api.retry(run)
    await api.cancel(run, "enough")
    await api.terminate(run, "really")
    await api.describe(run)


async def walk_exchange(api: Api) -> None:
    """Everything that an answer may bring, in the shapes it comes in."""
    sdk, run = Session(api), api.fresh()
    await sdk.do(exchange.start(api, run, input={"a": 1}), exchange.signal(run, "go", [1]))
    task = await sdk.take_run(run)
    work = commands.activity(1, input="in", task_queue=api.queue, heartbeat_timeout_secs=9)
    await sdk.do(exchange.submit(task, work, keeps=True))
    attempt = await sdk.take_activity()
    await sdk.do(exchange.beat(attempt, {"at": 1}), exchange.complete(attempt, 2))
    news = await sdk.take_run(run)
    assert (await sdk.say(histories=[[task["no"], 0]])).histories
    refused = exchange.submit(task, commands.complete())
    ends = exchange.submit(news, commands.complete({"done": True}))
    told = await sdk.say(refused, ends, awaited=[run, api.fresh("none")])
    assert told.statuses == [409, 200]
    endings = told.endings
    while run not in [each["id"] for each in endings]:
        endings += (await sdk.say(wait_secs=5)).endings


async def walk_refusals(api: Api) -> None:
    await api.send("GET", at(api.fresh("none")), status=404)
    await api.send("GET", "/activities/abc", status=400)
    await api.send("POST", "/workflows", b"{", 400)
    await api.send("POST", "/workflows", {}, 422)
    await api.ask("POST", "/workflows", b"{}", {"content-type": "text/plain"})
    run = await api.start()
    await api.send("DELETE", at(run), status=409)


async def walk_stream(api: Api, description: Description) -> None:
    """The head of the stream, and the data of one event."""
    path = f"{api.prefix}/events/stream"
    connection = await api.http.open()
    await connection.send(request_bytes("GET", f"{path}?kind=workflow_started"))
    head = (await connection._reader.readuntil(b"\r\n\r\n")).decode()
    declared = re.search(r"content-type: (\S+)", head)
    assert declared, head
    description.check("GET", path, Answer(200, {"content-type": declared[1]}, b""))
    await api.start()
    await connection._reader.readuntil(b"\ndata: ")
    data = await connection._reader.readuntil(b"\n")
    description.validate({"$ref": "#/components/schemas/EventFrame"}, json.loads(data))
    connection.hang_up()


@over_http
async def test_payloads_of_records_are_json_in_a_string(api: Api) -> None:
    """A generated client parses what the description calls `application/json` once more."""
    document = await api.get("/openapi.json")
    run = await api.describe(await api.start(input={"a": 1}))
    properties = document["components"]["schemas"]["RunRecord"]["properties"]
    for field, schema in properties.items():
        if schema.get("contentMediaType") == "application/json" and run[field] is not None:
            json.loads(run[field])
