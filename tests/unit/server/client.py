"""The application of one test, over a real engine, and requests to it without any socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from assay.engine.clock import wall_clock
from assay.engine.runner import Rules, Runner
from assay.model.time import MICROS
from assay.server.app import App, create_app
from assay.server.asgi import Received, Scope, Sent
from assay.server.settings import Settings
from assay.store.sqlite.store import SqliteStore


class Client:
    """One request to the application: what it is sent, when it hangs up, what it was told."""

    def __init__(self, app: App, path: str, body: bytes = b"", method: str | None = None) -> None:
        self.gone = asyncio.Event()
        self.status = 0
        self.body = b""
        self._app = app
        self._messages: list[Received] = [{"type": "http.request", "body": body}]
        self._scope: Scope = {
            "type": "http",
            "method": method or ("POST" if body else "GET"),
            "raw_path": path.partition("?")[0].encode(),
            "query_string": path.partition("?")[2].encode(),
            "headers": [(b"content-type", b"application/json")],
            "assay.gone": self.gone.is_set,
        }

    async def ask(self) -> "Client":
        await self._app(self._scope, self._receive, self._send)
        return self

    async def _receive(self) -> Received:
        if self._messages:
            return self._messages.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Sent) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")


@asynccontextmanager
async def served() -> AsyncIterator[App]:
    runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=60 * MICROS))
    await runner.start()
    try:
        yield create_app(runner, Settings())
    finally:
        await runner.stop()


def told(story: Callable[[App], Awaitable[None]]) -> Callable[[], None]:
    """Run `async def story(app)` as a test."""

    async def tell() -> None:
        async with asyncio.timeout(10), served() as app:
            await story(app)

    return lambda: asyncio.run(tell())
