"""When rows are due: one heap over the deadlines this instance is to look after.

Entries of the heap are never removed in place: `at` says which still stand, and the heap is rebuilt
once most of it is stale.
"""

import heapq
from collections.abc import Iterable, Iterator

from assay.model.operations import DueKind

Row = tuple[DueKind, int]


class Deadlines:
    """Moments, earliest first."""

    def __init__(self) -> None:
        self.at: dict[Row, int] = {}
        self._heap: list[tuple[int, DueKind, int]] = []

    def set(self, kind: DueKind, no: int, at: int | None) -> None:
        """The row's next deadline, or that it has none."""
        row = (kind, no)
        if at is None:
            self.at.pop(row, None)
            return
        if self.at.get(row) == at:
            return
        self.at[row] = at
        heapq.heappush(self._heap, (at, kind, no))
        if len(self._heap) > 2 * len(self.at) + 1000:
            self._heap = [(at, kind, no) for (kind, no), at in self.at.items()]
            heapq.heapify(self._heap)

    def take_due(self, now: int, limit: int) -> list[Row]:
        """Rows whose moment has come; they are forgotten here until somebody sets them again."""
        due: list[Row] = []
        for at, kind, no in self._standing():
            if at > now or len(due) == limit:
                break
            heapq.heappop(self._heap)
            del self.at[(kind, no)]
            due.append((kind, no))
        return due

    def next_at(self) -> int | None:
        """The earliest moment."""
        return next((at for at, _, _ in self._standing()), None)

    def clear(self) -> None:
        """Forget everything."""
        self.at.clear()
        self._heap.clear()

    def rows(self) -> Iterable[tuple[Row, int]]:
        """All that stands, for comparison with the store."""
        return self.at.items()

    def _standing(self) -> Iterator[tuple[int, DueKind, int]]:
        heap = self._heap
        while heap:
            at, kind, no = heap[0]
            if self.at.get((kind, no)) == at:
                yield heap[0]
            else:
                heapq.heappop(heap)
