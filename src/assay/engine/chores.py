"""Work that comes round: a pass at the start, and one whenever it is due again.

Whoever moves a chore's row on does it. Passes that meet do no harm: each does what there is to do.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from assay.engine.limits import CHORE_RETRY
from assay.errors import StoreFault
from assay.model.time import MICROS
from assay.store.port import Store

log = logging.getLogger("assay.engine")


class Routine(NamedTuple):
    """What is done, how long after it is due again, and what it does at a time: how much it was."""

    name: str
    every: int
    work: Callable[[int], Awaitable[int]]


async def do_for_ever(routine: Routine, store: Store, clock: Callable[[], int]) -> None:
    """Passes for as long as the engine runs."""
    first = True
    while True:
        now = clock()
        try:
            taken, due_at = await store.take_chore(routine.name, now, now + routine.every)
            if taken or first:
                await routine.work(now)
                first = False
        except StoreFault as fault:
            log.warning("%s is done later: %s", routine.name, fault)
            due_at = now + CHORE_RETRY
        await asyncio.sleep(max(due_at - clock(), 0) / MICROS)
