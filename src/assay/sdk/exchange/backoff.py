"""Pauses after failures: 1, 2, 4 … 30 seconds, from the beginning after the first success."""

import asyncio
import logging
import random

FIRST_SECS = 1.0
LONGEST_SECS = 30.0
HURRIED_SECS = 0.05  # the first try again of what somebody waits for
log = logging.getLogger("assay.sdk")


class Backoff:
    """Shared by all requests of a session: the engine is the same for all of them."""

    def __init__(self, first_secs: float = FIRST_SECS, longest_secs: float = LONGEST_SECS) -> None:
        self._first_secs = first_secs
        self._longest_secs = longest_secs
        self._failures = 0
        self._pausing: set[asyncio.Future[None]] = set()

    def reset(self) -> None:
        """It works again: nobody pauses any longer."""
        if self._failures:
            log.info("the engine answers again")
        self._failures = 0
        for pause in self._pausing:
            if not pause.done():
                pause.set_result(None)

    def next_secs(self) -> float:
        """The next pause."""
        secs = min(self._first_secs * 2.0 ** min(self._failures, 10), self._longest_secs)
        self._failures += 1
        return secs

    async def pause(self, fault: Exception, *, hurried: bool = False) -> None:
        """Say what went wrong, and wait."""
        first = self._failures == 0
        secs = self.next_secs()
        if hurried and first:
            secs = HURRIED_SECS
        log.warning("the engine did not answer, trying again in %.2g s: %s", secs, fault)
        secs *= 0.75 + random.random() / 2  # noqa: S311 - spreads what failed together
        pause: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pausing.add(pause)
        try:
            await asyncio.wait([pause], timeout=secs)
        finally:
            self._pausing.discard(pause)
