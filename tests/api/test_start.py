"""Starting runs (contract 5.1): the answer, the id, what the run then looks like."""

from __future__ import annotations

import re

import pytest

from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.runs import Event
from tests.support.tasks import task_history


@over_http
async def test_a_start_with_nothing_but_a_type(api: Api) -> None:
    kind = api.fresh("Order")
    answer = await api.send("POST", "/workflows", {"workflow_type": kind}, 201)
    started = answer.json()
    run = await api.describe(started["workflow_id"])
    assert started["status"] == run["status"] == "PENDING"
    assert started["run_id"] == run["run_id"]
    assert re.fullmatch(rf"run-{re.escape(run['id'])}-\d+", run["run_id"])
    assert int(run["run_id"].rpartition("-")[2]) == int(run["created_at"])
    assert run["workflow_type"] == kind
    assert (run["namespace"], run["task_queue"]) == ("main", "default")
    await api.terminate(run["id"])  # the queue `default` is everybody's


@pytest.mark.parametrize(
    ("kind", "stem"),
    [
        ("Order", "order"),
        ("send_Mail v2.1~x", "send_mail-v2.1~x"),
        ("a/b%c", "a-b-c"),
        ("Größe", "gr--e"),
        ("x" * 1_000, "x" * 972),
    ],
)
@over_http
async def test_a_generated_id_is_made_from_the_type(api: Api, kind: str, stem: str) -> None:
    body = {"workflow_type": kind, "task_queue": api.queue}
    ids = []
    for blank in ({}, {"workflow_id": ""}, {"workflow_id": "  "}, {"workflow_id": None}):
        answer = await api.send("POST", "/workflows", body | blank, 201)
        ids.append(answer.json()["workflow_id"])
    assert all(re.fullmatch(rf"wf-{re.escape(stem)}-[a-z0-9._~-]+", run_id) for run_id in ids)
    assert len(set(ids)) == len(ids)
    assert max(map(len, ids)) <= 1_000
    assert sorted(ids) == ids  # the suffix sorts by start time


@over_http
async def test_all_fields(api: Api) -> None:
    fields = {
        "workflow_type": "Order",
        "workflow_id": api.fresh(),
        "namespace": "main",
        "input": {"b": 1, "a": [True, None]},
        "task_queue": api.queue,
    }
    answer = await api.send("POST", "/workflows", fields, 201)
    assert answer.json()["workflow_id"] == fields["workflow_id"]
    run = await api.describe(str(fields["workflow_id"]))
    assert run["task_queue"] == api.queue
    assert run["input"] == '{"b":1,"a":[true,null]}'


@over_http
async def test_a_started_run_is_dispatchable_with_one_event(api: Api) -> None:
    run = await api.start(workflow_type="Order", input=[1, {"x": 2}])
    [event] = await api.history(run)
    assert (event.type, event.payload) == ("WorkflowStarted", [1, {"x": 2}])
    task = await api.claim(run, wait=0)
    assert task["input"] == [1, {"x": 2}]
    assert (task["workflow_type"], task["task_queue"]) == ("Order", api.queue)
    assert task["namespace"] == "main"
    assert task_history(task) == [event]


@pytest.mark.parametrize("given", [{}, {"input": None}])
@over_http
async def test_no_input_is_null(api: Api, given: dict[str, None]) -> None:
    run = await api.start(**given)
    assert (await api.describe(run))["input"] is None
    assert [event.payload for event in await api.history(run)] == [None]
    assert (await api.claim(run))["input"] is None


PAYLOADS = [
    '{"z":1,"a":12345678901234567890123456789,"m":{"y":1,"b":2}}',
    "[1.0,1E+2,1e-7,-0.0,100000000000000000000.5,5e300]",
    r'"\u0000\u20ac\ud83d\ude00\"\\/"',
    '"grüße 😀 \\n"',
    '{"a":1,"a":2}',
    "{}",
    "[]",
    '""',
    "0",
    "false",
]


@pytest.mark.parametrize("text", PAYLOADS)
@over_http
async def test_payloads_come_back_as_sent(api: Api, text: str) -> None:
    run = api.fresh()
    body = (
        f'{{"workflow_type":"T","task_queue":"{api.queue}","workflow_id":"{run}","input":{text}}}'
    )
    await api.send("POST", "/workflows", body.encode(), 201)
    assert tight((await api.describe(run))["input"]) == tight(text)
    [record] = await api.get(at(run, "events"))
    assert tight(record["payload"]) == tight(text)
    polled = await api.ask("POST", "/workflow-tasks/poll", {"queue": api.queue, "worker_id": "w-1"})
    assert f'"input":{tight(text)}' in tight(polled.body.decode())


def tight(text: str) -> str:
    """JSON text without white space outside its strings."""
    strings = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if n % 2 else "".join(part.split()) for n, part in enumerate(strings))


@over_http
async def test_an_id_in_use_is_refused_and_its_run_untouched(api: Api) -> None:
    run = await api.start(input=1)
    before = await api.describe(run)
    body = {"workflow_type": "Other", "workflow_id": run, "input": 2}
    answer = await api.send("POST", "/workflows", body, 409)
    assert run in answer.error
    assert await api.describe(run) == before
    assert len(await api.history(run)) == 1
    await api.terminate(run)
    before = await api.describe(run)
    await api.send("POST", "/workflows", body, 409)
    assert await api.describe(run) == before


@over_http
async def test_an_unknown_namespace_is_not_found(api: Api) -> None:
    body = {"workflow_type": "Order", "namespace": "nowhere", "workflow_id": api.fresh()}
    answer = await api.send("POST", "/workflows", body, 404)
    assert answer.error == "not found: namespace nowhere"
    await api.send("GET", at(body["workflow_id"]), status=404)


@pytest.mark.parametrize("name", ["a/b c?d#e%f", "ünï", "..", "-", "a%2Fb", "{}\"'", "x" * 980])
@over_http
async def test_ids_may_hold_any_character(api: Api, name: str) -> None:
    run = name + api.mark
    await api.start(run)
    assert (await api.describe(run))["id"] == run
    await api.signal(run, "a/b %25", 1)
    [*_, event] = await api.history(run)
    assert event == Event(2, "SignalReceived", {"signal": "a/b %25", "payload": 1}, event.timestamp)
    await api.advance(run)


@over_http
async def test_unknown_fields_are_ignored(api: Api) -> None:
    run = await api.start(colour="red", shape={"any": "thing"})
    assert await api.status(run) == "PENDING"
