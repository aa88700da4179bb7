"""A way to a server that loses answers: it hangs up once the server has answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from tests.support.server import Server

Judge = Callable[[bytes, bytes], bool]


class CuttingProxy:
    """Passes requests and answers on; `judge(request, answer)`: is this answer lost?"""

    def __init__(self, server: Server, judge: Judge) -> None:
        self.cuts = 0
        self.port = 0
        self._server = server
        self._judge = judge
        self._open: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[CuttingProxy]:
        """From now on, for a while."""
        listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listener.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    def _accept(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._treat(client, back))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _treat(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        server, there = await asyncio.open_connection(self._server.host, self._server.port)
        asked: list[bytes] = []
        forth = asyncio.create_task(self._forth(client, there, asked))
        try:
            while True:
                answer = await read_message(server)
                if self._judge(asked.pop(0), answer):
                    self.cuts += 1
                    return
                back.write(answer)
                await back.drain()
        except (EOFError, OSError):
            pass  # one of them has hung up
        finally:
            forth.cancel()
            back.close()
            there.close()

    async def _forth(
        self, client: asyncio.StreamReader, there: asyncio.StreamWriter, asked: list[bytes]
    ) -> None:
        """The requests; when the client hangs up, so do we."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                asked.append(await read_message(client))
                there.write(asked[-1])
                await there.drain()
        there.close()


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """A request or an answer, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
    return head + await reader.readexactly(length)
