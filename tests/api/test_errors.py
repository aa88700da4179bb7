"""Refusals (contract 2.2, 2.3): one shape of error, the right status, in the right order."""

from __future__ import annotations

import pytest

from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import NOTHING, Json

MIB = 1024 * 1024
JSON_TYPE = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nowhere"),
        ("GET", ""),
        ("GET", "/"),
        ("POST", "/workflows/x/dance"),
        ("GET", "/workflows/x/events/1"),
        ("POST", "/tasks"),
        ("DELETE", "/nowhere"),
    ],
)
@over_http
async def test_unknown_routes(api: Api, method: str, path: str) -> None:
    answer = await api.send(method, path, status=404)
    assert answer.headers["content-type"].startswith("application/json")
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/workflows", {"POST"}),
        ("GET", "/workflow-tasks/poll", {"POST"}),
        ("GET", "/tasks/1/complete", {"POST"}),
        ("POST", "/activities/1", {"GET"}),
        ("PATCH", "/workflows/x", {"GET"}),
        ("POST", "/workflows/x/events", {"GET"}),
        ("GET", "/workflows/x/signal/y", {"POST"}),
        ("DELETE", "/health", {"GET"}),
    ],
)
@over_http
async def test_wrong_methods(api: Api, method: str, path: str, allowed: set[str]) -> None:
    answer = await api.send(method, path, status=405)
    named = {word.strip() for word in answer.headers["allow"].split(",")}
    assert allowed <= named
    assert method not in named


