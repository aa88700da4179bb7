"""One connection of HTTP/1.1: a request goes out, its answer comes in, then the next.

It has one alarm for two things, so that a request seldom touches a timer: the time of the request
under way, or, when there is none, how long the connection is kept.
"""

import asyncio
from typing import Protocol, cast

import httptools

from assay.sdk.faults import AnswerLost, ClientFault, EngineUnreachable, NotAnswered, RequestTimeout
from assay.sdk.transport import Reply

IDLE_SECS = 60.0  # half of what the engine keeps a connection for: we should be the first to leave
NEVER = float("inf")

Answer = asyncio.Future[Reply]


class Pool(Protocol):
    """Where connections are kept between requests."""

    def enter(self, connection: "Connection") -> None:
        """It has begun."""

    def keep(self, connection: "Connection") -> None:
        """It is free for the next request."""

    def forget(self, connection: "Connection") -> None:
        """It has ended."""


class Connection(asyncio.Protocol):
    """A connection to the engine; asyncio has switched Nagle's algorithm off on it."""

    __slots__ = (
        *("_alarm", "_alarm_at", "_answer", "_due", "_loop", "_parser", "_pieces", "_pool"),
        *("_silent", "_transport", "used_at"),
    )
    _transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: Pool) -> None:
        self.used_at = NEVER  # when its last answer was complete
        self._loop = loop
        self._pool = pool
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None
        self._pieces: list[bytes] = []
        self._silent = True  # since the last request went out
        self._due = self._alarm_at = NEVER
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether a request may be sent on it, as far as we have heard."""
        return not self._transport.is_closing()

    def ask(self, message: bytes, deadline: float) -> Answer:
        """Send a request; its answer is there, or a fault, when the loop's time is `deadline`."""
        answer = self._loop.create_future()
        if not self.is_open:
            answer.set_exception(EngineUnreachable("the connection was closed at once"))
            return answer
        self._answer = answer
        self._silent = True
        self._wait_until(deadline)
        self._transport.write(message)
        return answer

    def give_up(self, answer: Answer) -> None:
        """Nobody waits for this answer any more; what is not whole cannot be used again."""
        if self._answer is answer:
            self.end(None)

    def end(self, fault: ClientFault | None) -> None:
        """End it at once; the request under way, if any, fails."""
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done() and fault is not None:
            answer.set_exception(fault)
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is there."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by inheritance
        self._pool.enter(self)

    def data_received(self, data: bytes) -> None:
        """A piece of the answer."""
        self._silent = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.end(AnswerLost(f"the answer is not HTTP/1.1: {error}"))

    def on_message_begin(self) -> None:
        """What nobody asked for must not become the answer to the next request."""
        self._pieces = []
        if self._answer is None:
            self.end(None)

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """The answer is whole, unless it was an interim one."""
        parser, pieces = self._parser, self._pieces
        status = parser.get_status_code()
        answer = self._answer
        if status < 200 or answer is None:
            return
        self._answer = None
        if parser.should_keep_alive():
            self.used_at = now = self._loop.time()
            self._wait_until(now + IDLE_SECS)
            self._pool.keep(self)
        else:
            self._transport.abort()
        if not answer.done():
            answer.set_result(Reply(status, pieces[0] if len(pieces) == 1 else b"".join(pieces)))

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, whoever ended it."""
        if self._alarm is not None:
            self._alarm.cancel()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            unheard = self._silent and self.used_at != NEVER
            fault = (NotAnswered if unheard else AnswerLost)(
                "the connection ended before the answer was here" + (f": {exc}" if exc else "")
            )
            fault.__cause__ = exc
            answer.set_exception(fault)
        self._pool.forget(self)
        del self._parser  # which holds on to us

    def _wait_until(self, due: float) -> None:
        self._due = due
        if due < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = due
            self._alarm = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, NEVER
        if self._loop.time() < self._due:
            self._wait_until(self._due)
        else:
            self.end(RequestTimeout("no answer in time"))
