"""An answer before it is written."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from assay.server.asgi import Header, Send
from assay.wire.records import encode

NO_CONTENT_STATUS = 204
JSON_TYPE: Header = (b"content-type", b"application/json")
HTML_TYPE: Header = (b"content-type", b"text/html; charset=utf-8")


class Flow(Protocol):
    """A body without an end."""

    async def write(self, send: Send) -> None:
        """Write it, for as long as it goes on."""


class Answer(NamedTuple):
    """Status and body. `unwritten` is called if the answer does not reach its client."""

    status: int
    body: bytes
    unwritten: Callable[[], None] | None = None
    headers: tuple[Header, ...] = ()
    type: Header = JSON_TYPE
    flow: Flow | None = None

    def head(self) -> list[Header]:
        """The headers; an empty body has no type."""
        if self.status == NO_CONTENT_STATUS:
            return list(self.headers)
        if self.flow is not None:
            return [self.type, *self.headers]
        length = (b"content-length", b"%d" % len(self.body))
        if not self.body:
            return [length, *self.headers]
        return [self.type, length, *self.headers]


EMPTY = Answer(200, b"")
NO_CONTENT = Answer(204, b"")


def answer(record: Struct | Sequence[Struct], status: int = 200) -> Answer:
    """A record, or a list of them, as JSON."""
    return Answer(status, encode(record))
