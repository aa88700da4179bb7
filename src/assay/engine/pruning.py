"""The event stream forgets: what is too old, and the oldest of what is too much (contract §14).

A pass at the start, and one whenever the chore comes round: whoever moves its row does it. Passes
that meet do no harm, for each step takes the oldest rows that are there.
"""

import asyncio
import logging
from collections.abc import Callable

from assay.engine.limits import PRUNE_EVERY, PRUNE_PAUSE_SECS, PRUNE_RETRY, STREAM_KEPT, STREAM_MOST
from assay.errors import StoreFault
from assay.model.time import MICROS
from assay.store.port import Store

CHORE = "prune_stream"
log = logging.getLogger("assay.engine")


async def prune_stream(store: Store, now: int) -> int:
    """One pass at that time, in steps between which commits have their turn; how many went."""
    total = 0
    while went := await store.stream.prune(now - STREAM_KEPT, STREAM_MOST):
        total += went
        await asyncio.sleep(PRUNE_PAUSE_SECS)
    return total


async def prune_for_ever(store: Store, clock: Callable[[], int]) -> None:
    """Passes for as long as the engine runs."""
    first = True
    while True:
        now = clock()
        try:
            taken, due_at = await store.take_chore(CHORE, now, now + PRUNE_EVERY)
            if taken or first:
                await prune_stream(store, now)
                first = False
        except StoreFault as fault:
            log.warning("the event stream is pruned later: %s", fault)
            due_at = now + PRUNE_RETRY
        await asyncio.sleep(max(due_at - clock(), 0) / MICROS)
