"""A server of a few lines, which does to each connection what a test says, on either event loop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import uvloop

from assay.sdk.http import HttpTransport

SECS = 10.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Run = Callable[[Coroutine[Any, Any, None]], None]

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull"
CLOSING = b"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 3\r\n\r\n[1]"
CUT = b""


def answer(status: int, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d Status\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
    return head + await reader.readexactly(length)


class Scripted:
    """The server; it counts connections and keeps what it was asked."""

    def __init__(self, serve: Serve) -> None:
        self.opened = 0
        self.asked: list[bytes] = []
        self.port = 0
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def heads(self) -> list[str]:
        """The first line of each request."""
        return [request.split(b" HTTP/")[0].decode() for request in self.asked]

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._treat, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in tuple(self._open):
            writer.close()
        await self._server.wait_closed()

    async def _treat(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self._open.add(writer)
        try:
            await self._serve(reader, writer)
        except (EOFError, ConnectionError):
            pass  # the client hung up
        finally:
            self._open.discard(writer)
            writer.close()


def saying(*answers: bytes) -> Scripted:
    """A server that answers all its requests from one list, and hangs up at `CUT` or its end.

    A cut leaves the request unanswered, and takes its place in the list.
    """
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while left:
            server.asked.append(await read_request(reader))
            said = left.pop(0)
            if said == CUT:
                return
            writer.write(said)
            await writer.drain()

    server = Scripted(serve)
    return server


@contextlib.asynccontextmanager
async def asking(server: Scripted, **given: Any) -> AsyncIterator[HttpTransport]:
    """A transport to that server, which runs meanwhile."""
    await server.start()
    transport = HttpTransport(server.url, **given)
    try:
        async with asyncio.timeout(SECS):
            yield transport
    finally:
        await transport.close()
        await server.stop()


def run_on_asyncio(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)
    gc.collect()  # what was left open complains when it is collected


def run_on_uvloop(story: Coroutine[Any, Any, None]) -> None:
    uvloop.run(story)
    gc.collect()
