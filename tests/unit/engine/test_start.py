"""A start that fails, or is given up, leaves the database to others."""

import asyncio
from pathlib import Path

import pytest

from assay.core.decide import Rules
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.errors import StoreUnavailable
from assay.store.sqlite.store import SqliteStore

RULES = Rules(lease=1)


class Failing(SqliteStore):
    """Goes away right after it was opened."""

    async def clock_floor(self) -> int:
        raise StoreUnavailable


class Hanging(SqliteStore):
    """Does not answer right after it was opened."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.asked = asyncio.Event()

    async def clock_floor(self) -> int:
        self.asked.set()
        await asyncio.get_running_loop().create_future()
        return 0


def test_a_start_that_fails_gives_the_store_up(tmp_path: Path) -> None:
    path = str(tmp_path / "assay.db")

    async def story() -> None:
        runner = Runner(Failing(path), wall_clock, RULES)
        with pytest.raises(StoreUnavailable):
            await runner.start()
        assert not runner.ready
        await starts(path)

    asyncio.run(story())


def test_a_start_that_is_given_up_gives_the_store_up(tmp_path: Path) -> None:
    path = str(tmp_path / "assay.db")

    async def story() -> None:
        store = Hanging(path)
        starting = asyncio.create_task(Runner(store, wall_clock, RULES).start())
        await store.asked.wait()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await starts(path)

    asyncio.run(story())


async def starts(path: str) -> None:
    runner = Runner(SqliteStore(path), wall_clock, RULES)
    await runner.start()
    assert runner.ready
    await runner.stop()
