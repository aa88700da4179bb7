"""Where the suite keeps its rows: the same tests run on all of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from assay.store.port import Store
from assay.store.postgres.store import PostgresStore
from assay.store.sqlite.store import SqliteStore

Result = TypeVar("Result")
KINDS = ("sqlite-memory", "sqlite-file", "postgres")


class Place:
    """A database of a test's own, and stores on it: one at a time, or several if it is shared."""

    def __init__(self, kind: str, address: str) -> None:
        self.kind = kind
        self.address = address
        self.outlives_its_store = kind != "sqlite-memory"

    def store(self) -> Store:
        if self.kind == "postgres":
            return PostgresStore(self.address)
        return SqliteStore(self.address)

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Instance]:
        """A store that is open, with the number it got."""
        store = self.store()
        no = await store.open()
        try:
            yield Instance(store, no)
        finally:
            await store.close()


class Instance:
    """An open store, its number, and how many batches it has tried."""

    def __init__(self, store: Store, no: int) -> None:
        self.store = store
        self.no = no
        self.batches = 0


def run(work: Coroutine[Any, Any, Result], secs: float = 20) -> Result:
    """Run a test's work on a loop of its own, not for ever."""
    return asyncio.run(asyncio.wait_for(work, secs))


def sqlite_file(directory: Path) -> Place:
    return Place("sqlite-file", str(directory / "assay.db"))
