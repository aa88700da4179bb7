"""Numbers the frames that commits have left on their batch rows: soon after, never on their way.

Every instance does so for whatever waits, its own or others', so that nothing waits for one that is
gone. One pass is one call (`assay_number` in the migrations), which the database carries through by
itself: an instance that is frozen or cut in the middle holds nothing up and numbers nothing twice.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from assay.errors import StoreFault
from assay.store.postgres.limits import (
    LAST_WORDS_SECS,
    NUMBER_ALL_SECS,
    NUMBER_EVERY_SECS,
    NUMBER_UNHEARD_EVERY_SECS,
    NUMBERED_AT_ONCE,
    TAKEN_SECS,
    TAKEN_WAITED_SECS,
)
from assay.store.postgres.line import BY_INDEX, Line

NUMBER = "SELECT newest, given, taken FROM assay_number($1)"
log = logging.getLogger("assay.store")


class Sequencer:
    """One instance's passes, on a session of their own: each waits for the disk."""

    def __init__(self, url: str, on_given: Callable[[], None]) -> None:
        self._line = Line(url, BY_INDEX)
        self._on_given = on_given
        self._is_heard = False
        self._wanted = False
        self._waiting: list[asyncio.Future[None]] = []
        self._urgent = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Something waits."""
        self._wanted = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def hear(self, *, heard: bool) -> None:
        """Somebody listens to the stream here from now on, or nobody does."""
        self._is_heard = heard
        if heard:
            self._urgent.set()

    async def number_all(self) -> None:
        """Until a pass that began after this call is over; not for ever."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._urgent.set()
        self.wake()
        await asyncio.wait([waiter], timeout=NUMBER_ALL_SECS)

    async def close(self) -> None:
        """Finish what is under way, if that is quickly done; what is left others number."""
        self._closing = True
        self._urgent.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=LAST_WORDS_SECS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._line.close()

    async def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            self._urgent.clear()
            waiting, self._waiting = self._waiting, []
            try:
                done = await self._pass()
            except StoreFault as fault:
                log.info("the stream is numbered later: %s", fault)
                _release(waiting)
                return
            if done:
                _release(waiting)
                await self._rest(NUMBER_EVERY_SECS if self._is_heard else NUMBER_UNHEARD_EVERY_SECS)
            elif not self._closing:
                self._wanted = True
                self._waiting = waiting + self._waiting
                await self._rest(TAKEN_WAITED_SECS if waiting else TAKEN_SECS)

    async def _rest(self, secs: float) -> None:
        """Until it is time for the next pass, or somebody waits for it."""
        if not self._closing:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(secs):
                    await self._urgent.wait()

    async def _pass(self) -> bool:
        """Number what waits; False: another session is at it, and may not see all of it."""
        async with self._line.session() as session:
            while True:
                row = await session.fetchrow(NUMBER, NUMBERED_AT_ONCE)
                if row is None or row["newest"] is None:
                    return False
                if row["given"]:
                    self._on_given()
                if row["taken"] < NUMBERED_AT_ONCE:
                    return True


def _release(waiting: list[asyncio.Future[None]]) -> None:
    for waiter in waiting:
        if not waiter.done():
            waiter.set_result(None)
