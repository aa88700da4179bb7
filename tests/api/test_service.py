"""Health, version, readiness and the two prefixes (contract 2.1, 5.18)."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at

OTHER_PREFIX = "/api/v1/engine/workflow"
PREFIXES = pytest.mark.parametrize("prefix", ["/api/v1", OTHER_PREFIX])


@PREFIXES
@over_http
async def test_health(api: Api, prefix: str) -> None:
    api.prefix = prefix
    answer = await api.send("GET", "/health")
    assert answer.json() == {"status": "ok", "service": "assay-workflow"}
    assert answer.headers["content-type"].startswith("application/json")


@PREFIXES
@over_http
async def test_version(api: Api, prefix: str) -> None:
    api.prefix = prefix
    answer = await api.get("/version")
    assert isinstance(answer["version"], str)
    assert answer["version"]
    assert answer["build_profile"] in ("release", "debug")


@PREFIXES
@over_http
async def test_ready(api: Api, prefix: str) -> None:
    api.prefix = prefix
    await api.send("GET", "/ready")


@PREFIXES
@over_http
async def test_a_whole_run_through_either_prefix(api: Api, prefix: str) -> None:
    api.prefix = prefix
    run = await api.start(input=1)
    await api.signal(run, "go", 2)
    await api.advance(run, commands.activity(1, "work", task_queue=api.queue))
    await api.complete((await api.take("work"))["id"], 3)
    api.prefix = "/api/v1" if prefix == OTHER_PREFIX else OTHER_PREFIX
    await api.advance(run, commands.complete(4))
    assert (await api.describe(run))["result"] == "4"
    for verb in ("cancel", "terminate"):
        await api.send("POST", at(run, verb), status=404)


@over_http
async def test_the_routes_are_not_found_elsewhere(api: Api) -> None:
    for prefix in ("", "/api", "/api/v2", "/api/v1/engine"):
        api.prefix = prefix
        await api.send("GET", "/health", status=404)


@over_http
async def test_a_connection_is_kept_and_may_carry_requests_in_a_row(api: Api) -> None:
    connection = await api.http.open()
    request = b"GET /api/v1/health HTTP/1.1\r\nhost: x\r\n\r\n"
    for _ in range(3):
        await connection.send(request)
        assert (await connection.answer()).status == 200
    await connection.send(request * 3)
    assert [(await connection.answer()).status for _ in range(3)] == [200] * 3


@over_http
async def test_a_body_in_chunks_is_a_body(api: Api) -> None:
    run = await api.start()
    head = f"POST {api.prefix}{at(run, 'signal', 'go')} HTTP/1.1\r\nhost: x\r\n"
    chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    body = '5\r\n{"pay\r\n9\r\nload": 7}\r\n0\r\n\r\n'
    answer = await api.http.raw((head + chunked + body).encode())
    assert answer.status == 200
    [event] = await api.events(run, "SignalReceived")
    assert event.payload["payload"] == 7
