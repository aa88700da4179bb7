"""An engine in this process, put together as the server does it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assay.engine.clock import wall_clock
from assay.engine.limits import LEASE_SECS
from assay.engine.runner import Rules, Runner
from assay.model.time import micros
from assay.store.open import open_store


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Runner]:
    """Run an engine on a store until the block ends."""
    runner = Runner(open_store(url), wall_clock, Rules(lease=micros(LEASE_SECS)))
    await runner.start()
    try:
        yield runner
    finally:
        await runner.stop()
