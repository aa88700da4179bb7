"""Things between an engine and PostgreSQL: a wire that loses messages, a proxy that pools."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
READY, IDLE = b"Z", b"I"
SSL_REQUEST = 80877103


def address_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 5432


def through(url: str, server: asyncio.Server) -> str:
    """The URL of the same database by way of a server of ours."""
    parts = urlsplit(url)
    port = server.sockets[0].getsockname()[1]
    return parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}").geturl()


class Visitors:
    """Serves each visitor with one coroutine, and ends them all when the test is over."""

    def __init__(self, serve: Callable[..., object]) -> None:
        self._serve = serve
        self._tasks: set[asyncio.Task[object]] = set()

    @contextlib.asynccontextmanager
    async def served(self, url: str) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._welcome, "127.0.0.1", 0)
        try:
            yield through(url, server)
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)  # type: ignore[misc] # a coroutine function
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()


# --- a wire that loses messages -----------------------------------------------------------------


class Wire:
    """Passes everything on until it is told to lose something; a loss ends the connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: set[asyncio.StreamWriter] = set()
        self._doomed: dict[asyncio.StreamWriter, str] = {}
        self._visitors = Visitors(self._serve)

    @contextlib.asynccontextmanager
    async def laid(self) -> AsyncIterator[str]:
        async with self._visitors.served(self._url) as url:
            yield url

    def lose(self, what: str) -> None:
        """On connections that are open now the next question, or the next answer, is lost."""
        for writer in self._open:
            self._doomed[writer] = what

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(*address_of(self._url))
        self._open.add(writer)
        try:
            questions = self._pump(reader, there[1], writer, "question")
            answers = self._pump(there[0], writer, writer, "answer")
            ways = [asyncio.ensure_future(way) for way in (questions, answers)]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            self._open.discard(writer)
            self._doomed.pop(writer, None)
            # Not aborted: the server is to work through what it was asked.
            there[1].close()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
        what: str,
    ) -> None:
        while data := await source.read(2**16):
            if self._doomed.get(client) == what:
                return
            target.write(data)
            await target.drain()


# --- a proxy that pools transactions ------------------------------------------------------------


class PoolingProxy:
    """Gives a client a session for the length of a transaction, as PgBouncer can be set to."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._greeting = b""
        self._start = b""
        self._idle: list[Streams] = []
        self._all: list[asyncio.StreamWriter] = []
        self._visitors = Visitors(self._serve)

    @contextlib.asynccontextmanager
    async def laid(self) -> AsyncIterator[str]:
        async with self._visitors.served(self._url) as url:
            yield url
        for writer in self._all:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._start = await self._first_message(reader, writer)
        session = await self._take()
        self._idle.append(session)
        writer.write(self._greeting)
        while True:
            message = await read_message(reader)
            session = await self._take()
            session[1].write(message)
            await self._transact(reader, writer, session)
            self._idle.append(session)

    async def _first_message(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        while True:
            length = await reader.readexactly(4)
            body = await reader.readexactly(struct.unpack("!I", length)[0] - 4)
            if struct.unpack("!I", body[:4])[0] != SSL_REQUEST:
                return length + body
            writer.write(b"N")

    async def _take(self) -> Streams:
        """The session used last, or a new one: as many as transactions at once."""
        if self._idle:
            return self._idle.pop()
        session = await asyncio.open_connection(*address_of(self._url))
        self._all.append(session[1])
        session[1].write(self._start)
        greeting = b""
        while (message := await read_message(session[0]))[:1] != READY:
            greeting += message
        self._greeting = greeting + message
        return session

    async def _transact(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: Streams
    ) -> None:
        """Pass on both ways until the session is idle again."""

        async def questions() -> None:
            while True:
                session[1].write(await read_message(reader))

        asking = asyncio.ensure_future(questions())
        try:
            while True:
                message = await read_message(session[0])
                last = message[:1] == READY and message[5:6] == IDLE
                if last:
                    asking.cancel()
                    await asyncio.gather(asking, return_exceptions=True)
                writer.write(message)
                if last:
                    return
        finally:
            asking.cancel()


async def read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)
