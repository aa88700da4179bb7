"""The cheapest HTTP/1.1 keep-alive client that asyncio allows: one protocol, one request at a time.

It understands what the engine answers with, `content-length` bodies, and nothing else. Answers are
`(status, body)`; a connection that is lost fails the request that was under way.
"""

import asyncio
from typing import cast

Answer = tuple[int, bytes]

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"
NO_CONTENT = 204
JSON = "content-type: application/json\r\n"


class Connection(asyncio.Protocol):
    """One keep-alive connection; `request` may be called again once its answer is there."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._received = b""
        self._wanted = 0

    def request(self, message: bytes) -> asyncio.Future[Answer]:
        """Send one complete request message and return the future of its answer."""
        if self._transport is None:
            raise ConnectionError("the connection is closed")
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        self._transport.write(message)
        return waiter

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error or ConnectionError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        if self._received:
            data = self._received + data
        if len(data) < self._wanted:
            self._received = data
            return
        end = data.find(HEAD_END)
        if end < 0:
            self._received = data
            return
        wanted = end + len(HEAD_END) + body_length(data, end)
        if len(data) < wanted:
            self._received, self._wanted = data, wanted
            return
        self._received, self._wanted = data[wanted:], 0
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result((int(data[9:12]), data[end + len(HEAD_END) : wanted]))


def body_length(data: bytes, end: int) -> int:
    """Read how many bytes follow a head that ends at `end`; servers may spell the name freely."""
    at = data.find(LENGTH, 0, end)
    if at < 0:
        at = data[:end].lower().find(LENGTH)
    if at < 0:
        if int(data[9:12]) == NO_CONTENT:
            return 0
        raise ValueError(f"an answer without content-length: {data[:end]!r}")
    return int(data[at + len(LENGTH) : data.find(b"\r\n", at)])


async def connect(port: int) -> Connection:
    """Open one connection to the server on this machine."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(loop), "127.0.0.1", port)
    return connection


async def connect_many(port: int, count: int) -> list[Connection]:
    """Open `count` connections, one after the other so that no listen queue overflows."""
    return [await connect(port) for _ in range(count)]


def post(path: str, body: bytes) -> bytes:
    """Build the message of one POST with a JSON body."""
    head = f"POST {path} HTTP/1.1\r\nhost: assay\r\n{JSON}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def get(path: str) -> bytes:
    """Build the message of one GET."""
    return f"GET {path} HTTP/1.1\r\nhost: assay\r\n\r\n".encode()
