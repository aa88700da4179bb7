"""What the engine asks of a store, in words; every outcome is data.

A store holds rows and guards. It commits a batch whole or not at all, and refuses it (`Stale`) when
a row is no longer at the version the decision was made on. It has two suspension points the
simulator reaches into: `load` and `commit`.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from msgspec import Struct

from assay.core.view import Key, OpenChildren, WholeRun
from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.events import Event
from assay.model.operations import DueKind
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.states import RunStatus
from assay.model.task import TaskKind
from assay.model.timer import Timer
from assay.store.catalogue import Catalogue
from assay.store.stream import StoredStream
from assay.store.views import ActivityView, HeldRows, HistoryRow, Link, RunView


class Loaded(Struct):
    """Rows a batch asked for. A run comes with all its live activities and open timers."""

    runs: list[Run] = []
    activities: list[Activity] = []
    timers: list[Timer] = []
    open_children: dict[int, OpenChildren] = {}
    payloads: dict[tuple[int, int], str | None] = {}
    told_children: dict[int, frozenset[str]] = {}
    whole_runs: dict[int, WholeRun] = {}
    recorded: dict[int, tuple[Event, ...]] = {}
    signals: dict[int, tuple[Event, ...]] = {}
    signal_requests: list[tuple[int, str]] = []
    last_links: dict[int, int | None] = {}
    blocked: dict[str, tuple[int, ...]] = {}
    namespaces: list[str] = []
    schedules: list[Schedule] = []
    first_number: int | None = None
    numbers: int = 0


class Batch(Struct, frozen=True):
    """One commit: whose it is, and what it writes."""

    instance: int
    no: int
    decision: Decision


class Committed(Struct, frozen=True):
    """It is durable."""


class Stale(Struct, frozen=True):
    """Some row has moved since the decision, or an id is taken; nothing was written."""


class Refused(Struct, frozen=True):
    """The data itself cannot be stored; nothing was written."""

    error: str


class Failed(Struct, frozen=True):
    """The database could not do it now; nothing was written."""

    error: str


class Unknown(Struct, frozen=True):
    """The connection was lost in COMMIT: written or not, only `settle` can tell."""

    error: str


CommitOutcome = Committed | Stale | Refused | Failed | Unknown


class Look(NamedTuple):
    """Which ready tasks are asked for: of a queue, and of one namespace unless it is None."""

    kind: TaskKind
    namespace: str | None
    queue: str


class Ready(Struct, frozen=True, gc=False):
    """A task that can be claimed from `ready_at` on: by its keeper, if there is one.

    `held`: its keeper has the claim still, and nobody else may have it.
    """

    no: int
    ready_at: int
    namespace: str
    queue: str
    keeper: str | None = None
    held: bool = False


class Deadline(Struct, frozen=True, gc=False):
    """A moment at which a row is due."""

    at: int
    kind: DueKind
    no: int


class Awaiting(NamedTuple):
    """A schedule whose next start waits for the end of a run."""

    run_no: int
    schedule_no: int


class Chore(NamedTuple):
    """Work that comes round: whether the caller is to do it now, and when it is due next."""

    taken: bool
    due_at: int


class Store(Protocol):
    """Where rows live."""

    reading: "Reads"
    catalogue: Catalogue
    exclusive: bool
    """Nobody else writes: what was committed here is the truth without asking again."""
    lost_peer: bool
    """Another instance has gone since this was last cleared: its claims are to be looked after."""

    @property
    def stream(self) -> StoredStream:
        """The event stream; once the store is open."""

    @property
    def clock_offset(self) -> int:
        """Microseconds from the clock of this host to the store's own."""

    def compare_clock(self, clock: Callable[[], int]) -> None:
        """Measure that offset against this clock from now on."""

    def reserve(self) -> None:
        """Before anything else: refuse a database that another engine has for itself."""

    async def open(self) -> int:
        """Make ready (schema, lock) and enlist; the number of this instance, new at each start."""

    async def close(self) -> None:
        """Give everything up."""

    async def load(self, keys: Sequence[Key], *, lock: bool = False) -> Loaded:
        """Rows by key, one set-based query per kind of need; `lock` holds them until the commit."""

    async def commit(self, batch: Batch) -> CommitOutcome:
        """Write all of a batch, each changed row under its guard, or nothing."""

    async def settle(self, instance: int, no: int) -> bool:
        """After `Unknown`: whether that batch is in; if not, it never will be."""

    async def ready(
        self, looks: Sequence[Look], limit: int, in_order: AbstractSet[Look] = frozenset()
    ) -> list[list[Ready]]:
        """For each queue its unclaimed tasks, the longest ready first, up to the limit.

        Beside them those that a worker keeps, as far as the others go, and not more of them. A
        store that is shared may show each instance other tasks first, but for those `in_order`.
        """

    async def deadlines(self, until: int) -> list[Deadline]:
        """Timers and time-outs due up to then."""

    async def claims(self) -> list[Deadline]:
        """When open claims expire, and cascades that are to go on: all of them."""

    async def waiting_starts(self) -> list[Awaiting]:
        """Starts of schedules that wait for the end of a run: all of them."""

    async def clock_floor(self) -> int:
        """The latest moment ever committed."""

    async def is_alive(self) -> bool:
        """Whether the database answers."""

    async def worker_namespace(self, worker_id: str) -> str | None:
        """Where a registered worker belongs."""

    async def note_seen(self, seen: Mapping[str, int]) -> None:
        """When workers were last heard of, in one statement."""

    async def forget_workers(self, before: int) -> int:
        """Remove workers that were not heard of since then; how many there were."""

    def on_hint(self, listener: Callable[[list[Look] | None], None]) -> None:
        """Call this when other instances may have made tasks ready (None: anywhere)."""

    def on_ended(self, listener: Callable[[list[int]], None]) -> None:
        """Call this when runs have ended on other instances."""

    def on_soon(self, listener: Callable[[list[Deadline]], None]) -> None:
        """Call this with the ends of claims made on other instances, if they are near."""

    def hint(
        self, looks: Sequence[Look], ended: Sequence[int] = (), soon: Sequence[Deadline] = ()
    ) -> None:
        """Tell other instances, some time soon.

        Queues that got ready tasks, runs that ended, claims that are over before anybody would
        notice that this instance is gone.
        """

    async def take_chore(self, name: str, now: int, again_at: int) -> Chore:
        """Move a chore on if it is due: of all instances that ask, one does it."""

    async def prune_batches(self, instance: int, before_no: int) -> None:
        """Forget batch rows that nobody will ask about."""


