"""The protocol on a real socket: what only bytes on a wire can show."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from assay.engine.clock import wall_clock
from assay.engine.runner import Rules, Runner
from assay.model.operations import Start
from assay.model.time import MICROS
from assay.server.app import create_app
from assay.server.serve import DoorServer, listen
from assay.server.settings import Settings
from assay.store.sqlite.store import SqliteStore

JSON = b"content-type: application/json\r\n"
POLL = b'{"queue":"default","worker_id":"w"%s}'
STREAMS = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served:
    """A running server, and connections to it."""

    def __init__(self, runner: Runner, port: int) -> None:
        self.runner = runner
        self._port = port

    async def connect(self) -> STREAMS:
        return await asyncio.open_connection("127.0.0.1", self._port)

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


def told(story: Callable[[Served], Awaitable[None]]) -> Callable[[], None]:
    """Run `async def story(served)` against a server of its own."""

    async def tell() -> None:
        runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=60 * MICROS))
        await runner.start()
        listener = listen(0)
        server = DoorServer(create_app(runner, Settings()))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with asyncio.timeout(10):
            await story(Served(runner, listener.getsockname()[1]))
            server.should_exit = True
            await serving
            await runner.stop()

    return lambda: asyncio.run(tell())


@told
async def test_what_is_not_http_is_refused_as_json(served: Served) -> None:
    status, body = await served.ask(b"\0\1\2\r\n\r\n")
    assert (status, set(json.loads(body))) == (400, {"error"})


@told
async def test_a_wish_for_http_2_keeps_its_body(served: Served) -> None:
    wish = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAE\r\n"
    body = b'{"workflow_type":"T","input":"\\r\\nupgrade: h2c"}'
    status, answer = await served.ask(post("/workflows", body, JSON + wish))
    assert status == 201
    [view] = await served.runner.store.reading.run_views([json.loads(answer)["workflow_id"]])
    assert view.input == '"\\r\\nupgrade: h2c"'


@told
async def test_a_next_request_is_no_hang_up(served: Served) -> None:
    await served.runner.perform(Start("T", "wf"))
    reader, writer = await served.connect()
    writer.write(post("/workflow-tasks/poll", POLL % b"") * 2)
    first, second = await answer_of(reader), await answer_of(reader)
    assert json.loads(first[1])["workflow_id"] == "wf"
    assert second == (200, b"null")
    writer.close()
    await writer.wait_closed()


@told
async def test_who_hangs_up_loses_the_claim_with_requests_still_queued(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(post("/workflow-tasks/poll", POLL % b',"wait_secs":9') * 2)
    await asyncio.sleep(0.05)
    writer.transport.abort()
    await served.runner.perform(Start("T", "wf"))
    status, body = await served.ask(post("/workflow-tasks/poll", POLL % b',"wait_secs":5'))
    assert (status, json.loads(body)["workflow_id"]) == (200, "wf")
    assert reader.at_eof() or not await reader.read()