@over_http
async def test_head_and_options_are_methods_that_no_route_has(api: Api) -> None:
    """An answer to HEAD has no body (RFC 9110): the next answer on the connection is read right."""
    connection = await api.http.open()
    path = f"{api.prefix}/workflows/x"
    await connection.send(f"HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    head = await connection._reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nallow: DELETE, GET\r\n" in head
    await connection.send(f"OPTIONS {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    answer = await connection.answer()
    assert (answer.status, answer.headers["allow"]) == (405, "DELETE, GET")
    assert answer.error
    for method in ("HEAD", "OPTIONS"):
        await connection.send(f"{method} {api.prefix}/none HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        assert (await connection._reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
        if method == "OPTIONS":
            assert b"not found" in await connection._reader.readuntil(b"}")


NOT_JSON = [
    b"{",
    b"nope",
    b'{"workflow_type": "x",}',
    b"{'workflow_type': 'x'}",
    b'{"workflow_type": "x"} {}',
    b'{"workflow_type": "x", "input": NaN}',
    b'{"workflow_type": "x", "input": Infinity}',
    b'{"workflow_type": "x", "input": 01}',
    b'{"workflow_type": "\xff"}',
    b'{"workflow_type": "x", "input": "\xc3("}',
    b'{"workflow_type": "x", "input": "\\ud800"}',
    b'{"workflow_type": "x", "input": ["\\udc00 and \\ud800"]}',
    b'{"workflow_type": "x", "input": "\n"}',
    b'{"workflow_type": "x", "input": ' + b"[" * 501 + b"]" * 501 + b"}",
    b'{"workflow_type": "x", "input": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
]


@pytest.mark.parametrize("body", NOT_JSON, ids=range(len(NOT_JSON)))
@over_http
async def test_what_is_not_json(api: Api, body: bytes) -> None:
    await api.send("POST", "/workflows", body, 400)


WRONG_SHAPE: list[Json] = [
    [],
    None,
    5,
    "text",
    {},
    {"workflow_type": None},
    {"workflow_type": 5},
    {"workflow_type": "x", "workflow_id": 5},
    {"workflow_type": "x", "task_queue": ["q"]},
    {"workflow_type": "x", "namespace": {}},
]


@pytest.mark.parametrize("body", WRONG_SHAPE, ids=range(len(WRONG_SHAPE)))
@over_http
async def test_json_of_the_wrong_shape(api: Api, body: Json) -> None:
    await api.send("POST", "/workflows", body, 422)


WRONG_VALUE: list[Json] = [
    {"workflow_type": ""},
    {"workflow_type": " \t"},
    {"workflow_type": "x", "task_queue": " "},
    {"workflow_type": "x", "workflow_id": "i" * 1001},
    {"workflow_type": "x", "workflow_id": "é" * 501},
    {"workflow_type": "t" * 1001},
    {"workflow_type": "x", "task_queue": "q" * 1001},
    {"workflow_type": "x", "workflow_id": "a\0b"},
    {"workflow_type": "x\0"},
    {"workflow_type": "x", "task_queue": "\0"},
]


@pytest.mark.parametrize("body", WRONG_VALUE, ids=range(len(WRONG_VALUE)))
@over_http
async def test_inadmissible_values(api: Api, body: Json) -> None:
    await api.send("POST", "/workflows", body, 400)


@over_http
async def test_the_limits_themselves_are_admitted(api: Api) -> None:
    run = api.mark + "é" * ((1000 - len(api.mark)) // 2)
    await api.start(run)
    nested = b"[" * 400 + b"]" * 400
    body = b'{"workflow_type":"x","task_queue":"%s","input":%s}' % (api.queue.encode(), nested)
    answer = await api.send("POST", "/workflows", body, 201)
    assert (await api.describe(answer.json()["workflow_id"]))["input"] == nested.decode()


@over_http
async def test_zero_characters_in_texts_are_replaced(api: Api) -> None:
    run = await api.start()
    await api.terminate(run, "a\0b")
    assert (await api.describe(run))["error"] == "a�b"
    await api.send("POST", at(run, "signal", "go\0"), status=400)
    await api.send("GET", "/workflows/%00", status=400)


@over_http
async def test_a_body_may_hold_two_mebibytes_and_no_more(api: Api) -> None:
    run = await api.start()
    path = at(run, "signal", "big")
    frame = b'{"payload":"%s"}'
    fits = frame % (b"x" * (2 * MIB - len(frame) + 2))
    assert len(fits) == 2 * MIB
    await api.send("POST", path, fits)
    [event] = await api.events(run, "SignalReceived")
    assert len(event.payload["payload"]) == 2 * MIB - len(frame) + 2
    await api.send("POST", path, fits + b" ", 413)
    assert len(await api.events(run, "SignalReceived")) == 1
    await api.send("POST", path, b"x" * (3 * MIB), 413)  # size comes before JSON


@pytest.mark.parametrize(
    ("media", "body", "status"),
    [
        ("text/plain", b"{}", 415),
        ("application/xml", b'{"workflow_type":"x"}', 415),
        ("application/x-www-form-urlencoded", b"a=b", 415),
        ("", b'{"workflow_type":"x"}', 415),
        ("", b"", 415),
        ("text/plain", b"{", 415),  # the media type comes before JSON
        ("application/json; charset=utf-8", b"{}", 422),
        ("APPLICATION/JSON", b"{}", 422),
    ],
)
@over_http
async def test_media_types_where_fields_are_required(
    api: Api, media: str, body: bytes, status: int
) -> None:
    answer = await api.ask("POST", "/workflows", body, {"content-type": media})
    assert answer.status == status, answer
    assert answer.error


@pytest.mark.parametrize(
    ("media", "body", "status"),
    [
        ("text/plain", b"{}", 415),
        ("text/plain", b"", 200),
        ("", b"", 200),
        ("", b"{}", 200),
        ("application/json", b"", 200),
        ("application/json", b"[]", 200),
        ("application/json", b"null", 200),
        ("application/json", b" {} ", 200),
        ("application/json", b"[1]", 422),
        ("application/json", b"5", 422),
        ("application/json", b"{", 400),
    ],
)
@over_http
async def test_bodies_that_may_be_left_out(api: Api, media: str, body: bytes, status: int) -> None:
    run = await api.start()
    await api.claim(run)
    for path in (at(run, "signal", "go"), at(run, "cancel"), at(run, "terminate")):
        answer = await api.ask("POST", path, body, {"content-type": media})
        assert answer.status == status, (path, answer)


@over_http
async def test_no_body_and_no_content_length(api: Api) -> None:
    run = await api.start()
    await api.send("POST", at(run, "signal", "go"), NOTHING)
    await api.send("POST", at(run, "terminate"), NOTHING)


@over_http
async def test_the_order_of_the_checks(api: Api) -> None:
    run = await api.start()
    await api.terminate(run)
    path = at(run, "signal", "go")
    text = {"content-type": "text/plain"}
    huge = b"[" * (2 * MIB + 1)
    cases = [
        ("PUT", path, huge, text, 405),
        ("POST", path, huge, text, 413),
        ("POST", path, b"{", text, 415),
        ("POST", path, b"{", JSON_TYPE, 400),
        ("POST", path, b"7", JSON_TYPE, 422),
        ("POST", at(api.fresh("none"), "signal", "go"), b"{}", JSON_TYPE, 404),
        ("POST", path, b"{}", JSON_TYPE, 409),
    ]
    for method, where, body, headers, status in cases:
        answer = await api.ask(method, where, body, headers)
        assert answer.status == status, (method, where, status, answer)


@over_http
async def test_garbage_does_not_hurt_the_server(api: Api) -> None:
    for garbage in (b"\0\1\2\r\n\r\n", b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n"):
        answer = await api.http.raw(garbage)
        assert 400 <= answer.status < 500 or answer.status == 505
    await api.send("GET", "/health")
