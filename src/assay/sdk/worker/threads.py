"""Threads for plain functions, so many at once and no more; none of them holds up a program's end.

Those of `concurrent.futures` are waited for when the interpreter ends, however long their functions
take. These are daemons. Everything but the functions themselves happens on the loop: it knows which
thread is free, hands out what waits, and hears what came of it.
"""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Call = Callable[[], Any]
InThread = Callable[["Work"], "asyncio.Future[Any]"]


def allow(scope: asyncio.Timeout, secs: float) -> None:
    """So much time from now on."""
    scope.reschedule(asyncio.get_running_loop().time() + secs)


def _nothing() -> None: ...


class Work:
    """A function; `begins` is called when there is a thread for it, `ends` when that is free again.

    It has the context of whoever made this, as with `asyncio.to_thread`.
    """

    __slots__ = ("answer", "begins", "call", "context", "ends", "is_under_way")

    def __init__(
        self, call: Call, begins: Callable[[], None], ends: Callable[[], None] = _nothing
    ) -> None:
        self.call = call
        self.begins = begins
        self.ends = ends
        self.context = contextvars.copy_context()
        self.is_under_way = False
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def finish(self, value: Any, error: BaseException | None) -> None:
        """It is over; perhaps nobody waits for its answer any more."""
        self.is_under_way = False
        if not self.answer.done():
            if error is None:
                self.answer.set_result(value)
            else:
                self.answer.set_exception(error)
        self.ends()


class Threads:
    """Made and used on one loop; a thread is begun when none is free."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._begun = 0
        self._free: list[_Thread] = []
        self._waiting: deque[Work] = deque()
        self._is_closed = False

    def run(self, work: Work) -> "asyncio.Future[Any]":
        """What the function returns, or raises. What is given up before it begins never does."""
        if self._is_closed:
            work.answer.cancel()
        elif (thread := self._thread()) is None:
            self._waiting.append(work)
        else:
            thread.take(work)
        return work.answer

    def close(self) -> None:
        """Nothing waits any more; what runs is left to itself, and its thread ends with it."""
        self._is_closed = True
        for work in self._waiting:
            work.answer.cancel()
        self._waiting.clear()
        while self._free:
            self._free.pop().take(None)

    def _thread(self) -> "_Thread | None":
        if self._free:
            return self._free.pop()
        if self._begun == self._most:
            return None
        thread = _Thread(f"{self._name}-{self._begun}", self._done)
        self._begun += 1
        return thread

    def _done(self, thread: "_Thread", work: Work, value: Any, error: Any) -> None:
        work.finish(value, error)
        while self._waiting:
            following = self._waiting.popleft()
            if not following.answer.done():
                thread.take(following)
                return
        if self._is_closed:
            thread.take(None)
        else:
            self._free.append(thread)


Done = Callable[["_Thread", Work, Any, BaseException | None], None]


class _Thread:
    """One thread, which does what it is given, until that is None."""

    def __init__(self, name: str, done: Done) -> None:
        self._done = done
        self._loop = asyncio.get_running_loop()
        self._given: SimpleQueue[Work | None] = SimpleQueue()
        threading.Thread(target=self._live, name=name, daemon=True).start()

    def take(self, work: Work | None) -> None:
        """Begin it; called on the loop, which knows that this thread is free."""
        if work is not None:
            work.is_under_way = True
            work.begins()
        self._given.put(work)

    def _live(self) -> None:
        while (work := self._given.get()) is not None:
            value, error = _outcome(work)
            try:
                self._loop.call_soon_threadsafe(self._done, self, work, value, error)
            except RuntimeError:
                return  # the loop is closed, and nobody waits
            del work, value, error  # nothing is kept alive by a thread that waits


def _outcome(work: Work) -> tuple[Any, BaseException | None]:
    """What came of it. No future can hold a StopIteration, so it comes as something else."""
    try:
        return work.context.run(work.call), None
    except StopIteration as error:
        fault = RuntimeError("the function raised StopIteration")
        fault.__cause__ = error
        return None, fault
    except BaseException as error:  # noqa: BLE001 - whoever asked is told
        return None, error
