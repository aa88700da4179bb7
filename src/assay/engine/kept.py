"""Runs with news, by the worker that keeps them alive: what only that worker may have for a while.

Only workers that exchange with this instance are watched; of the others the windows know from when
on anybody may have a run.
"""

Runs = dict[int, int]


class Kept:
    """Hints like those of the windows; the rows decide. Of each run, since when it has news."""

    def __init__(self) -> None:
        self._waiting: dict[str, Runs] = {}
        self._held: dict[str, Runs] = {}
        self._places: dict[int, Runs] = {}

    def watch(self, worker_id: str) -> None:
        """A worker exchanges here from now on."""
        self._waiting.setdefault(worker_id, {})
        self._held.setdefault(worker_id, {})

    def unwatch(self, worker_id: str) -> None:
        """It does not come any more."""
        for by_worker in (self._waiting, self._held):
            for no in by_worker.pop(worker_id, ()):
                del self._places[no]

    def is_watched(self, worker_id: str) -> bool:
        """Whether its runs are told apart here."""
        return worker_id in self._waiting

    def note(self, no: int, keeper: str | None, at: int | None, *, held: bool = False) -> None:
        """A run is kept by that worker and has news from that moment on; or neither."""
        before = self._places.pop(no, None)
        if before is not None:
            del before[no]
        if keeper is not None and at is not None and keeper in self._waiting:
            place = (self._held if held else self._waiting)[keeper]
            place[no] = at
            self._places[no] = place

    def of(self, worker_id: str) -> Runs:
        """Those that wait for room: its claim is over."""
        return self._waiting.get(worker_id, {})

    def held_by(self, worker_id: str) -> Runs:
        """Those whose claim it holds on."""
        return self._held.get(worker_id, {})

    def forget(self) -> None:
        """Everything is unknown; who is watched still is."""
        self._places.clear()
        for runs in (*self._waiting.values(), *self._held.values()):
            runs.clear()
