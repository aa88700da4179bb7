"""A lean HTTP/1.1 client on asyncio streams: pooled, raw when wanted, able to hang up."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

import msgspec

Json: TypeAlias = Any

NOTHING = object()  # no body at all, as opposed to null
IDLE_SECS = 2.0  # servers drop idle connections after five: ours are never that old
ANSWER_SECS = 30.0


class Lost(Exception):
    """The connection ended before the whole answer was here."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Json:
        return msgspec.json.decode(self.body)

    @property
    def error(self) -> str:
        """The text of an error body; what is not one fails here."""
        message = self.json()["error"]
        assert isinstance(message, str), self
        return message


class Connection:
    """One connection. Whoever holds it may send any bytes, half of a request included."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.used_at = time.monotonic()

    @classmethod
    async def open(cls, host: str, port: int) -> Connection:
        try:
            return cls(*await asyncio.open_connection(host, port))
        except OSError as error:
            raise Lost(f"no connection to {host}:{port}: {error}") from error

    @property
    def stale(self) -> bool:
        old = time.monotonic() - self.used_at > IDLE_SECS
        return old or self._reader.at_eof() or self._writer.is_closing()

    async def send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise Lost(str(error)) from error

    async def answer(self) -> Answer:
        """Read one whole answer."""
        try:
            answer = await read_answer(self._reader)
        except (OSError, EOFError) as error:
            raise Lost(f"connection lost: {error!r}") from error
        self.used_at = time.monotonic()
        return answer

    def finish(self) -> None:
        """Hang up, but go on listening: what the server had written before can still be read."""
        self._writer.write_eof()

    def hang_up(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ", 2)[1])
    pairs = (line.partition(":") for line in lines[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if status == 100:
        return await read_answer(reader)
    return Answer(status, headers, await read_body(reader, status, headers))


async def read_body(reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]) -> bytes:
    if status in (204, 304):
        return b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await read_chunks(reader)
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    return await reader.read()


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(chunks)


def encode(body: object) -> bytes | None:
    """Bytes go out as they are; everything else as JSON; NOTHING as no body."""
    if body is NOTHING:
        return None
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def request_bytes(
    method: str, path: str, body: object = NOTHING, headers: Mapping[str, str] | None = None
) -> bytes:
    """Write a request; `headers` replace the usual ones, an empty value leaves one out."""
    content = encode(body)
    usual = {"host": "assay"}
    if content is not None:
        usual |= {"content-type": "application/json", "content-length": str(len(content))}
    usual |= headers or {}
    head = "".join(f"{name}: {value}\r\n" for name, value in usual.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (content or b"")


class Http:
    """Requests to one server over kept-alive connections. Nothing is ever sent twice."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.gather(*(connection.close() for connection in self._all))
        self._idle.clear()
        self._all.clear()

    @property
    def busy(self) -> int:
        """How many connections are lent out: requests under way, and those of `open`."""
        return len(self._all) - len(self._idle)

    async def open(self) -> Connection:
        """A connection of its own, outside the pool; closed with this client at the latest."""
        connection = await Connection.open(self.host, self.port)
        self._all.add(connection)
        return connection

    async def request(
        self,
        method: str,
        path: str,
        body: object = NOTHING,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = ANSWER_SECS,
    ) -> Answer:
        return await self.raw(request_bytes(method, path, body, headers), timeout=timeout)

    async def raw(self, data: bytes, *, timeout: float = ANSWER_SECS) -> Answer:
        """Send any bytes and read one answer."""
        connection = await self._borrow()
        try:
            async with asyncio.timeout(timeout):
                await connection.send(data)
                answer = await connection.answer()
        except BaseException:
            connection.hang_up()
            self._all.discard(connection)
            raise
        if answer.headers.get("connection", "").lower() == "close":
            self._all.discard(connection)
            await connection.close()
        else:
            self._idle.append(connection)
        return answer

    async def _borrow(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.stale:
                return connection
            self._all.discard(connection)
            await connection.close()
        return await self.open()
