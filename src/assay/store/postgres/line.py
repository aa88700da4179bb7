"""A session with the database that comes back by itself, and a few of them to share.

A lost connection is noticed by whoever uses it next; connecting is tried anew, at most once per
pause, and until it succeeds users are told at once that the database is gone.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import asyncpg

from assay.errors import StoreUnavailable
from assay.store.postgres.faults import DRIVER_ERRORS, said, store_faults
from assay.store.postgres.limits import (
    CONNECT_SECS,
    RETRY_LONGEST_SECS,
    RETRY_SECS,
    STATEMENT_SECS,
)
from assay.store.rows import Row

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# Guards are compared again after a wait for a lock, which is what READ COMMITTED means; a database
# may have another default. Compiling plans never pays for rows this few.
COMMON = (
    "SET default_transaction_isolation = 'read committed'; SET jit = off;"
    " SET client_min_messages = warning; "
)

# The planner takes a JSON parameter for a hundred rows and a new table for a small one, and keeps
# the plan. The rows a statement names here are always few, so what is right is always a plain walk
# down an index, in its order (tests/stores/test_plans.py).
BY_INDEX = (
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
    " SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
    " SET enable_material = off;"
    " SET max_parallel_workers_per_gather = 0;"
)


def place_of(url: str) -> str:
    """Where a URL points to, without its password."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2] or "localhost"
        return f"{host}{parts.path}"
    return "an unreadable address"


async def connect(url: str, settings: str = "") -> Session:
    """One new session, or StoreUnavailable."""
    try:
        session: Session = await asyncpg.connect(
            url,
            timeout=CONNECT_SECS,
            command_timeout=STATEMENT_SECS,
            statement_cache_size=500,
            max_cached_statement_lifetime=0,
            max_cacheable_statement_size=0,
        )
        # Not as start-up parameters: proxies refuse those they do not know.
        await session.execute(COMMON + settings)
    except (*DRIVER_ERRORS, ValueError) as error:
        raise StoreUnavailable(
            f"the database at {place_of(url)} cannot be reached: {said(error)}"
        ) from error
    return session


async def fetch(session: Session, query: str, *parameters: object) -> Sequence[Row]:
    """All rows of a query."""
    rows: Any = await session.fetch(query, *parameters)
    return rows  # type: ignore[no-any-return] # the driver's records are read by position


class Line:
    """One session for one user at a time."""

    def __init__(
        self,
        url: str,
        settings: str = "",
        on_connect: Callable[[Session], Awaitable[None]] | None = None,
    ) -> None:
        self.place = place_of(url)
        self._url = url
        self._settings = settings
        self._on_connect = on_connect
        self._session: Session | None = None
        self._lock = asyncio.Lock()
        self._pause = 0.0
        self._retry_at = 0.0
        self._closed = False

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """The session, for this user alone; errors of the driver leave as ours."""
        async with self._lock:
            session = await self._connected()
            with store_faults(self.place):
                try:
                    yield session
                except BaseException:
                    # Timed out, given up, or inside of a transaction that nobody will end.
                    self.drop()
                    raise

    async def _connected(self) -> Session:
        if self._session is not None and not self._session.is_closed():
            return self._session
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        if loop.time() < self._retry_at:
            raise StoreUnavailable(f"the database at {self.place} cannot be reached")
        try:
            self._session = session = await self._connect()
        except StoreUnavailable:
            self._pause = min(max(RETRY_SECS, 2 * self._pause), RETRY_LONGEST_SECS)
            self._retry_at = loop.time() + self._pause
            raise
        self._pause = 0.0
        return session

    async def _connect(self) -> Session:
        session = await connect(self._url, self._settings)
        if self._on_connect is not None:
            try:
                with store_faults(self.place):
                    await self._on_connect(session)
            except BaseException:
                session.terminate()
                raise
        return session

    def drop(self) -> None:
        """End the session at once; the next user gets a new one."""
        if self._session is not None:
            self._session.terminate()
            self._session = None

    async def close(self) -> None:
        """End for good."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None and not session.is_closed():
            try:
                await session.close(timeout=1)
            except DRIVER_ERRORS:
                session.terminate()


class Lines:
    """A few sessions, the last used first; who finds none free waits."""

    def __init__(self, url: str, count: int, settings: str = "") -> None:
        self._lines = [Line(url, settings) for _ in range(count)]
        self._free = list(self._lines)
        self._room = asyncio.Semaphore(count)

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A session for this user alone."""
        async with self._room:
            line = self._free.pop()
            try:
                async with line.session() as session:
                    yield session
            finally:
                self._free.append(line)

    async def close(self) -> None:
        """End them all."""
        for line in self._lines:
            await line.close()
