"""The protocol fed packet by packet: it never matters where bytes are cut, and all has a bound.

The application behind it answers with what it read.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from assay.server.asgi import Receive, Scope, Send
from assay.server.protocol import HEAD_LIMIT, DoorProtocol

WISH = (
    b"POST /a?b HTTP/1.1\r\nHost: x\r\nCONNECTION: Upgrade, HTTP2-Settings\r\nUPGRADE: h2c\r\n"
    b"HTTP2-Settings: AAE\r\nContent-Length: 16\r\n\r\n\r\nupgrade: h2c\r\n"
)
CHUNKED = (
    b"POST /c HTTP/1.1\r\nupgrade:websocket\r\nconnection:upgrade\r\ntransfer-encoding: chunked\r\n"
    b"\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nUpgrade: h2c\r\n\r\n"
)
NO_BODY = b"GET /g HTTP/1.1\r\nuPgRaDe: h2c\r\nConnection: upgrade\r\n\r\n"
PLAIN = b"POST /p HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi"
ANSWERS = {
    WISH: ["POST /a?b", "host connection http2-settings content-length", "\r\nupgrade: h2c\r\n"],
    CHUNKED: ["POST /c?", "connection transfer-encoding", "abcde"],
    NO_BODY: ["GET /g?", "connection", ""],
    PLAIN: ["POST /p?", "content-length", "hi"],
}
BROKEN = b"POST /b HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"


class Line(asyncio.Transport):
    """The server's end of a connection without any socket."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.ended = False
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.ended
        self.sent += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.ended = self._closing = True

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Echo:
    """An application that can be held back."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, message = b"", await receive()
        while message.get("more_body", False):
            body += message["body"]
            message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        await self.go.wait()
        target = b"%s?%s" % (scope["raw_path"], scope["query_string"])
        names = b" ".join(name for name, _ in scope["headers"])
        told = [f"{scope['method']} {target.decode()}", names.decode(), body.decode()]
        data = json.dumps(told).encode()
        length = (b"content-length", b"%d" % len(data))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": data})


class Wire:
    """A connection, and the packets that come in on it."""

    def __init__(self) -> None:
        self.app = Echo()
        self.line = Line()
        self._state = ServerState()
        config: Any = Config(self.app, ws="none", lifespan="off", log_config=None)
        self._protocol = DoorProtocol(config, self._state, {})
        self._protocol.connection_made(self.line)

    async def take(self, *packets: bytes) -> list[Any]:
        """The bodies of all answers so far."""
        for packet in packets:
            if not self.line.is_closing():
                self._protocol.data_received(packet)
            await self._settle()
        await self._settle()
        answers, rest = [], self.line.sent
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            answers.append(json.loads(rest[:length]))
            rest = rest[length:]
        return answers

    async def _settle(self) -> None:
        """Until nothing has been sent for some turns of the loop."""
        quiet, before = 0, b""
        while quiet < 5:
            await asyncio.sleep(0)
            quiet, before = (quiet + 1 if before == self.line.sent else 0), self.line.sent


def taken(*packets: bytes) -> list[Any]:
    async def take() -> list[Any]:
        return await Wire().take(*packets)

    return asyncio.run(take())


def pipelined(*requests: bytes) -> tuple[bytes, list[list[str]]]:
    return b"".join(requests), [ANSWERS[request] for request in requests]


def cuts(data: bytes) -> Iterator[tuple[bytes, ...]]:
    """The data in one packet, in two by every cut, and byte by byte."""
    yield (data,)
    for place in range(1, len(data)):
        yield data[:place], data[place:]
    yield tuple(bytes([byte]) for byte in data)


@pytest.mark.parametrize("request_", [WISH, CHUNKED, NO_BODY], ids=["wish", "chunked", "no body"])
def test_a_declined_wish_costs_nothing_however_it_is_cut(request_: bytes) -> None:
    data, answers = pipelined(request_, PLAIN)

    async def story() -> None:
        for packets in cuts(data):
            assert await Wire().take(*packets) == answers, packets

    asyncio.run(story())


def test_wishes_in_a_pipeline() -> None:
    data, answers = pipelined(*[PLAIN, WISH, NO_BODY, WISH, CHUNKED, PLAIN, CHUNKED] * 20)
    assert taken(data) == answers
    assert taken(*(data[place : place + 7] for place in range(0, len(data), 7))) == answers


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0\1\2\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://x HTTP/1.1\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        BROKEN,
        BROKEN.replace(b"zz", b"fffffffffffffffff"),
        BROKEN.replace(b"zz", b"2\r\nabc"),
        BROKEN.replace(b"HTTP/1.1", b"HTTP/1.1\r\nexpect: 100-continue"),
    ],
)
def test_what_is_not_http_is_refused_when_its_turn_comes(garbage: bytes) -> None:
    async def story() -> None:
        wire = Wire()
        assert [set(answer) for answer in await wire.take(garbage, PLAIN)] == [{"error"}]
        assert wire.line.ended
        wire = Wire()
        wire.app.go.clear()
        assert await wire.take(PLAIN + PLAIN + garbage + PLAIN) == []
        wire.app.go.set()
        first, second, last = await wire.take()
        assert (first, second, set(last)) == (ANSWERS[PLAIN], ANSWERS[PLAIN], {"error"})
        assert wire.line.ended

    asyncio.run(story())


def test_a_head_has_one_limit_however_it_is_cut() -> None:
    for size, refused in ((HEAD_LIMIT - 100, False), (HEAD_LIMIT + 100, True)):
        data = b"GET /" + b"a" * size + b" HTTP/1.1\r\n\r\n"
        for packet in (len(data), 10_000, 65_536):
            packets = [data[place : place + packet] for place in range(0, len(data), packet)]
            [answer] = taken(*packets)
            assert isinstance(answer, dict) is refused, packet
    body = b"x" * 3 * HEAD_LIMIT
    head = b"POST /l HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
    assert taken(head + body + PLAIN) == [
        ["POST /l?", "content-length", body.decode()],
        ANSWERS[PLAIN],
    ]


@pytest.mark.parametrize(
    ("before", "unit"),
    [(b"0\r\n", b"a: b\r\n"), (b"1;", b"extension"), (b"0\r\na: ", b"value"), (b"", b"0")],
)
def test_nothing_around_a_body_is_endless(before: bytes, unit: bytes) -> None:
    async def story() -> None:
        wire = Wire()
        packets = [unit * (4096 // len(unit))] * 64
        [answer] = await wire.take(BROKEN.removesuffix(b"zz\r\n") + before, *packets)
        assert set(answer) == {"error"}
        assert wire.line.ended

    asyncio.run(story())
