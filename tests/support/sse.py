"""One who listens to the event stream: Server-Sent Events over a connection of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import msgspec

from tests.support.http import Answer, Json, read_answer, request_bytes

PATH = "/api/v1/events/stream"
LISTEN_SECS = 10.0


@dataclass(frozen=True, slots=True)
class Heard:
    """One event as it was sent."""

    id: int
    kind: str
    data: Json


class Ear:
    """An open stream. Leave the block to hang up."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._text = b""
        self.headers: Mapping[str, str] = {}
        self.comments = 0
        self.ended = False
        self.last_id: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        self._writer.transport.abort()

    async def next(self, secs: float = LISTEN_SECS) -> Heard:
        """The next event; a stream that ends before it raises EOFError."""
        async with asyncio.timeout(secs):
            while True:
                heard = self._parsed(await self._block())
                if heard is not None:
                    return heard

    async def take(self, count: int) -> list[Heard]:
        """The next so many events."""
        return [await self.next() for _ in range(count)]

    async def kinds(self, count: int) -> list[str]:
        return [heard.kind for heard in await self.take(count)]

    async def comment(self, secs: float = LISTEN_SECS) -> None:
        """Until another comment was sent."""
        before = self.comments
        async with asyncio.timeout(secs):
            while self.comments == before:
                assert self._parsed(await self._block()) is None

    async def rest(self) -> list[Heard]:
        """All events up to a proper end of the stream."""
        found = []
        try:
            while True:
                found.append(await self.next())
        except EOFError:
            assert self.ended, "the connection was cut"
        return found

    async def _block(self) -> bytes:
        """The text up to the next empty line."""
        while b"\n\n" not in self._text:
            await self._chunk()
        block, _, self._text = self._text.partition(b"\n\n")
        return block

    async def _chunk(self) -> None:
        try:
            size = int(await self._reader.readline() or b"x", 16)
            self._text += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        except (ValueError, OSError, asyncio.IncompleteReadError) as error:
            raise EOFError("the connection ended") from error
        if size == 0:
            self.ended = True
            raise EOFError("the stream ended")

    def _parsed(self, block: bytes) -> Heard | None:
        if block.startswith(b":"):
            self.comments += 1
            return None
        first, second, third = block.split(b"\n")
        assert first.startswith(b"id: "), block
        assert second.startswith(b"event: "), block
        assert third.startswith(b"data: "), block
        heard = Heard(int(first[4:]), second[7:].decode(), msgspec.json.decode(third[6:]))
        assert heard.data["id"] == heard.id
        assert self.last_id is None or heard.id > self.last_id, "ids ascend"
        self.last_id = heard.id
        return heard


async def listen(
    host: str,
    port: int,
    query: str = "",
    *,
    cursor: object = None,
    path: str = PATH,
    small_buffer: bool = False,
) -> Ear | Answer:
    """Open a stream; what is refused is an answer."""
    door = socket.socket()
    if small_buffer:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    door.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(door, (host, port))
    except OSError:
        door.close()
        raise
    reader, writer = await asyncio.open_connection(sock=door, limit=4096 if small_buffer else 2**16)
    headers = {} if cursor is None else {"last-event-id": str(cursor)}
    try:
        writer.write(request_bytes("GET", f"{path}?{query}" if query else path, headers=headers))
        head = await reader.readuntil(b"\r\n\r\n")
        refused = None if head.startswith(b"HTTP/1.1 200 ") else head + await reader.read(2**16)
    except BaseException:
        writer.transport.abort()
        raise
    if refused is not None:
        writer.close()
        rest = asyncio.StreamReader()
        rest.feed_data(refused)
        rest.feed_eof()
        return await read_answer(rest)
    ear = Ear(reader, writer)
    pairs = (line.partition(":") for line in head.decode().split("\r\n")[1:] if line)
    ear.headers = {name.lower(): value.strip() for name, _, value in pairs}
    return ear


async def open_ear(
    host: str, port: int, query: str = "", *, cursor: object = None, path: str = PATH
) -> Ear:
    """Open a stream that is not refused."""
    ear = await listen(host, port, query, cursor=cursor, path=path)
    assert isinstance(ear, Ear), ear
    return ear
