"""The event stream in SQLite: numbered in the commit itself, for there is one writer."""

from collections.abc import Callable, Sequence

import apsw

from assay.errors import StoreUnavailable
from assay.store.rows import Row
from assay.store.stream import FRAMES_PRUNED_AT_ONCE, ROWS_PRUNED_AT_ONCE, Bounds, FrameRow

# The next numbers follow the last row's, or what was pruned when there is no row left.
FRAMES_INSERT = (
    "INSERT INTO stream (last, size, at, frames) VALUES (coalesce((SELECT max(last) FROM stream),"
    " (SELECT value FROM meta WHERE name = 'stream_pruned')) + ?1, ?1, ?2, ?3)"
)
_PRUNABLE = """
SELECT max(last) FROM (SELECT last, size, at FROM stream ORDER BY last LIMIT ?3)
WHERE (at < ?1 OR last - size < (SELECT max(last) FROM stream) - ?2) AND last - size <= ?4 + ?5
"""
_PRUNE = "DELETE FROM stream WHERE last <= ?1"
_PRUNED = "UPDATE meta SET value = ?1 WHERE name = 'stream_pruned'"


class SqliteStream:
    """Frames over the store's one connection."""

    def __init__(self, connection: apsw.Connection, queries: dict[str, str]) -> None:
        self._connection = connection
        self._queries = queries
        self._listener: Callable[[], None] | None = None

    async def page(self, after: int, most: int) -> Sequence[FrameRow]:
        """Frames after a number."""
        return [FrameRow(*row) for row in self._rows("stream_page", after, most)]

    async def bounds(self) -> Bounds:
        """What there is to be read."""
        return Bounds(*self._rows("stream_bounds")[0])

    async def number_all(self) -> None:
        """Every commit brings its numbers along."""

    async def prune(self, older_than: int, keep: int) -> int:
        """Forget some frames, the oldest first, in a transaction of its own."""
        pruned = (await self.bounds()).pruned
        limits = (older_than, keep, ROWS_PRUNED_AT_ONCE, pruned, FRAMES_PRUNED_AT_ONCE)
        run = self._connection.execute
        try:
            found: Sequence[Row] = run(_PRUNABLE, limits).fetchall()
            bound: int | None = found[0][0]
            if bound is None:
                return 0
            with self._connection:
                run(_PRUNE, (bound,))
                run(_PRUNED, (bound,))
        except apsw.Error as error:
            raise StoreUnavailable(f"the stream cannot be pruned: {error}") from error
        return bound - pruned

    def on_news(self, listener: Callable[[], None] | None) -> None:
        """Call this after every commit that added to the stream."""
        self._listener = listener

    def tell(self) -> None:
        """A commit added to it."""
        if self._listener is not None:
            self._listener()

    def _rows(self, name: str, *parameters: int) -> Sequence[Row]:
        try:
            return self._connection.execute(self._queries[name], parameters).fetchall()
        except apsw.Error as error:
            raise StoreUnavailable(f"the stream cannot be read: {error}") from error
