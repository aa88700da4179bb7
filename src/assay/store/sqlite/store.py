"""The store in SQLite: one connection, one writer, everything on the thread that calls.

WAL with `synchronous=FULL`: what was acknowledged survives a power cut. A commit takes some 0.1 ms
of waiting for the disk, which is less than handing it to another thread costs under load
(docs/decisions/0002).
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import apsw

from assay.core.view import Key, Need
from assay.errors import SchemaFault, StoreFault, StoreUnavailable
from assay.model.operations import DueKind
from assay.model.task import TaskKind
from assay.store.catalogue import Catalogue
from assay.store.port import (
    Awaiting,
    Batch,
    Chore,
    CommitOutcome,
    Committed,
    Deadline,
    Failed,
    Loaded,
    Look,
    Reads,
    Ready,
    Refused,
    Stale,
)
from assay.store.queries import load_queries
from assay.store.reading import Reading
from assay.store.rows import Row
from assay.store.sqlite.aside import AGAIN_SECS, Aside
from assay.store.sqlite.commit import BATCH_INSERT, GuardFailed, write_batch
from assay.store.sqlite.dialect import speak
from assay.store.sqlite.loading import Loading
from assay.store.sqlite.lock import FileLock
from assay.store.sqlite.reading import asker
from assay.store.sqlite.schema import migrate
from assay.store.sqlite.stream import SqliteStream

DEADLINES_AT_ONCE = 10_000
PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 1000;
PRAGMA cache_size = -65536;
PRAGMA temp_store = MEMORY;
"""


