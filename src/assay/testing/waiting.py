"""Somebody waits for time to be skipped, and hears of it if that cannot be."""

import asyncio
from types import TracebackType
from typing import Self


class Wait:
    """One who waits. `forced`: time goes on under what is in hand.

    `counts`: time is skipped for it; what the test has planned waits along with the test itself.
    """

    __slots__ = ("_cancelling", "_fault", "_task", "counts", "forced")

    def __init__(self, *, forced: bool, counts: bool) -> None:
        self.forced = forced
        self.counts = counts
        self._fault: BaseException | None = None
        self._task: asyncio.Task[object]
        self._cancelling = 0

    def fail(self, fault: BaseException) -> None:
        """It waits in vain: this is raised where it waits."""
        if self._fault is None:
            self._fault = fault
            self._task.cancel()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "time can be waited for in a coroutine only"
        self._task = task
        self._cancelling = task.cancelling()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._fault is None:
            return
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise self._fault from None
