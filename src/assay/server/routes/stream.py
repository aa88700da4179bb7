"""The event stream: what happens, as it happens, as Server-Sent Events."""

import asyncio
import re
from collections.abc import AsyncGenerator

from assay.engine.stream import Interest, Listener
from assay.errors import BadValue, EngineStopped
from assay.server.answer import Answer
from assay.server.asgi import Header
from assay.server.call import Call
from assay.server.flow import Pieces
from assay.wire.frames import HELLO, KEEP_ALIVE
from assay.wire.queries import Watch

CURSOR = b"last-event-id"
TYPE: Header = (b"content-type", b"text/event-stream")
HEADERS: tuple[Header, ...] = (
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # proxies are to pass on each event as it comes
)
_INTEGER = re.compile(rb"\s*([+-]?)([0-9]+)(?:\.0*)?\s*")
_ENDLESS = 1_000  # digits: no id comes near, and reading many more takes long


async def stream(call: Call, asked: Watch) -> Answer:
    """Events as they happen.

    With the header `Last-Event-ID`, those after that id come first. Every 15 s there is a comment.
    """
    if call.door.stopping:
        raise EngineStopped
    interest = Interest(
        asked.namespace or asked.ns or None,
        asked.workflow_id or None,
        frozenset(kind for kind in asked.kind if kind),
    )
    listener = await call.door.stream.listen(interest, cursor_of(call))
    flow = Pieces(call, pieces(listener, call.door.settings.keep_alive_secs))
    return Answer(200, b"", None, HEADERS, TYPE, flow)


def cursor_of(call: Call) -> int | None:
    """The last event that the client has seen, if it says so."""
    text = call.header(CURSOR)
    if text is None:
        return None
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise BadValue(f"Last-Event-ID must be an integer, not {text.decode('latin-1')!r}")
    digits = match[2].lstrip(b"0")
    number = int(digits or b"0") if len(digits) <= _ENDLESS else 10**_ENDLESS
    return -number if match[1] == b"-" else number


async def pieces(listener: Listener, keep_alive_secs: float) -> AsyncGenerator[bytes, None]:
    """What the listener hears, and a comment every so often, so that nobody thinks it dead."""
    loop = asyncio.get_running_loop()
    with listener:
        yield HELLO
        due = loop.time() + keep_alive_secs
        while True:
            text = await listener.read(due)
            if text:
                yield text
            if loop.time() >= due:
                yield KEEP_ALIVE
                due = loop.time() + keep_alive_secs