class SqliteStore:
    """Rows in one file; nobody else writes, so what was committed here is the truth."""

    exclusive = True
    clock_offset = 0

    def __init__(self, path: str) -> None:
        self.lost_peer = False
        self._path = path
        self._lock = None if path == ":memory:" else FileLock(Path(path))
        self._aside: Aside | None = None
        self._connection: apsw.Connection
        self._begun: apsw.Connection | None = None
        self._loading: Loading
        self.reading: Reads
        self.catalogue: Catalogue
        self.stream: SqliteStream

    # -- life ------------------------------------------------------------------------------------

    def reserve(self) -> None:
        """Take the lock, unless this store has it; who has it otherwise is named."""
        if self._lock is not None:
            self._lock.take()

    async def open(self) -> int:
        """Take the lock, open or create the file, bring its schema up to date, enlist.

        On a thread: to make an older schema anew may take its time.
        """
        opening = asyncio.get_running_loop().run_in_executor(None, self.open_now)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            await self._break_off(opening)
            raise

    async def _break_off(self, opening: "asyncio.Future[int]") -> None:
        """Nobody waits for the file any more: what was being made of its schema is undone."""
        while not opening.done():
            if self._begun is not None:
                with contextlib.suppress(apsw.ConnectionClosedError):
                    self._begun.interrupt()  # a statement that begins only now has not heard it
            await asyncio.wait([opening], timeout=AGAIN_SECS)
        if opening.exception() is None:
            self.close_now()

    def open_now(self) -> int:
        """`open` for callers without a loop: the simulator, tests."""
        self.reserve()
        try:
            self._connection = self._begun = apsw.Connection(self._path)
            self._connection.set_busy_timeout(5000)
            self._connection.execute(PRAGMAS)
            migrate(self._connection)
            queries = load_queries(speak)
            self._loading = Loading(self._connection, queries)
            if self._lock is not None:
                self._aside = Aside(self._path, queries)
            ask = asker(self._connection, queries, self._aside)
            self.reading, self.catalogue = Reading(ask), Catalogue(ask)
            self.stream = SqliteStream(self._connection, queries)
            return self.enlist()
        except (apsw.Error, SchemaFault) as error:
            if self._begun is not None:
                self._begun.close()
            self._release()
            if isinstance(error, SchemaFault):
                raise
            raise StoreUnavailable(f"{self._path} cannot be opened: {error}") from error

    def enlist(self) -> int:
        """A number for one more engine on this store."""
        return self._count_up("instances", 1)

    async def close(self) -> None:
        """Close the file and give up the lock."""
        self.close_now()

    def close_now(self) -> None:
        """`close` for callers without a loop."""
        if self._aside is not None:
            self._aside.close()
        self._connection.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    # -- load and commit -------------------------------------------------------------------------

    async def load(self, keys: Sequence[Key], *, lock: bool = False) -> Loaded:
        """Rows by key."""
        return self.load_now(keys)

    def load_now(self, keys: Sequence[Key]) -> Loaded:
        """`load` for callers without a loop."""
        try:
            loaded = self._loading.load(keys)
            blocks = [int(key.name) for key in keys if key.need is Need.NUMBERS]
            if blocks:
                loaded.numbers = blocks[0]
                loaded.first_number = self._count_up("numbers", blocks[0]) - blocks[0]
            return loaded
        except apsw.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {error}") from error

    async def commit(self, batch: Batch) -> CommitOutcome:
        """All of a batch in one transaction."""
        return self.commit_now(batch)

    def commit_now(self, batch: Batch) -> CommitOutcome:
        """`commit` for callers without a loop."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            write_batch(connection, batch)
        except GuardFailed:
            self._roll_back()
            return Stale()
        except apsw.ConstraintError as error:
            self._roll_back()
            return Stale() if "UNIQUE" in str(error) else Refused(str(error))
        except (apsw.TooBigError, apsw.MismatchError, apsw.RangeError, OverflowError) as error:
            self._roll_back()
            return Refused(str(error))
        except apsw.Error as error:
            self._roll_back()
            return Failed(f"{self._path} cannot be written: {error}")
        outcome = self._commit()
        if isinstance(outcome, Committed) and batch.decision.frames:
            self.stream.tell()
        return outcome

    def _commit(self) -> CommitOutcome:
        try:
            self._connection.execute("COMMIT")
        except (apsw.FullError, apsw.BusyError, apsw.LockedError) as error:
            self._roll_back()
            return Failed(f"{self._path} cannot be written: {error}")
        except apsw.Error as error:
            # What is on disk is unknown now, and nothing this process remembers can be trusted.
            raise SystemExit(f"assay stops: {self._path} failed in COMMIT: {error}") from error
        return Committed()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    async def settle(self, instance: int, no: int) -> bool:
        """Whether that batch is in. On this store a commit's outcome is never unknown for long."""
        return self.settle_now(instance, no)

    def settle_now(self, instance: int, no: int) -> bool:
        """Insert an empty row under the batch's key: a conflict says that it is in."""
        try:
            self._connection.execute(BATCH_INSERT, (instance, no, 0))
        except apsw.ConstraintError:
            return True
        return False

    # -- dispatch --------------------------------------------------------------------------------

    async def ready(
        self, looks: Sequence[Look], limit: int, in_order: AbstractSet[Look] = frozenset()
    ) -> list[list[Ready]]:
        """For each queue its unclaimed tasks."""
        return self.ready_now(looks, limit)

    def ready_now(self, looks: Sequence[Look], limit: int) -> list[list[Ready]]:
        """`ready` for callers without a loop."""
        return [
            [
                Ready(*row)
                for row in self._rows(_READY[look.kind], look.queue, look.namespace, limit)
            ]
            for look in looks
        ]

    async def deadlines(self, until: int) -> list[Deadline]:
        """Timers, time-outs of runs and schedules due up to then."""
        return self.deadlines_now(until)

    def deadlines_now(self, until: int) -> list[Deadline]:
        """`deadlines` for callers without a loop."""
        return [
            deadline
            for name in ("deadlines", "timeouts", "schedules_due", "starts_due")
            for deadline in self._deadlines(name, until, DEADLINES_AT_ONCE)
        ]

    async def claims(self) -> list[Deadline]:
        """All open claims and unfinished cascades."""
        return self.claims_now()

    def claims_now(self) -> list[Deadline]:
        """`claims` for callers without a loop."""
        return [
            *self._deadlines("run_claims"),
            *self._deadlines("activity_claims"),
            *self._deadlines("cascades"),
        ]

    async def waiting_starts(self) -> list[Awaiting]:
        """Starts of schedules that wait for the end of a run."""
        return self.waiting_starts_now()

    def waiting_starts_now(self) -> list[Awaiting]:
        """`waiting_starts` for callers without a loop."""
        return [Awaiting(*row) for row in self._rows("waiting_starts")]

    async def clock_floor(self) -> int:
        """The latest moment ever committed."""
        floor: int | None = self._rows("clock_floor")[0][0]
        return floor or 0

    async def is_alive(self) -> bool:
        """Whether the file can be read."""
        try:
            self._connection.execute("SELECT 1").fetchall()
        except apsw.Error:
            return False
        return True

    async def prune_batches(self, instance: int, before_no: int) -> None:
        """Forget old batch rows, and those of engines that are gone."""
        self._connection.execute(
            "DELETE FROM batch WHERE instance <= ? AND (instance < ? OR no < ?)",
            (instance, instance, before_no),
        )

    async def take_chore(self, name: str, now: int, again_at: int) -> Chore:
        """Whether a chore is due and the caller's to do, and when it is due next."""
        if self._rows("chore_take", name, now, again_at):
            return Chore(taken=True, due_at=again_at)
        return Chore(taken=False, due_at=self._rows("chore_due", name)[0][0])

    async def worker_namespace(self, worker_id: str) -> str | None:
        """Where a registered worker belongs."""
        found = self._rows("worker_namespace", worker_id)
        return None if not found else str(found[0][0])

    async def note_seen(self, seen: Mapping[str, int]) -> None:
        """When workers were last heard of."""
        try:
            with self._connection:
                self._connection.executemany(self._loading.queries["worker_seen"], seen.items())
        except apsw.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be written: {error}") from error

    async def forget_workers(self, before: int) -> int:
        """Remove workers that were not heard of since then."""
        return len(self._rows("workers_forgotten", before))

    def compare_clock(self, clock: Callable[[], int]) -> None:
        """The file has no clock of its own."""

    def on_hint(self, listener: Callable[[list[Look] | None], None]) -> None:
        """Nobody else writes here, so there is nothing to be told."""

    def on_ended(self, listener: Callable[[list[int]], None]) -> None:
        """Nobody else ends runs here."""

    def on_soon(self, listener: Callable[[list[Deadline]], None]) -> None:
        """Nobody else claims here."""

    def hint(
        self, looks: Sequence[Look], ended: Sequence[int] = (), soon: Sequence[Deadline] = ()
    ) -> None:
        """Nobody else reads here."""

    def _deadlines(self, name: str, *parameters: object) -> list[Deadline]:
        return [Deadline(at, DueKind(kind), no) for at, kind, no in self._rows(name, *parameters)]

    def _rows(self, name: str, *parameters: object) -> Sequence[Row]:
        try:
            return self._loading.rows(name, *parameters)
        except apsw.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {error}") from error

    def _count_up(self, name: str, by: int) -> int:
        row = self._connection.execute(
            "UPDATE meta SET value = value + ? WHERE name = ? RETURNING value", (by, name)
        ).fetchone()
        if row is None:
            raise StoreFault(f"the store has no counter {name}")
        return int(row[0])


_READY = {TaskKind.WORKFLOW: "ready_workflows", TaskKind.ACTIVITY: "ready_activities"}
