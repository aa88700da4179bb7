"""An answer without an end: pieces that are written as they come, while the client takes them."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from assay.engine.stream import Behind
from assay.server.asgi import Send
from assay.server.body import HungUp
from assay.server.call import Call

# What is written at once; what the client has not taken yet is at most about twice as much.
PIECE_BYTES = 64 * 1024

# A client that takes nothing for so long is gone, or as good as gone.
STALLED_SECS = 20.0

# How long a stop waits for the last bytes to be taken.
PARTING_SECS = 0.5


class Stalled(Exception):
    """The client takes nothing."""


class Pieces:
    """Writes the pieces. Who hangs up ends it, as does a stop; who is too slow is cut off."""

    def __init__(self, call: Call, pieces: AsyncGenerator[bytes, None]) -> None:
        self._call = call
        self._pieces = pieces

    async def write(self, send: Send) -> None:
        """All pieces, after the head."""
        call = self._call
        try:
            if not call.door.stopping:
                await call.hold(partial(self._write_on, send))
            async with asyncio.timeout(PARTING_SECS):
                await send({"type": "http.response.body", "body": b""})
        except HungUp:
            pass
        except (Behind, Stalled, TimeoutError):
            call.cut()
        finally:
            await self._pieces.aclose()

    async def _write_on(self, send: Send) -> None:
        async for text in self._pieces:
            for start in range(0, len(text), PIECE_BYTES):
                await _write(send, text[start : start + PIECE_BYTES])


async def _write(send: Send, piece: bytes) -> None:
    try:
        async with asyncio.timeout(STALLED_SECS):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except TimeoutError:
        raise Stalled from None
