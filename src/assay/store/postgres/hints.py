"""Instances tell each other where tasks became ready, by NOTIFY after COMMIT.

Channel `assay`; the payload is a JSON array of [kind, namespace or null, queue], of numbers of runs
that have ended, of objects that say when a claim is over, and of `stream` when the event stream
goes on, or `look` when that would be too long. Hints may be lost: then a sweep finds the tasks, the
ends and the events a second later, and claims once their instance counts as gone.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from assay.errors import StoreFault
from assay.store.port import Deadline, Look
from assay.store.postgres.limits import HINT_BYTES, HINT_EVERY_SECS, LAST_WORDS_SECS
from assay.store.postgres.line import Line, Session

CHANNEL = "assay"
ANYWHERE = "look"
STREAM = "stream"
NOTIFY = "SELECT pg_notify($1, $2)"

News = Look | int | str | Deadline
_news = msgspec.json.Decoder(list[News])
Listener = Callable[[list[Look] | None], None]
EndListener = Callable[[list[int]], None]
SoonListener = Callable[[list[Deadline]], None]


class Hints:
    """What is to be told, and who listens here."""

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self.end_listener: EndListener | None = None
        self.soon_listener: SoonListener | None = None
        self.stream_listener: Callable[[], None] = lambda: None
        self._waiting: dict[News, None] = {}
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
            self._tell(read_hint(payload))

    def _tell(self, news: list[News] | None) -> None:
        if news is None:
            self.tell_listener(None)
            self.stream_listener()
            return
        if STREAM in news:
            self.stream_listener()
        looks = [item for item in news if isinstance(item, Look)]
        ended = [item for item in news if isinstance(item, int)]
        soon = [item for item in news if isinstance(item, Deadline)]
        if soon and self.soon_listener is not None:
            self.soon_listener(soon)
        if looks:
            self.tell_listener(looks)
        if ended and self.end_listener is not None:
            self.end_listener(ended)

    # -- telling ---------------------------------------------------------------------------------

    def add(self, line: Line, news: Iterable[News]) -> None:
        """Tell the others, at once or together with what else comes up in these milliseconds."""
        self._waiting.update(dict.fromkeys(news))
        if self._waiting and (self._sender is None or self._sender.done()):
            self._sender = asyncio.get_running_loop().create_task(self._send(line))

    async def _send(self, line: Line) -> None:
        while self._waiting:
            news, self._waiting = list(self._waiting), {}
            try:
                async with line.session() as session:
                    await session.execute(NOTIFY, CHANNEL, write_hint(news))
            except StoreFault:
                return
            await asyncio.sleep(HINT_EVERY_SECS)

    async def close(self) -> None:
        """Tell what there is to tell, if that is quickly done, and be silent."""
        self.listener = self.end_listener = self.soon_listener = None
        if self._sender is not None:
            await asyncio.wait([self._sender], timeout=LAST_WORDS_SECS)
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)


def write_hint(news: Sequence[News]) -> str:
    """Queues and ended runs as they are told."""
    text = msgspec.json.encode(news)
    return text.decode() if len(text) <= HINT_BYTES else ANYWHERE


def read_hint(text: str) -> list[News] | None:
    """News as they were told; what cannot be read may mean anything."""
    try:
        return _news.decode(text)
    except msgspec.DecodeError:
        return None
