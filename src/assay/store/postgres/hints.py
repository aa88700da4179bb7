"""Instances tell each other where tasks became ready, by NOTIFY after COMMIT.

Channel `assay`; the payload is a JSON array of [kind, namespace or null, queue], or `look` when
that would be too long. Hints may be lost: then a sweep finds the tasks a second later.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from assay.errors import StoreFault
from assay.store.port import Look
from assay.store.postgres.limits import HINT_BYTES, HINT_EVERY_SECS, LAST_WORDS_SECS
from assay.store.postgres.line import Line, Session

CHANNEL = "assay"
ANYWHERE = "look"
NOTIFY = "SELECT pg_notify($1, $2)"

_looks = msgspec.json.Decoder(list[Look])
Listener = Callable[[list[Look] | None], None]


class Hints:
    """What is to be told, and who listens here."""

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self._waiting: dict[Look, None] = {}
        self._sender: asyncio.Task[None] | None = None
        self._own_pid = 0

    # -- hearing ---------------------------------------------------------------------------------

    async def listen(self, session: Session) -> None:
        """Hear what others tell, on this new session; what was told meanwhile is lost."""
        await session.add_listener(CHANNEL, self._hear)
        again, self._own_pid = self._own_pid != 0, session.get_server_pid()
        if again:
            self.tell_listener(None)

    def tell_listener(self, looks: list[Look] | None) -> None:
        """Others made tasks ready there (None: anywhere)."""
        if self.listener is not None:
            self.listener(looks)

    def _hear(self, _session: Any, pid: int, _channel: str, payload: Any) -> None:
        if pid != self._own_pid:
            self.tell_listener(read_hint(payload))

    # -- telling ---------------------------------------------------------------------------------

    def add(self, line: Line, looks: Iterable[Look]) -> None:
        """Tell the others, at once or together with what else comes up in these milliseconds."""
        self._waiting.update(dict.fromkeys(looks))
        if self._waiting and (self._sender is None or self._sender.done()):
            self._sender = asyncio.get_running_loop().create_task(self._send(line))

    async def _send(self, line: Line) -> None:
        while self._waiting:
            looks, self._waiting = list(self._waiting), {}
            try:
                async with line.session() as session:
                    await session.execute(NOTIFY, CHANNEL, write_hint(looks))
            except StoreFault:
                return
            await asyncio.sleep(HINT_EVERY_SECS)

    async def close(self) -> None:
        """Tell what there is to tell, if that is quickly done, and be silent."""
        self.listener = None
        if self._sender is not None:
            await asyncio.wait([self._sender], timeout=LAST_WORDS_SECS)
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)


def write_hint(looks: list[Look]) -> str:
    """Queues as they are told."""
    text = msgspec.json.encode(looks)
    return text.decode() if len(text) <= HINT_BYTES else ANYWHERE


def read_hint(text: str) -> list[Look] | None:
    """Queues as they were told; what cannot be read may mean anything."""
    try:
        return _looks.decode(text)
    except msgspec.DecodeError:
        return None
