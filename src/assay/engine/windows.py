"""Ready tasks this instance knows of: a window on each queue somebody wants tasks from.

A window holds the longest-ready tasks of its queue, as hints. While it is `whole` it knows every
ready task of the queue; otherwise the store is looked at before anybody is told there is nothing.
A window of a shared store is whole only for a while: others write too.
"""

import heapq
from collections.abc import Collection

from assay.core.claim import KEPT_FOR
from assay.engine.limits import WINDOW_TASKS, WINDOWS_KEPT
from assay.store.port import Look, Ready


class Window:
    """The longest-ready tasks of one queue; what comes after `_tail` is left in the store."""

    def __init__(self) -> None:
        self.tasks: dict[int, int] = {}
        self.whole = False
        self.looked_at = 0
        self._tail: int | None = None
        self._heap: list[tuple[int, int]] = []

    def add(self, no: int, ready_at: int) -> None:
        """A task is ready (from then on)."""
        if self._tail is None or ready_at <= self._tail:
            self.put_back(no, ready_at)

    def put_back(self, no: int, ready_at: int) -> None:
        """A task that was known here still is."""
        if self.tasks.get(no) == ready_at:
            return
        self.tasks[no] = ready_at
        heapq.heappush(self._heap, (ready_at, no))
        if len(self.tasks) > 2 * WINDOW_TASKS:
            self._narrow()
        elif len(self._heap) > 2 * len(self.tasks) + 100:
            self._rebuild()

    def remove(self, no: int) -> None:
        """A task is no longer ready."""
        self.tasks.pop(no, None)

    def take(self, now: int) -> int | None:
        """The task that has been ready longest; it is forgotten here."""
        ready_at = self.next_at()
        if ready_at is None or ready_at > now:
            return None
        no = heapq.heappop(self._heap)[1]
        del self.tasks[no]
        return no

    def next_at(self) -> int | None:
        """From when on there is something to take."""
        heap = self._heap
        while heap:
            ready_at, no = heap[0]
            if self.tasks.get(no) == ready_at:
                return ready_at
            heapq.heappop(heap)
        return None

    def knows(self, now: int) -> bool:
        """Whether all that is ready by now is here, or the earliest of what will be."""
        if self.whole:
            return True
        return self._tail is not None and self._tail > now and self.next_at() is not None

    def load(self, found: list[Ready], limit: int, now: int) -> None:
        """What the store holds: everything, if of either sort it is less than was asked for."""
        self._tail = None
        kept: list[Ready] = []
        anybodys: list[Ready] = []
        for task in found:
            (anybodys if task.keeper is None else kept).append(task)
            if not task.held:
                self.add(task.no, task.ready_at + (KEPT_FOR if task.keeper is not None else 0))
        tails = [tasks[-1].ready_at for tasks in (kept, anybodys) if len(tasks) >= limit]
        self._tail = min(tails, default=None)
        self.whole = not tails
        self.looked_at = now

    def doubt(self) -> None:
        """Others may have added tasks: look before anybody is told there is nothing."""
        self.whole = False
        self.looked_at = 0

    def _narrow(self) -> None:
        kept = heapq.nsmallest(WINDOW_TASKS, ((at, no) for no, at in self.tasks.items()))
        self.tasks = {no: at for at, no in kept}
        self.whole = False
        self._tail = kept[-1][0]
        self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(at, no) for no, at in self.tasks.items()]
        heapq.heapify(self._heap)


class Windows:
    """All windows, by what they look at."""

    def __init__(self) -> None:
        self.by_look: dict[Look, Window] = {}

    def of(self, look: Look) -> Window:
        """The window on a queue, opened when somebody first wants something there."""
        window = self.by_look.get(look)
        if window is None:
            window = self.by_look[look] = Window()
        return window

    def shrink(self, wanted: Collection[Look]) -> None:
        """Too many queues are remembered: those stay that somebody waits on."""
        if len(self.by_look) > WINDOWS_KEPT:
            self.by_look = {look: self.by_look[look] for look in wanted if look in self.by_look}

    def doubt(self) -> None:
        """Others may have added tasks anywhere."""
        for window in self.by_look.values():
            window.doubt()

    def clear(self) -> None:
        """Forget everything; every window has to look again."""
        self.by_look.clear()
