"""The body of a request as bytes: its size and media type are judged here (contract §2.3)."""

import asyncio
import contextlib

from assay.server.asgi import HUNG_UP, Header, Receive, Scope
from assay.server.problems import too_large, wrong_media_type

LARGEST_BODY = 2 * 1024 * 1024
# A client that is still sending does not listen yet: so much more is read before it is refused.
DISCARDED_BYTES = 16 * 1024 * 1024
DISCARD_SECS = 5.0


class HungUp(Exception):
    """The client has gone; nobody is there to be answered."""


async def read_body(scope: Scope, receive: Receive, *, required: bool) -> bytes:
    """All of the body, or why it is not even read."""
    media_type, length, expects = _declared(scope["headers"])
    if length > LARGEST_BODY:
        if not expects:
            await discard(receive)
        raise too_large(LARGEST_BODY, unread=expects)
    data = await _read(receive)
    if data if media_type else required:
        if not is_json(media_type):
            raise wrong_media_type(media_type)
    return data


def is_json(media_type: str) -> bool:
    """Whether a declared type is JSON, whatever its parameters."""
    kind = media_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


def _declared(headers: list[Header]) -> tuple[str, int, bool]:
    media_type, length, expects = "", 0, False
    for name, value in headers:
        if name == b"content-type":
            media_type = value.decode("latin-1").strip()
        elif name == b"content-length" and value.isdigit():
            length = int(value[:20])
        elif name == b"expect":
            expects = True
    return media_type, length, expects


async def _read(receive: Receive) -> bytes:
    message = await receive()
    if message["type"] == HUNG_UP:
        raise HungUp
    data = message.get("body", b"")
    if not message.get("more_body", False) and len(data) <= LARGEST_BODY:
        return data
    pieces, size = [data], len(data)
    while size <= LARGEST_BODY and message.get("more_body", False):
        message = await receive()
        if message["type"] == HUNG_UP:
            raise HungUp
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
    if size > LARGEST_BODY:
        if message.get("more_body", False):
            await discard(receive)
        raise too_large(LARGEST_BODY)
    return b"".join(pieces)


async def discard(receive: Receive) -> None:
    """Read on and forget it, within bounds."""
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECS):
            while size < DISCARDED_BYTES:
                message = await receive()
                if message["type"] == HUNG_UP:
                    raise HungUp
                if not message.get("more_body", False):
                    return
                size += len(message.get("body", b""))
