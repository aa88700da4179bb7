"""Starts whose answer is lost, and other calls that no engine is needed for."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from assay.sdk.client import Client, connect
from assay.sdk.client.results import ended
from assay.sdk.faults import (
    AnswerLost,
    ClientFault,
    Conflict,
    EngineUnreachable,
    NotAnswered,
    Unauthorized,
)
from assay.sdk.http import HttpTransport
from assay.wire.exchange.operations import VERSION
from tests.unit.sdk.scripted import CUT, PLAIN, SECS, Scripted, answer, saying

Story = Callable[[Client], Awaitable[None]]


def exchanged(*outcomes: dict[str, object]) -> bytes:
    """An answer to operations that shared a request."""
    said = {"v": VERSION, "instance": 1, "at": 1.0, "lease_secs": 30.0, "outcomes": outcomes}
    return answer(200, msgspec.json.encode(said))


STARTED = exchanged({"status": 201, "workflow_id": "w", "run_id": "run-w-1", "state": "PENDING"})
TAKEN = exchanged({"status": 409, "error": "taken"})
DONE = exchanged({"status": 200})


def tell(server: Scripted, story: Story) -> list[dict[str, Any]]:
    """Run a story with a client of that server; the bodies that the server got."""

    async def both() -> None:
        await server.start()
        try:
            async with asyncio.timeout(SECS), Client(HttpTransport(server.url)) as client:
                await story(client)
        finally:
            await server.stop()

    asyncio.run(both())
    bodies = (request.partition(b"\r\n\r\n")[2] for request in server.asked)
    return [json.loads(body) if body else {} for body in bodies]


def found(**fields: object) -> bytes:
    run = {
        "id": "w",
        "run_id": "run-w-1",
        "status": "RUNNING",
        "workflow_type": "Order",
        "namespace": "main",
        "task_queue": "default",
        "input": '{"n": 1}',
        "created_at": time.time(),
    }
    return answer(200, msgspec.json.encode(run | fields))


async def start(client: Client) -> None:
    handle = await client.workflows.start("Order", "w", {"n": 1})
    assert (handle.id, handle.run_id) == ("w", "run-w-1")
    assert handle["status"] in ("PENDING", "RUNNING")


def test_a_start_with_an_id_is_sent_again() -> None:
    bodies = tell(saying(CUT, STARTED), start)
    assert bodies[0]["operations"] == bodies[1]["operations"]


def test_an_id_that_the_lost_start_has_taken_is_ours() -> None:
    server = saying(CUT, TAKEN, found())
    tell(server, start)
    assert server.heads[2] == "GET /api/v1/workflows/w"


@pytest.mark.parametrize(
    "other",
    [
        {"workflow_type": "Other"},
        {"namespace": "else"},
        {"task_queue": "else"},
        {"input": None},
        {"input": '{"n": 2}'},
        {"created_at": time.time() - 600},
    ],
)
def test_an_id_that_somebody_else_has_taken_is_not(other: dict[str, object]) -> None:
    async def story(client: Client) -> None:
        with pytest.raises(Conflict) as caught:
            await start(client)
        assert "lost" in caught.value.__notes__[0]

    tell(saying(CUT, TAKEN, found(**other)), story)


def test_an_id_that_is_taken_at_once_is_a_conflict() -> None:
    async def story(client: Client) -> None:
        with pytest.raises(Conflict):
            await start(client)

    server = saying(TAKEN)
    tell(server, story)
    assert len(server.asked) == 1


@pytest.mark.parametrize("id", [None, "", " "])
def test_a_start_without_an_id_is_never_sent_again(id: str | None) -> None:
    async def story(client: Client) -> None:
        with pytest.raises(AnswerLost):
            await client.workflows.start("Order", id)

    server = saying(CUT)
    tell(server, story)
    assert len(server.asked) == 1


def test_a_start_that_may_use_a_run_is_sent_again_as_it_is() -> None:
    async def story(client: Client) -> None:
        handle = await client.workflows.start("Order", "w", if_exists="use")
        assert handle.id == "w"

    bodies = tell(saying(CUT, STARTED), story)
    assert [body["operations"][0]["if_exists"] for body in bodies] == ["use"] * 2


def test_a_signal_is_repeated_under_one_request_id() -> None:
    async def story(client: Client) -> None:
        await client.workflows.signal("a/b", "go on")
        await client.workflows.signal("a/b", "go on", {"n": 1})
        await client.workflows.signal("a/b", "go on", request_id="mine")

    bodies = tell(saying(CUT, DONE, DONE, DONE), story)
    [first, again, second, third] = [
        operation for body in bodies for operation in body["operations"]
    ]
    assert first == again
    assert (second["payload"], third["request_id"]) == ({"n": 1}, "mine")
    assert len({said["request_id"] for said in (first, second, third)}) == 3


def test_cancelling_and_ending_are_not_repeated() -> None:
    async def story(client: Client) -> None:
        workflows = client.workflows
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: workflows.cancel("w"),
            lambda: workflows.terminate("w", "enough"),
            lambda: workflows.continue_as_new("w"),
            lambda: workflows.retry_failed_activity("w", "ann", "mended"),
            lambda: workflows.delete("w"),
        ]
        for call in calls:
            with pytest.raises(AnswerLost):
                await call()

    server = saying(*[CUT] * 5)
    bodies = tell(server, story)
    assert [bool(body) for body in bodies] == [False, True, False, True, False]


def test_api_keys() -> None:
    key = b'{"prefix":"assay_01234567...","label":"ci","created_at":1.5}'
    new = b'{"plaintext":"assay_0123","prefix":"assay_01234567...","label":null,"created_at":1.5}'

    async def story(client: Client) -> None:
        keys = client.api_keys
        assert (await keys.generate())["plaintext"] == "assay_0123"
        assert (await keys.generate("ci", idempotent=True))["label"] == "ci"
        assert [each["prefix"] for each in await keys.list()] == ["assay_01234567..."]
        assert await keys.delete("assay_01234567...") is True
        assert await keys.delete("assay_01234567...") is False

    said = (answer(201, new), answer(200, key), answer(200, b"[%s]" % key), answer(204))
    server = saying(*said, answer(404, b'{"error":"not found"}'))
    bodies = tell(server, story)
    assert bodies[:2] == [{}, {"label": "ci", "idempotent": True}]
    assert server.heads[-1] == "DELETE /api/v1/api-keys/assay_01234567..."


def test_an_answer_that_is_not_json_is_a_fault() -> None:
    async def story(client: Client) -> None:
        with pytest.raises(ClientFault, match="not JSON"):
            await client.workflows.describe("w")

    tell(saying(answer(200, b"<html>")), story)


def test_an_end_asked_for_by_the_plain_route_outlives_an_engine_that_is_stopping() -> None:
    run = {"id": "w", "status": "COMPLETED", "result": "[1, 2]", "error": None}
    done = answer(200, msgspec.json.encode(run))

    async def story(client: Client) -> None:
        assert (await ended(client._calls, "w", None))["result"] == "[1, 2]"

    server = saying(answer(202, b"{}"), answer(503), CUT, done)
    began = time.monotonic()
    tell(server, story)
    assert server.heads == ["GET /api/v1/workflows/w/result?wait_secs=60.000"] * 4
    assert time.monotonic() - began > 0.2


def test_connecting_asks_after_the_health() -> None:
    async def story() -> None:
        server = saying(PLAIN, answer(401, b'{"error":"no"}'))
        await server.start()
        client = await connect(server.url + "/", "token", "else")
        assert client.namespace == "else"
        await client.close()
        with pytest.raises(Unauthorized):
            await connect(server.url)
        await server.stop()
        assert server.heads[0] == "GET /api/v1/health"
        began = time.monotonic()
        with pytest.raises(EngineUnreachable) as caught:
            await connect(server.url)
        assert not isinstance(caught.value, NotAnswered)
        assert time.monotonic() - began < 2  # whoever waits for an engine asks again

    asyncio.run(story())
