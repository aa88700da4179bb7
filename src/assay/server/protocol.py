"""The HTTP protocol: uvicorn's on httptools, which can also tell whether its peer has hung up.

A claim must not go to a client that is gone (contract §5.16). The loop learns of a closed
connection one turn late at best, so before such an answer is written the socket itself is asked.
"""

import asyncio
import re
import socket

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from assay.server.problems import CLOSE, problem

NOT_WAITING = getattr(socket, "MSG_DONTWAIT", 0)

# Headers have no use beyond this; without a bound one client could fill the memory.
HEAD_LIMIT = 64 * 1024

UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class DoorProtocol(HttpToolsProtocol):
    """One connection."""

    _socket: socket.socket | None = None
    _running: RequestResponseCycle | None = None
    _in_head = False
    _head_bytes = 0

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
        """Take it in. We speak nothing but HTTP/1.1, and the parser would stop at a wish for more.

        Clients that ask for HTTP/2 on every first request send its body along (Java's does). No
        JSON holds such a line, so it can be looked for without knowing where the headers end.
        """
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT:
                self.send_400_response(f"the headers are larger than {HEAD_LIMIT} bytes")
                return
        if b"pgrade:" in data:
            data = UPGRADE.sub(b"\r\nx-ignored:", data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Every request can ask after its client."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self.scope["assay.gone"] = self.is_gone  # type: ignore[typeddict-unknown-key] # ours

    def on_headers_complete(self) -> None:
        """The body may be longer than the head."""
        self._in_head = False
        super().on_headers_complete()

    def is_gone(self) -> bool:
        """Whether the client has hung up; if so, the request that is being answered is over."""
        gone = self.transport.is_closing() or self._is_at_end()
        if gone:
            self.transport.close()
            if self._running is not None:
                self._running.disconnected = True
        return gone

    def send_400_response(self, msg: str) -> None:
        """What is not even HTTP is refused in the form of all refusals."""
        answer = problem(400, msg, CLOSE)
        lines = [b"%s: %s\r\n" % header for header in answer.head()]
        head = b"HTTP/1.1 400 Bad Request\r\n" + b"".join(lines) + b"\r\n"
        self.transport.write(head + answer.body)
        self.transport.close()

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
