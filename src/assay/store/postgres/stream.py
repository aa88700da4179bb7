"""The event stream in PostgreSQL: numbered by the sequencer, read on the readers' sessions."""

from collections.abc import Callable, Sequence

from assay.store.postgres.line import Lines, fetch
from assay.store.postgres.sequencer import Sequencer
from assay.store.stream import FRAMES_PRUNED_AT_ONCE, ROWS_PRUNED_AT_ONCE, Bounds, FrameRow

_PRUNE = "SELECT assay_prune_stream($1, $2, $3, $4)"


class PostgresStream:
    """Frames of all instances."""

    def __init__(
        self, url: str, readers: Lines, queries: dict[str, str], tell_others: Callable[[], None]
    ) -> None:
        self._readers = readers
        self._queries = queries
        self._tell_others = tell_others
        self._listener: Callable[[], None] | None = None
        self._newest = 0
        self.sequencer = Sequencer(url, self._given)

    async def page(self, after: int, most: int) -> Sequence[FrameRow]:
        """Frames after a number."""
        async with self._readers.session() as session:
            rows = await fetch(session, self._queries["stream_page"], after, most)
        return [FrameRow(*row) for row in rows]

    async def bounds(self) -> Bounds:
        """What there is to be read."""
        async with self._readers.session() as session:
            rows = await fetch(session, self._queries["stream_bounds"])
        return Bounds(*rows[0])

    async def number_all(self) -> None:
        """What was committed so far, here or elsewhere, has its numbers then."""
        await self.sequencer.number_all()

    async def prune(self, older_than: int, keep: int) -> int:
        """Forget some frames, the oldest first, in one call."""
        limits = (ROWS_PRUNED_AT_ONCE, FRAMES_PRUNED_AT_ONCE)
        async with self._readers.session() as session:
            return int(await session.fetchval(_PRUNE, older_than, keep, *limits))

    def on_news(self, listener: Callable[[], None] | None) -> None:
        """Call this when numbers were given, here or elsewhere."""
        self._listener = listener
        self.sequencer.hear(heard=listener is not None)

    def heard(self) -> None:
        """Others have given numbers, or may have."""
        if self._listener is not None:
            self._listener()

    def swept(self, newest: int, *, waiting: bool) -> None:
        """What the sweep saw: the last number given, and whether anything waits for one."""
        if newest != self._newest:
            self._newest = newest
            self.heard()
        if waiting:
            self.sequencer.wake()

    def _given(self) -> None:
        self.heard()
        self._tell_others()