class Reads(Protocol):
    """Read models: what clients look at. They never decide anything."""

    async def run_views(self, ids: Sequence[str]) -> list[RunView]:
        """Runs by id with input and result."""

    async def activity_views(self, nos: Sequence[int]) -> list[ActivityView]:
        """Activities by number with input and result."""

    async def last_link(self, workflow_id: str, no: int | None) -> Link | None:
        """The end of a run's chain of successors (of the run of that number, if it is given)."""

    async def ended(self, nos: Sequence[int]) -> list[int]:
        """Which of these runs have ended, or are gone."""

    async def histories(self, run_nos: Sequence[int]) -> list[HistoryRow]:
        """Standing events (voided ones left out) of these runs, by run and seq."""

    async def held_by(self, worker_id: str) -> HeldRows:
        """What a worker has claimed and not answered yet."""

    async def history_after(self, run_no: int, seq: int, limit: int | None) -> list[HistoryRow]:
        """Standing events of a run that come after another one, oldest first."""

    async def run_counts(self, namespace: str) -> dict[RunStatus, int]:
        """How many runs a namespace has in each status it has runs in."""

    async def events(
        self, workflow_id: str, *, cursor: int | None, limit: int | None, descending: bool
    ) -> list[HistoryRow]:
        """One page of a history, voided events included."""
