"""The session on which batches are loaded and written, one batch at a time."""

import asyncio
import logging
from collections.abc import Sequence

import asyncpg

from assay.core.view import Key
from assay.errors import StoreFault, StoreUnavailable
from assay.store.port import Batch, CommitOutcome, Committed, Failed, Loaded, Refused, Unknown
from assay.store.postgres.commit import statement_of
from assay.store.postgres.faults import DRIVER_ERRORS, commit_outcome, said
from assay.store.postgres.limits import DEADLOCKS, FROZEN_MS, LOCK_SECS
from assay.store.postgres.line import BY_INDEX, Line, Session, fetch
from assay.store.postgres.loading import Loading
from assay.store.rows import Row

log = logging.getLogger("assay.store")

SETTINGS = f"{BY_INDEX} SET idle_in_transaction_session_timeout = {FROZEN_MS}"


class Committer:
    """Loads and commits; between a locking load and its commit a transaction stays open."""

    def __init__(self, url: str, queries: dict[str, str]) -> None:
        self._line = Line(url, SETTINGS)
        self._loading = Loading(queries)
        self._holding = False
        self._timer: asyncio.TimerHandle | None = None
        self._releasing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect now, so that the first batch need not."""
        async with self._line.session():
            pass

    async def close(self) -> None:
        """End the session."""
        self._stop_timer()
        if self._releasing is not None:
            await self._releasing
        await self._line.close()

    async def rows(self, query: str, *parameters: object) -> Sequence[Row]:
        """All rows of a query, as they are now."""
        async with self._line.session() as session:
            return await fetch(session, query, *parameters)

    # -- load ------------------------------------------------------------------------------------

    async def load(self, keys: Sequence[Key], *, lock: bool) -> Loaded:
        """Rows by key; `lock` keeps their runs locked until the commit."""
        async with self._line.session() as session:
            if not lock:
                await self._end_lock(session)
                return await self._loading.load(session, keys)
            for _ in range(DEADLOCKS):
                try:
                    return await self._load_locked(session, keys)
                except asyncpg.DeadlockDetectedError:
                    await self._end_lock(session)
            return await self._load_locked(session, keys)

    async def _load_locked(self, session: Session, keys: Sequence[Key]) -> Loaded:
        self._stop_timer()
        if not session.is_in_transaction():
            await session.execute("BEGIN")
        self._holding = True
        loaded = await self._loading.load_locked(session, keys)
        self._timer = asyncio.get_running_loop().call_later(LOCK_SECS, self._let_go)
        return loaded

    async def _end_lock(self, session: Session) -> None:
        self._forget_lock()
        if session.is_in_transaction():
            await session.execute("ROLLBACK")

    def _let_go(self) -> None:
        """Nothing came of the batch whose rows were locked."""
        if self._holding:
            self._releasing = asyncio.get_running_loop().create_task(self._release())

    async def _release(self) -> None:
        try:
            async with self._line.session() as session:
                if self._holding:
                    await self._end_lock(session)
        except StoreFault as fault:
            log.info("a session that held locks is gone: %s", fault)

    def _forget_lock(self) -> None:
        self._holding = False
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- commit ----------------------------------------------------------------------------------

    async def commit(self, batch: Batch) -> CommitOutcome:
        """All of a batch in one statement: a transaction by itself, unless rows are locked."""
        try:
            statement, arguments = statement_of(batch)
        except (UnicodeEncodeError, OverflowError, TypeError) as error:
            return Refused(said(error))
        try:
            async with self._line.session() as session:
                return await self._commit(session, statement, arguments)
        except StoreUnavailable as fault:
            return Failed(str(fault))

    async def _commit(
        self, session: Session, statement: str, arguments: Sequence[object]
    ) -> CommitOutcome:
        locked = session.is_in_transaction()
        self._forget_lock()
        try:
            await session.execute(statement, *arguments)
        except DRIVER_ERRORS as error:
            outcome = commit_outcome(error, connection_lost=session.is_closed())
            return await self._after_failure(session, outcome, locked=locked)
        return await self._commit_locked(session) if locked else Committed()

    async def _commit_locked(self, session: Session) -> CommitOutcome:
        try:
            await session.execute("COMMIT")
        except DRIVER_ERRORS as error:
            self._line.drop()
            return Unknown(said(error))
        return Committed()

    async def _after_failure(
        self, session: Session, outcome: CommitOutcome, *, locked: bool
    ) -> CommitOutcome:
        if isinstance(outcome, Unknown):
            self._line.drop()
            # A transaction whose COMMIT was never sent cannot have been committed.
            return Failed(outcome.error) if locked else outcome
        if locked:
            try:
                await session.execute("ROLLBACK")
            except DRIVER_ERRORS:
                self._line.drop()
        return outcome
