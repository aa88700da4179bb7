"""HTTP/1.1 to an engine: connections that are kept, with one request at a time on each.

Lean on purpose, because every call of a client and of a worker pays for it: it knows bodies by
length and in chunks, TLS and a bearer token; no proxies, redirects, cookies or compression.
Nothing is ever sent twice here; what may be repeated is known further up (`retrying.py`).
"""

import asyncio
import ssl

from assay.errors import UsageFault
from assay.sdk.faults import ClientFault, EngineUnreachable
from assay.sdk.http_address import read_url
from assay.sdk.http_connection import Connection
from assay.sdk.http_thread import ThreadSender
from assay.sdk.transport import ANSWER_SECS, Reply

PREFIX = "/api/v1"
CONNECT_SECS = 10.0
DOUBTFUL_SECS = 0.5  # a connection so long unused may have ended unheard


class HttpTransport:
    """Requests to one engine from one event loop."""

    def __init__(
        self, url: str, token: str | None = None, *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connect nowhere yet. `tls` replaces the usual trust in the system's authorities."""
        self._url = url
        self._address = address = read_url(url)
        self._tls = (tls or ssl.create_default_context()) if address.secure else None
        self._path = address.path + PREFIX
        self._head = f" HTTP/1.1\r\nhost: {address.authority}\r\n"
        if token:
            if not (token.isascii() and token.isprintable()):
                raise UsageFault("a token is printable ASCII")
            self._head += f"authorization: Bearer {token}\r\n"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: set[Connection] = set()
        self._idle: list[Connection] = []
        self._closed: asyncio.Future[None] | None = None

    async def request(
        self, method: str, path: str, body: bytes | None = None, *, secs: float = ANSWER_SECS
    ) -> Reply:
        """One request and its answer; see `Transport`."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._belong_to(loop)
        message = self._message(method, path, body)
        deadline = loop.time() + secs
        connection = await self._kept(loop) or await self._opened(loop, secs)
        answer = connection.ask(message, deadline)
        try:
            return await answer
        except asyncio.CancelledError:
            connection.give_up(answer)
            raise
        except ClientFault as fault:
            raise type(fault)(f"{method} {path}: {fault}") from fault.__cause__

    def from_thread(self) -> ThreadSender:
        """A connection of its own, for signs of life."""
        return ThreadSender(self._address, self._path, self._head, self._tls)

    async def close(self) -> None:
        """End all connections, and wait until they are ended."""
        if self._loop is not asyncio.get_running_loop():
            return  # there never was a connection, or its loop is gone and took it along
        if self._closed is None:
            self._closed = self._loop.create_future()
            for connection in tuple(self._connections):
                connection.end(ClientFault("the client is closed"))
            if not self._connections:
                self._closed.set_result(None)
        await asyncio.shield(self._closed)

    def enter(self, connection: Connection) -> None:
        """A connection has begun."""
        self._connections.add(connection)

    def keep(self, connection: Connection) -> None:
        """A connection is free for the next request."""
        self._idle.append(connection)

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._closed is not None and not self._connections and not self._closed.done():
            self._closed.set_result(None)

    def _message(self, method: str, path: str, body: bytes | None) -> bytes:
        start = f"{method} {self._path}{path}{self._head}"
        if body is not None:
            kind = "content-type: application/json\r\n"
            return f"{start}{kind}content-length: {len(body)}\r\n\r\n".encode("ascii") + body
        if method == "GET":
            return f"{start}\r\n".encode("ascii")
        return f"{start}content-length: 0\r\n\r\n".encode("ascii")

    async def _kept(self, loop: asyncio.AbstractEventLoop) -> Connection | None:
        """The connection used last: the others then have a chance to grow old and be ended."""
        while self._idle:
            connection = self._idle.pop()
            if loop.time() - connection.used_at > DOUBTFUL_SECS:
                # If the loop was kept busy, it may not have heard yet that the connection ended.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            if connection.is_open:
                return connection
        return None

    async def _opened(self, loop: asyncio.AbstractEventLoop, secs: float) -> Connection:
        address = self._address
        self._check_open()
        try:
            async with asyncio.timeout(min(secs, CONNECT_SECS)):
                _, connection = await loop.create_connection(
                    lambda: Connection(loop, self), address.host, address.port, ssl=self._tls
                )
        except TimeoutError:
            raise EngineUnreachable(f"engine unreachable at {self._url}: no connection") from None
        except OSError as error:
            raise EngineUnreachable(f"engine unreachable at {self._url}: {error}") from error
        if self._closed is not None:
            connection.end(None)
        self._check_open()
        return connection

    def _check_open(self) -> None:
        if self._closed is not None:
            raise ClientFault("the client is closed")

    def _belong_to(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not None:
            raise UsageFault("a client belongs to the event loop in which it was first used")
        self._loop = loop
