"""The event stream forgets: what is too old, and the oldest of what is too much (contract §14)."""

import asyncio

from assay.engine.limits import PRUNE_PAUSE_SECS, STREAM_KEPT, STREAM_MOST
from assay.store.port import Store


async def prune_stream(store: Store, now: int) -> int:
    """One pass at that time, in steps between which commits have their turn; how many went.

    Passes that meet do no harm, for each step takes the oldest rows that are there.
    """
    total = 0
    while went := await store.stream.prune(now - STREAM_KEPT, STREAM_MOST):
        total += went
        await asyncio.sleep(PRUNE_PAUSE_SECS)
    return total
