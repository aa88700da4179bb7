"""Who waits for the end of which run (contract §5.20).

Ends are told by commits of this instance, by hints of others, and found by the sweep. A reader that
is about to see a run open might miss an end in between: so it listens while it reads. From there it
must go over to waiting without a turn of the loop in between.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator


class Endings:
    """Waiting callers by the number of their run."""

    def __init__(self) -> None:
        self._waiting: dict[int, dict[asyncio.Future[None], None]] = {}
        self._heard: dict[int, set[int]] = {}
        self.closed = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[set[int]]:
        """The numbers of runs that end meanwhile."""
        heard: set[int] = set()
        self._heard[id(heard)] = heard
        try:
            yield heard
        finally:
            del self._heard[id(heard)]

    async def wait(self, no: int, secs: float) -> None:
        """Until that run has ended, as far as anybody knows, or the time is up."""
        if self.closed:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(no, {})[future] = None
        try:
            async with asyncio.timeout(secs):
                await future
        except TimeoutError:
            pass
        finally:
            self._leave(no, future)

    def tell(self, nos: Iterable[int]) -> None:
        """These runs have ended, or may have."""
        for no in nos:
            for heard in self._heard.values():
                heard.add(no)
            for future in self._waiting.pop(no, ()):
                if not future.done():
                    future.set_result(None)

    def awaited(self) -> list[int]:
        """The runs somebody waits for."""
        return list(self._waiting)

    def close(self) -> None:
        """The engine stops: nobody waits any longer."""
        self.closed = True
        self.tell(self.awaited())

    def _leave(self, no: int, future: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(no, {})
        waiting.pop(future, None)
        if not waiting:
            self._waiting.pop(no, None)
