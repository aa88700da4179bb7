"""The way to an engine in the same process: its routes answer requests, without a socket."""

import asyncio
from collections.abc import Awaitable, Callable

from assay.sdk.faults import ClientFault, RequestTimeout
from assay.sdk.transport import ANSWER_SECS, Reply
from assay.server.app import App
from assay.server.asgi import Header, Received, Scope, Sent

PREFIX = "/api/v1"
JSON_TYPE: Header = (b"content-type", b"application/json")


class HereTransport:
    """Requests to the routes of an engine on this loop."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._is_closed = False
        self.before: Callable[[], Awaitable[bool]] | None = None  # each time, until it is done

    async def request(
        self, method: str, path: str, body: bytes | None = None, *, secs: float = ANSWER_SECS
    ) -> Reply:
        """One request and its answer; see `Transport`."""
        if self._is_closed:
            raise ClientFault("the engine is closed")
        await asyncio.sleep(0)  # who asks again and again leaves the engine its turns
        if self.before is not None:
            before, self.before = self.before, None
            is_done = False
            try:
                is_done = await before()
            finally:
                self.before = None if is_done else before
        target, _, query = path.partition("?")
        scope: Scope = {
            "type": "http",
            "method": method,
            "raw_path": (PREFIX + target).encode(),
            "query_string": query.encode(),
            "headers": [] if body is None else [JSON_TYPE],
        }
        exchange = _Exchange(body or b"")
        try:
            async with asyncio.timeout(secs):
                await self._app(scope, exchange.receive, exchange.send)
        except TimeoutError:
            raise RequestTimeout(f"{method} {path}: no answer in time") from None
        return exchange.reply()

    def from_thread(self) -> None:
        """The engine is on this very loop."""
        return

    async def close(self) -> None:
        """Nothing is asked any more."""
        self._is_closed = True


class _Exchange:
    """What a server would do for one request."""

    __slots__ = ("_body", "_parts", "_status")

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 0
        self._parts: list[bytes] = []

    async def receive(self) -> Received:
        body, self._body = self._body, None
        if body is None:
            await asyncio.get_running_loop().create_future()  # nobody here hangs up
        return {"type": "http.request", "body": body or b"", "more_body": False}

    async def send(self, message: Sent) -> None:
        if "status" in message:
            self._status = message["status"]
        self._parts.append(message.get("body", b""))

    def reply(self) -> Reply:
        if not self._status:
            raise ClientFault("the engine has stopped")
        return Reply(self._status, b"".join(self._parts))
