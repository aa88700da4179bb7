"""An answer before it is written."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from assay.model.task import Claim
from assay.server.asgi import Header
from assay.wire.records import encode

JSON_TYPE: Header = (b"content-type", b"application/json")


class Answer(NamedTuple):
    """Status and body. With a claim, the claim is undone unless the answer is written."""

    status: int
    body: bytes
    claim: Claim | None = None
    headers: tuple[Header, ...] = ()

    def head(self) -> list[Header]:
        """The headers; an empty body has no type."""
        length = (b"content-length", b"%d" % len(self.body))
        if not self.body:
            return [length, *self.headers]
        return [JSON_TYPE, length, *self.headers]


EMPTY = Answer(200, b"")


def answer(record: Struct | Sequence[Struct], status: int = 200) -> Answer:
    """A record, or a list of them, as JSON."""
    return Answer(status, encode(record))
