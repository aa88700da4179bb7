"""Requests as bytes on a connection: how bodies arrive, what needs none, and garbage."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from random import Random

import pytest

from assay.server.routes.table import ROUTES
from tests.properties.door.paths import METHODS
from tests.properties.door.requests import (
    absent_path,
    bodied,
    calm_path,
    good_fields,
    passed_by,
    written,
)
from tests.support.api import Api, over_http
from tests.support.http import Answer, Connection, Lost, request_bytes

EXAMPLES = int(os.environ.get("ASSAY_EXAMPLES", "300"))  # broken requests
MIB = 1024 * 1024
PREFIX = "/api/v1"
CHUNKED = {"transfer-encoding": "chunked", "content-type": "application/json"}
PATIENCE_SECS = 0.1  # what is no whole request gets no answer: then the client leaves


def chunked(method: str, path: str, *pieces: bytes, **headers: str) -> bytes:
    """A request whose body comes in these pieces."""
    head = request_bytes(method, PREFIX + path, headers=CHUNKED | headers)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + chunks + b"0\r\n\r\n"


def pieces(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


async def ask(api: Api, *requests: bytes) -> list[Answer]:
    """All of them at once on one connection, then a sound one, unless the server closes it."""
    connection = await api.http.open()
    await connection.send(b"".join(requests))
    answers = [await connection.answer() for _ in requests]
    if all(answer.headers.get("connection") != "close" for answer in answers):
        await is_sound(connection)
    await connection.close()
    return answers


async def is_sound(connection: Connection) -> None:
    await connection.send(request_bytes("GET", f"{PREFIX}/health"))
    assert (await connection.answer()).status == 200


@over_http
async def test_bodies_in_pieces_and_whole(api: Api) -> None:
    for route in bodied():
        body = written(good_fields(route.takes.kind)) if route.takes else b""
        path = calm_path(route, {"workflow-tasks": "nowhere"})
        passed = passed_by(route) | {404}
        whole = request_bytes(route.method, PREFIX + path, body)
        [answer] = await ask(api, whole)
        assert answer.status in passed, (route.path, answer)
        for size in (1, 7, len(body)):
            [answer] = await ask(api, chunked(route.method, path, *pieces(body, size)))
            assert answer.status in passed, (route.path, size, answer)
        [broken] = await ask(api, chunked(route.method, path, *pieces(body[:-1], 3)))
        assert broken.status == 400, broken


@over_http
async def test_the_largest_bodies(api: Api) -> None:
    """Exactly 2 MiB is read, a byte more is refused, whether it is announced or not."""
    for path, good in (
        ("/workflows/nowhere/signal/go", b'{"payload":1}'),
        ("/workflows/nowhere/retry", b'{"requested_by":"a","reason":"b"}'),
        ("/workflow-tasks/nowhere/commands", b'{"worker_id":"w","commands":[]}'),
    ):
        for size, status in ((2 * MIB, 404), (2 * MIB + 1, 413), (3 * MIB, 413)):
            body = good + b" " * (size - len(good))
            whole = request_bytes("POST", PREFIX + path, body)
            announced = request_bytes("POST", PREFIX + path, body, {"expect": "100-continue"})
            in_pieces = chunked("POST", path, *pieces(body, 300_000))
            for request in (whole, announced, in_pieces):
                answer = await api.http.raw(request)
                assert answer.status == status, (path, size, answer)


@over_http
async def test_who_asks_first_is_told_first(api: Api) -> None:
    """With `expect: 100-continue`, what is too large is refused before it is sent."""
    for size, lines in ((2 * MIB, b"HTTP/1.1 100"), (2 * MIB + 1, b"HTTP/1.1 413")):
        connection = await api.http.open()
        headers = {"content-length": str(size), "expect": "100-continue", **JSON}
        path = f"{PREFIX}/workflows/nowhere/signal/go"
        await connection.send(request_bytes("POST", path, headers=headers))
        assert (await connection._reader.readline()).startswith(lines)
        await connection.close()


JSON = {"content-type": "application/json"}


@over_http
async def test_methods_that_are_not_there(api: Api) -> None:
    """Every path with every method: 405 with what is allowed, no body to HEAD."""
    for path in dict.fromkeys(route.path for route in ROUTES.routes):
        routes = [route for route in ROUTES.routes if route.path == path]
        allowed = {route.method for route in routes}
        connection = await api.http.open()
        for method in set(METHODS) - allowed - {"QUERY"}:  # which the parser does not know
            await connection.send(request_bytes(method, PREFIX + absent_path(routes[0])))
            head = (await connection._reader.readuntil(b"\r\n\r\n")).decode().lower()
            assert head.startswith("http/1.1 405"), head
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
            assert {word.upper() for word in fields["allow"].split(", ")} == allowed
            if method != "HEAD":
                await connection._reader.readexactly(int(fields["content-length"]))
            await is_sound(connection)
        await connection.close()


@over_http
async def test_bodies_where_none_is_read(api: Api) -> None:
    for route in ROUTES.routes:
        if route.takes is None and "stream" not in route.path:
            path = PREFIX + absent_path(route)
            for body in (b"{", b"x" * 70_000, b"{}"):
                [answer, _] = await ask(
                    api,
                    request_bytes(route.method, path, body),
                    request_bytes("GET", f"{PREFIX}/health"),
                )
                assert answer.status < 500, answer
            [answer] = await ask(api, chunked(route.method, absent_path(route), b"x", b"y"))
            assert answer.status < 500, answer


@over_http
async def test_a_refusal_does_not_hurt_the_next_request(api: Api) -> None:
    """Refusals of every kind and sound requests in one pipeline, each answered in its turn."""
    start = b'{"workflow_type":"T","task_queue":"%s"}' % api.queue.encode()
    text = {"content-type": "text/plain"}
    pairs = [
        (request_bytes("POST", f"{PREFIX}/workflows", start), 201),
        (request_bytes("POST", f"{PREFIX}/workflows", b"{"), 400),
        (request_bytes("POST", f"{PREFIX}/workflows", b"[]"), 422),
        (request_bytes("POST", f"{PREFIX}/workflows", start, text), 415),
        (request_bytes("PUT", f"{PREFIX}/workflows", start), 405),
        (request_bytes("POST", f"{PREFIX}/nowhere", start), 404),
        (chunked("POST", "/workflows", start[:5], start[5:]), 201),
        (request_bytes("GET", f"{PREFIX}/workflows/nobody"), 404),
    ] * 3
    answers = await ask(api, *(request for request, _ in pairs))
    assert [answer.status for answer in answers] == [status for _, status in pairs]


@over_http
async def test_half_a_request_does_nothing(api: Api) -> None:
    body = b'{"workflow_type":"T","workflow_id":"%s"}' % api.mark.encode()
    whole = request_bytes("POST", f"{PREFIX}/workflows", body)
    for length in (1, 20, len(whole) - len(body), len(whole) - 1):
        connection = await api.http.open()
        await connection.send(whole[:length])
        await asyncio.sleep(0.01)
        connection.hang_up()
    in_pieces = chunked("POST", "/workflows", body[:9], body[9:])
    connection = await api.http.open()
    await connection.send(in_pieces[:-5])  # all of the body, but not its end
    connection.hang_up()
    await asyncio.sleep(0.05)
    await api.send("GET", f"/workflows/{api.mark}", status=404)


@pytest.mark.timeout(60 + EXAMPLES)
@partial(over_http, secs=30 + EXAMPLES)
async def test_broken_requests_by_chance(api: Api) -> None:
    """Bytes flipped, cut and doubled anywhere: whoever gets an answer is not told of a fault."""
    dice = Random(EXAMPLES)
    start = b'{"workflow_type":"T","workflow_id":"%s"}' % api.mark.encode()
    sound = [
        request_bytes("POST", f"{PREFIX}/workflows", start),
        request_bytes("GET", f"{PREFIX}/workflows/a%2Fb/events?limit=5&order=asc"),
        request_bytes("POST", f"{PREFIX}/tasks/1/complete", b'{"result":[1,2,3]}'),
        chunked("POST", "/workflows/a/signal/b", b'{"payload":', b"1}"),
    ]
    for _ in range(0, EXAMPLES, 30):
        broken = [spoil(dice, dice.choice(sound)) for _ in range(30)]
        await asyncio.gather(*(look(api, request) for request in broken))
    assert (await api.get("/health"))["status"] == "ok"
    run = await api.start()
    await api.claim(run)


def spoil(dice: Random, request: bytes) -> bytes:
    for _ in range(dice.randint(1, 4)):
        first, last = sorted(dice.choices(range(len(request) + 1), k=2))
        request = dice.choice(
            [
                request[:first] + bytes([dice.randrange(256)]) + request[first + 1 :],
                request[:first] + dice.randbytes(3) + request[first:],
                request[:first] + request[last:],
                request[:last] + request[first:],
                request[:first]
                + dice.choice([b"\r\n", b"\0", b" ", b":", b"\n"])
                + request[first:],
            ]
        )
    return request


async def look(api: Api, request: bytes) -> None:
    try:
        async with asyncio.timeout(PATIENCE_SECS):
            connection = await api.http.open()
            await connection.send(request)
            answer = await connection.answer()
    except (TimeoutError, Lost):
        return
    assert answer.status < 500, (request, answer)
    assert answer.status < 400 or answer.error, (request, answer)
