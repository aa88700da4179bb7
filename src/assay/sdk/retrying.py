"""Which requests are sent again, and when.

A request that never went out may always be repeated, and so may one that met an engine which is
starting or stopping: that has done nothing (503). One whose answer was lost, or that met a
failing engine, is repeated only if doing it twice is the same as doing it once: if it reads, or if
the caller says so. What ran out of time is never repeated, for it has had all the time there was.
"""

import asyncio
import random
from collections.abc import Callable

from assay.sdk.faults import EngineUnreachable, NotAnswered
from assay.sdk.transport import ANSWER_SECS, Reply, Transport

PATIENCE_SECS = 5.0  # long enough for an engine to be started anew
FIRST_PAUSE_SECS = 0.05
LONGEST_PAUSE_SECS = 1.0
NOT_NOW = 503
FAILING = frozenset({500, 502, NOT_NOW, 504})


class Retrying:
    """A transport whose requests survive a short absence of the engine."""

    def __init__(
        self,
        transport: Transport,
        *,
        patience_secs: float = PATIENCE_SECS,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Be patient for so long after the first failure; `chance` spreads the pauses."""
        self.transport = transport
        self._patience_secs = patience_secs
        self._chance = chance

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        secs: float = ANSWER_SECS,
        repeatable: bool = False,
    ) -> Reply:
        """One answer, after as many requests as it takes and is allowed."""
        repeatable = repeatable or method == "GET"
        patience = Patience(self._patience_secs, self._chance)
        while True:
            try:
                reply = await self.transport.request(method, path, body, secs=secs)
            except EngineUnreachable as fault:
                if fault.sent and not repeatable:
                    raise
                # A kept connection that ended says nothing about the engine: ask on a new one.
                if not await patience.pause(at_once=isinstance(fault, NotAnswered)):
                    raise
            else:
                again = reply.status == NOT_NOW or (repeatable and reply.status in FAILING)
                if not again or not await patience.pause():
                    return reply


class Patience:
    """The pauses after failures: each about twice as long as the last, until it is over."""

    __slots__ = ("_chance", "_ends_at", "_next_secs", "_secs")

    def __init__(self, secs: float, chance: Callable[[], float]) -> None:
        self._secs = secs
        self._chance = chance
        self._next_secs = FIRST_PAUSE_SECS
        self._ends_at: float | None = None  # it begins with the first failure

    async def pause(self, *, at_once: bool = False) -> bool:
        """Wait for the next try; False, without waiting, if there is to be none."""
        now = asyncio.get_running_loop().time()
        if self._ends_at is None:
            self._ends_at = now + self._secs
        secs = 0.0
        if not at_once:
            secs = self._next_secs * (0.5 + self._chance() / 2)
            self._next_secs = min(self._next_secs * 2, LONGEST_PAUSE_SECS)
        if now + secs > self._ends_at:
            return False
        await asyncio.sleep(secs)
        return True
