"""The HTTP protocol: uvicorn's on httptools, which can also tell whether its peer has hung up.

A claim must not go to a client that is gone (contract §5.16). The loop learns of a closed
connection one turn late at best, so before such an answer is written the socket itself is asked.

We speak nothing but HTTP/1.1. Clients that would rather have HTTP/2 say so on their first request
and send its body along (Java's does); the parser stops behind the head of such a request, and is
then given the same head without the wish. What is not HTTP at all is refused as JSON, once all
requests before it are answered.
"""

import asyncio
import socket

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from assay.server.problems import CLOSE, problem

NOT_WAITING = getattr(socket, "MSG_DONTWAIT", 0)

# Headers have no use beyond this; without a bound one client could fill the memory.
HEAD_LIMIT = 64 * 1024

# Who is refused while still sending would not hear it: so long is read on, and forgotten.
PARTING_SECS = 2.0

NOT_HTTP = "this is not a request in HTTP/1.1"
TOO_LARGE = f"the headers are larger than {HEAD_LIMIT} bytes"


class DoorProtocol(HttpToolsProtocol):
    """One connection."""

    _socket: socket.socket | None = None
    _running: RequestResponseCycle | None = None
    _refusal: str | None = None
    _packet_bytes = 0
    _loose_bytes = 0  # read since the last end of a head, piece of a body, or end of a request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        """Keep an object for the socket that can be asked; it must never close it."""
        super().connection_made(transport)
        held = transport.get_extra_info("socket")
        if held is not None:
            self._socket = socket.socket(held.family, held.type, held.proto, held.fileno())

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that is being answered, which may not be the last one read."""
        if self._socket is not None:
            self._socket.detach()
            self._socket = None
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take it in. What is neither a whole head nor a body is kept, so it has a bound."""
        if self._refusal is not None:
            return
        self._unset_keepalive_if_required()
        self._packet_bytes = len(data)
        self._loose_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse(TOO_LARGE if self._loose_bytes > HEAD_LIMIT else NOT_HTTP)
            return
        if self._loose_bytes > HEAD_LIMIT:
            self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        """Every request can ask after its client."""
        super().on_message_begin()
        self.scope["assay.gone"] = self.is_gone  # type: ignore[typeddict-unknown-key] # ours
        self.scope["assay.cut"] = self.cut  # type: ignore[typeddict-unknown-key] # ours

    def on_headers_complete(self) -> None:
        """The limit is the same whether the head came in one packet or in many."""
        if max(self._packet_bytes, self._loose_bytes) > HEAD_LIMIT:
            self._loose_bytes = len(self.url) + sum(len(a) + len(b) for a, b in self.headers)
            if self._loose_bytes > HEAD_LIMIT:
                raise httptools.HttpParserError(TOO_LARGE)
        self._loose_bytes = 0
        super().on_headers_complete()
        self.headers = []  # trailers are no headers

    def on_body(self, body: bytes) -> None:
        """A body has its own bound."""
        self._loose_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """What follows is another request, also where the answer did not wait for the body."""
        self._loose_bytes = 0
        super().on_message_complete()
        if self._running is not None:
            self.cycle.more_body = False

    def on_response_complete(self) -> None:
        """The last answer may have been what a refusal was waiting for."""
        super().on_response_complete()
        if self._refusal is not None and not self._is_owing():
            self._part(self._refusal)

    def is_gone(self) -> bool:
        """Whether the client has hung up; if so, the request that is being answered is over."""
        gone = self.transport.is_closing() or self._is_at_end()
        if gone:
            self.transport.close()
            if self._running is not None:
                self._running.disconnected = True
        return gone

    def cut(self) -> None:
        """End the connection at once, with whatever is still to be written on it."""
        self.transport.abort()
        if self._running is not None:
            self._running.disconnected = True

    def _feed(self, data: bytes | memoryview) -> None:
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as wish:
                data = memoryview(data)[wish.args[0] :]
                self.parser.feed_data(self._head_without_wish())
            else:
                return

    def _should_upgrade(self) -> bool:
        """Asked where a request wishes for more: it is left alone, for it is read again."""
        return True

    def _head_without_wish(self) -> bytes:
        method, version = self.scope["method"].encode(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            raise httptools.HttpParserError("a tunnel cannot be declined, only refused")
        headers = self.scope["headers"]
        lines = [b"%s: %s\r\n" % header for header in headers if header[0] != b"upgrade"]
        return b"%s %s HTTP/%s\r\n%s\r\n" % (method, self.url, version, b"".join(lines))

    def _refuse(self, why: str) -> None:
        """Read nothing more; say why when it is this request's turn."""
        self._refusal = why
        if self._running is not None and self.cycle.more_body:
            broken = self.cycle
            if broken.response_started:
                self.transport.close()  # it is answered already, though its body is broken
                return
            if broken is not self._running:
                self.pipeline.popleft()
            broken.waiting_for_100_continue = False
            broken.disconnected = True
            broken.message_event.set()
        if not self._is_owing():
            self._part(why)

    def _is_owing(self) -> bool:
        """Whether requests that came in whole are still to be answered."""
        running = self._running
        return running is not None and not (running.response_complete or running.disconnected)

    def _part(self, why: str) -> None:
        """The last words on this connection."""
        if self.transport.is_closing():
            return
        answer = problem(400, why, CLOSE)
        lines = [b"%s: %s\r\n" % header for header in answer.head()]
        head = b"HTTP/1.1 400 Bad Request\r\n" + b"".join(lines) + b"\r\n"
        self.transport.write(head + answer.body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._unset_keepalive_if_required()
        self.loop.call_later(PARTING_SECS, self.transport.close)

    def _is_at_end(self) -> bool:
        """Ask the socket; bytes of a next request are no hang-up."""
        if self._socket is None:
            return False
        try:
            return self._socket.recv(1, socket.MSG_PEEK | NOT_WAITING) == b""
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)
