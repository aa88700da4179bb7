"""A server of one test on a real socket, and requests as bytes."""

import asyncio
from collections.abc import Awaitable, Callable

from assay.engine.clock import wall_clock
from assay.engine.runner import Rules, Runner
from assay.model.time import MICROS
from assay.server.app import create_app
from assay.server.serve import DoorServer, listen
from assay.server.settings import Settings
from assay.store.sqlite.store import SqliteStore

JSON = b"content-type: application/json\r\n"
STREAMS = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served:
    """A running server, and connections to it."""

    def __init__(self, runner: Runner, server: DoorServer, port: int) -> None:
        self.runner = runner
        self.server = server
        self.port = port

    async def connect(self) -> STREAMS:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        reader, writer = await self.connect()
        writer.write(data)
        answer = await answer_of(reader)
        writer.close()
        await writer.wait_closed()
        return answer


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


def post(path: str, body: bytes, headers: bytes = JSON) -> bytes:
    length = b"content-length: %d\r\n" % len(body)
    return b"POST /api/v1%s HTTP/1.1\r\nhost: x\r\n%s%s\r\n%s" % (
        *(path.encode(), headers, length),
        body,
    )


def told(
    story: Callable[[Served], Awaitable[None]], settings: Settings | None = None
) -> Callable[[], None]:
    """Run `async def story(served)` against a server of its own."""

    async def tell() -> None:
        runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=60 * MICROS))
        await runner.start()
        listener = listen(0)
        server = DoorServer(create_app(runner, settings or Settings()))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with asyncio.timeout(10):
            await story(Served(runner, server, listener.getsockname()[1]))
            server.should_exit = True
            await serving
            await runner.stop()

    return lambda: asyncio.run(tell())
