"""The store in PostgreSQL: one statement per commit, everything changed under its guard.

Three kinds of sessions: the committer's, on which batches are loaded and written one at a time; one
for signals (LISTEN, NOTIFY, the sweep), which must not wait for commits; a few for reading.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib.resources import files

from assay.core.view import Key, Need
from assay.errors import StoreFault
from assay.model.operations import DueKind
from assay.store.catalogue import Catalogue
from assay.store.port import (
    Awaiting,
    Batch,
    Chore,
    CommitOutcome,
    Committed,
    Deadline,
    Loaded,
    Look,
    Reads,
    Ready,
)
from assay.store.postgres import dispatch
from assay.store.postgres.clock import Offset
from assay.store.postgres.committer import Committer
from assay.store.postgres.dialect import speak
from assay.store.postgres.faults import store_faults
from assay.store.postgres.hints import STREAM, Hints
from assay.store.postgres.limits import (
    ALIVE_FOR,
    DEADLINES_AT_ONCE,
    FAR_READERS,
    FORGET_AFTER,
    LONG_STATEMENT_SECS,
    PROBE_SECS,
    READERS,
    SWEEP_SECS,
)
from assay.store.postgres.line import BY_INDEX, Line, Lines, connect, place_of
from assay.store.postgres.peers import Peers
from assay.store.postgres.reading import asker
from assay.store.postgres.schema import migrate, require_sessions, require_utf8
from assay.store.postgres.stream import PostgresStream
from assay.store.queries import load_queries
from assay.store.reading import Reading

log = logging.getLogger("assay.store")

# Neither a renewal nor a notification needs a flush to disk: what gets lost comes again.
SIGNALS = f"{BY_INDEX} SET synchronous_commit = off"

# The moment in the row of a batch that turned out not to be in.
NEVER = -1


class PostgresStore:
    """Rows in one database that any number of instances share."""

    exclusive = False

    def __init__(self, url: str) -> None:
        self.lost_peer = False
        self._url = url
        self._place = place_of(url)
        self._offset = Offset()
        self._peers = Peers()
        self._hints = Hints()
        self._queries = load_queries(
            speak, (files("assay.store") / "postgres" / "overlay.sql").read_text()
        )
        self._committer = Committer(url, self._queries)
        self._signals = Line(url, SIGNALS, self._hints.listen)
        self._readers = Lines(url, READERS, BY_INDEX)
        self._far_readers = Lines(url, FAR_READERS, BY_INDEX)
        ask = asker(self._readers, self._far_readers, self._queries)
        self.reading: Reads = Reading(ask)
        self.catalogue = Catalogue(ask)
        self.stream = PostgresStream(url, self._readers, self._queries, self._tell_of_stream)
        self._hints.stream_listener = self.stream.heard

    def compare_clock(self, clock: Callable[[], int]) -> None:
        """Measure the database's clock against this one from now on."""
        self._offset.clock = clock

    @property
    def clock_offset(self) -> int:
        """What is to be added to that clock to get the database's."""
        return self._offset.value

    @property
    def instances(self) -> int:
        """How many live, this one among them."""
        return len(self._peers.living)

    # -- life ------------------------------------------------------------------------------------

    def reserve(self) -> None:
        """Any number of engines share it."""

    async def open(self) -> int:
        """Refuse what cannot work, bring the schema up to date, enlist, listen."""
        try:
            await require_sessions(self._url)
            async with self._readers.session() as session:
                await require_utf8(session, self._place)
                await migrate(session)
                self._peers.begin(await session.fetchval(dispatch.ENLIST, ALIVE_FOR))
            await self._committer.open()
            await self._sweep(0)
        except BaseException:
            await self._hang_up()
            raise
        return self._peers.me

    async def close(self) -> None:
        """Leave, so that others need not wait to find this instance gone."""
        await self.stream.sequencer.close()
        await self._hints.close()
        try:
            async with self._signals.session() as session:
                await session.execute(dispatch.LEAVE, self._peers.me)
        except StoreFault as fault:
            log.info("left without saying so: %s", fault)
        await self._hang_up()

    async def _hang_up(self) -> None:
        await self.stream.sequencer.close()
        await self._committer.close()
        await self._signals.close()
        await self._readers.close()
        await self._far_readers.close()

    # -- load and commit -------------------------------------------------------------------------

    async def load(self, keys: Sequence[Key], *, lock: bool = False) -> Loaded:
        """Rows by key; numbers come from a counter of their own, so that none is given twice."""
        rest = [key for key in keys if key.need is not Need.NUMBERS]
        loaded = await self._committer.load(rest, lock=lock) if rest else Loaded()
        blocks = [int(key.name) for key in keys if key.need is Need.NUMBERS]
        if blocks:
            async with self._readers.session() as session:
                end = await session.fetchval(dispatch.COUNT_UP, blocks[0])
            loaded.numbers, loaded.first_number = blocks[0], int(end) - blocks[0]
        return loaded

    async def commit(self, batch: Batch) -> CommitOutcome:
        """All of a batch, each changed row under its guard, or nothing."""
        outcome = await self._committer.commit(batch)
        if isinstance(outcome, Committed) and (batch.decision.frames or batch.decision.counts):
            self.stream.sequencer.wake()
        return outcome

    async def settle(self, instance: int, no: int) -> bool:
        """Insert an empty row under the batch's key: a conflict says that it is in.

        While the lost session still works on the batch, the insert waits for its end. The empty row
        says so itself, should this very answer get lost and the question be asked again.
        """
        session = await connect(self._url)
        try:
            with store_faults(self._place):
                await session.execute(dispatch.SETTLE, instance, no, NEVER)
                return bool(await session.fetchval(dispatch.SETTLED, instance, no) != NEVER)
        finally:
            session.terminate()

    # -- dispatch --------------------------------------------------------------------------------

    async def ready(
        self, looks: Sequence[Look], limit: int, in_order: AbstractSet[Look] = frozenset()
    ) -> list[list[Ready]]:
        """For each queue its unclaimed tasks; one statement for all of them."""
        kinds = [str(look.kind) for look in looks]
        namespaces = [look.namespace for look in looks]
        queues = [look.queue for look in looks]
        rows = await self._committer.rows(dispatch.READY, kinds, namespaces, queues, limit)
        found: list[list[Ready]] = [[] for _ in looks]
        for at, _, *task in rows:
            found[at - 1].append(Ready(*task))
        if rows and len(self._peers.living) > 1:
            now = rows[0][1]
            return [
                tasks if look in in_order else self._peers.own_first(tasks, now)
                for look, tasks in zip(looks, found, strict=True)
            ]
        return found

    async def deadlines(self, until: int) -> list[Deadline]:
        """What is due up to then; what is another instance's share a little later."""
        return [
            self._with_courtesy(Deadline(at, DueKind(kind), no))
            for at, kind, no in await self._sweep(until)
        ]

    def _with_courtesy(self, due: Deadline) -> Deadline:
        return Deadline(due.at + self._peers.courtesy(due.kind, due.no), due.kind, due.no)

    async def _sweep(self, until: int) -> list[tuple[int, str, int]]:
        """Renew this instance's row, measure the clock, see who lives, read what is due."""
        async with self._signals.session() as session:
            asked_at = self._offset.now()
            row = await session.fetchrow(
                dispatch.SWEEP,
                self._peers.me,
                ALIVE_FOR,
                until,
                DEADLINES_AT_ONCE,
                timeout=SWEEP_SECS,
            )
            if row is None:
                raise StoreFault("the sweep got no answer")
            self._offset.note(asked_at, row["now"])
        if self._peers.note(row["living"]):
            self.lost_peer = True
            self._hints.tell_listener(None)
        self.stream.swept(row["newest"], waiting=row["waiting"])
        return list(zip(row["ats"], row["kinds"], row["nos"], strict=True))

    async def claims(self) -> list[Deadline]:
        """All open claims and unfinished cascades."""
        found: list[Deadline] = []
        async with self._readers.session() as session:
            for name in ("run_claims", "activity_claims", "cascades"):
                rows = await session.fetch(self._queries[name], timeout=LONG_STATEMENT_SECS)
                found += [Deadline(at, DueKind(kind), no) for at, kind, no in rows]
        return [self._with_courtesy(each) for each in found]

    async def waiting_starts(self) -> list[Awaiting]:
        """Starts of schedules that wait for the end of a run."""
        async with self._readers.session() as session:
            rows = await session.fetch(self._queries["waiting_starts"])
        return [Awaiting(*row) for row in rows]

    async def clock_floor(self) -> int:
        """The latest moment ever committed."""
        async with self._readers.session() as session:
            floor: int | None = await session.fetchval(self._queries["clock_floor"])
        return max(floor or 0, 0)

    async def is_alive(self) -> bool:
        """Whether the database answers, soon."""
        try:
            async with asyncio.timeout(PROBE_SECS), self._readers.session() as session:
                await session.execute("SELECT 1")
        except (StoreFault, TimeoutError):
            return False
        return True

    # -- workers ---------------------------------------------------------------------------------

    async def worker_namespace(self, worker_id: str) -> str | None:
        """Where a registered worker belongs."""
        async with self._readers.session() as session:
            found: str | None = await session.fetchval(self._queries["worker_namespace"], worker_id)
        return found

    async def note_seen(self, seen: Mapping[str, int]) -> None:
        """When workers were last heard of; in the order of their ids, as everybody writes them."""
        heard = sorted(seen.items())
        async with self._signals.session() as session:
            await session.execute(
                self._queries["worker_seen"], [id for id, _ in heard], [at for _, at in heard]
            )

    async def forget_workers(self, before: int) -> int:
        """Remove workers that were not heard of since then."""
        async with self._readers.session() as session:
            return len(await session.fetch(self._queries["workers_forgotten"], before))

    # -- other instances -------------------------------------------------------------------------

    def on_hint(self, listener: Callable[[list[Look] | None], None]) -> None:
        """Call this when other instances may have made tasks ready (None: anywhere)."""
        self._hints.listener = listener

    def on_ended(self, listener: Callable[[list[int]], None]) -> None:
        """Call this when runs have ended on other instances."""
        self._hints.end_listener = listener

    def on_soon(self, listener: Callable[[list[Deadline]], None]) -> None:
        """Call this with the ends of claims made on other instances, if they are near."""

        def hear(found: list[Deadline]) -> None:
            listener([self._with_courtesy(each) for each in found])

        self._hints.soon_listener = hear

    def hint(
        self, looks: Sequence[Look], ended: Sequence[int] = (), soon: Sequence[Deadline] = ()
    ) -> None:
        """Tell other instances, after the commit and within milliseconds."""
        # Who is new and not known here yet finds ends by its own sweep.
        alone = len(self._peers.living) == 1
        self._hints.add(self._signals, looks if alone else [*looks, *ended, *soon])

    def _tell_of_stream(self) -> None:
        if len(self._peers.living) > 1:
            self._hints.add(self._signals, [STREAM])

    async def take_chore(self, name: str, now: int, again_at: int) -> Chore:
        """Whether a chore is due and the caller's to do, and when it is due next."""
        async with self._readers.session() as session:
            if await session.fetch(self._queries["chore_take"], name, now, again_at):
                return Chore(taken=True, due_at=again_at)
            due_at = await session.fetchval(self._queries["chore_due"], name)
        return Chore(taken=False, due_at=due_at)

    async def prune_batches(self, instance: int, before_no: int) -> None:
        """Forget old batch rows, and those of instances that have been gone for long."""
        async with self._signals.session() as session:
            await session.execute(dispatch.PRUNE, instance, before_no)
            await session.execute(dispatch.FORGET, FORGET_AFTER)
