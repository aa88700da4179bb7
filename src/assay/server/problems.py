"""Which status a refusal has: the only place that knows.

Errors of the engine have their class; what is refused at the door, before anybody asks what the
request means, is a `Turned`.
"""

from collections.abc import Iterable

from assay.errors import (
    AssayError,
    BadShape,
    BadValue,
    Conflict,
    EngineStopped,
    Gone,
    NotFound,
    StoreFault,
)
from assay.server.answer import Answer
from assay.server.asgi import Header
from assay.wire.answers import Error
from assay.wire.records import encode

STATUSES: dict[type[AssayError], int] = {
    BadValue: 400,
    BadShape: 422,
    NotFound: 404,
    Conflict: 409,
    Gone: 410,
    StoreFault: 500,
    EngineStopped: 503,
}
FAULT = 500
CLOSE: Header = (b"connection", b"close")


class Turned(Exception):
    """Turned away at the door; `unread`: with a body that nobody has asked for yet."""

    def __init__(self, status: int, message: str, *headers: Header, unread: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.unread = unread

    @property
    def answer(self) -> Answer:
        """What the client is told."""
        return problem(self.status, str(self), *self.headers)


def unknown_route(path: str) -> Turned:
    """No such path."""
    return Turned(404, f"not found: {path}")


def wrong_method(method: str, allowed: Iterable[str]) -> Turned:
    """The path is there, the method is not."""
    names = ", ".join(sorted(allowed))
    return Turned(405, f"{method} is not allowed here, but {names}", (b"allow", names.encode()))


def too_large(limit: int, *, unread: bool = False) -> Turned:
    """The connection is closed, because the rest of the body may still be on its way."""
    return Turned(413, f"the body is larger than {limit} bytes", CLOSE, unread=unread)


def wrong_media_type(media_type: str) -> Turned:
    """Not declared as JSON."""
    declared = f"not {media_type}" if media_type else "and must be declared"
    return Turned(415, f"the body must be application/json, {declared}")


def problem(status: int, message: str, *headers: Header) -> Answer:
    """An error answer."""
    return Answer(status, encode(Error(message)), None, headers)


def answer_to(error: AssayError) -> Answer:
    """What the client of a failed request is told."""
    return problem(status_of(error), str(error))


def status_of(error: AssayError) -> int:
    """By the nearest class that has one."""
    for kind in type(error).__mro__:
        if kind in STATUSES:
            return STATUSES[kind]
    return FAULT
