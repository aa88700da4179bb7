"""The few words of ASGI that we speak, with their types."""

from collections.abc import Awaitable, Callable
from typing import TypedDict

Header = tuple[bytes, bytes]

Scope = TypedDict(
    "Scope",
    {
        "type": str,
        "method": str,
        "raw_path": bytes,
        "query_string": bytes,
        "headers": list[Header],
        "assay.gone": Callable[[], bool],  # our own: has the peer hung up? (protocol.py)
        "assay.cut": Callable[[], None],  # our own: end the connection at once
    },
    total=False,
)


class Received(TypedDict, total=False):
    """A piece of a body, or the end of the connection."""

    type: str
    body: bytes
    more_body: bool


class Sent(TypedDict, total=False):
    """The start of an answer, or its body."""

    type: str
    status: int
    headers: list[Header]
    body: bytes
    more_body: bool


Receive = Callable[[], Awaitable[Received]]
Send = Callable[[Sent], Awaitable[None]]

HUNG_UP = "http.disconnect"
