"""What clients look through, read alike from both stores: lists, and what is put together for one
answer alone."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.model.attempt import Attempt
from assay.model.schedule import Schedule
from assay.model.situation import AwaitedActivity, AwaitedChild, AwaitedTimer, Situation
from assay.model.snapshot import Snapshot
from assay.model.worker import Worker
from assay.store.listing import Listing, list_runs
from assay.store.reading import Ask
from assay.store.rows import schedule_of
from assay.store.views import RunView, run_view


class Living(NamedTuple):
    """Which workers count as living: heard of since then, or named."""

    since: int
    others: Sequence[str] = ()


class WorkerView(Struct, frozen=True):
    """A living worker, and how many tasks it holds."""

    worker: Worker
    active_tasks: int


class QueueView(Struct, frozen=True):
    """A queue: what waits, what runs, and how many living workers it has."""

    queue: str
    pending: int
    running: int
    workers: int


class NamespaceView(Struct, frozen=True):
    """A tenant."""

    name: str
    created_at: int


class NamespaceStats(Struct, frozen=True):
    """What a tenant has beside runs."""

    schedules: int
    workers: int


_activities = msgspec.json.Decoder(tuple[AwaitedActivity, ...])
_timers = msgspec.json.Decoder(tuple[AwaitedTimer, ...])
_children = msgspec.json.Decoder(tuple[AwaitedChild, ...])
_queues = msgspec.json.Decoder(frozenset[str])


class Catalogue:
    """Lists and searches over the named queries of a store."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def runs(self, asked: Listing) -> list[RunView]:
        """A page of runs, newest first."""
        return [run_view(row) for row in await list_runs(self._ask, asked)]

    async def children(self, workflow_id: str) -> list[RunView]:
        """The runs that have this parent, oldest first."""
        return [run_view(row) for row in await self._ask("children", workflow_id)]

    async def situation(
        self, workflow_id: str, most: int, living: Living
    ) -> tuple[RunView, Situation] | None:
        """A run, and what it may be waiting for, one more than so many of each."""
        rows = await self._ask(
            "situation", workflow_id, most + 1, living.since, list(living.others)
        )
        if not rows:
            return None
        [(*run, activities, timers, children, queues)] = rows
        view = run_view(run)
        return view, Situation(
            view.run,
            _activities.decode(activities or "[]"),
            _timers.decode(timers or "[]"),
            _children.decode(children or "[]"),
            _queues.decode(queues or "[]"),
        )

    async def snapshot(self, workflow_id: str) -> Snapshot | None:
        """The newest snapshot of a run."""
        rows = await self._ask("snapshot", workflow_id)
        return Snapshot(*rows[0]) if rows else None

    async def attempts(self, activity_no: int) -> list[Attempt] | None:
        """The failed attempts at an activity, oldest first; None: there is no such activity."""
        rows = await self._ask("attempts", activity_no)
        return [Attempt(*row) for row in rows if row[0] is not None] if rows else None

    async def schedules(self, namespace: str) -> list[Schedule]:
        """The schedules of a namespace, by name."""
        return [schedule_of(row) for row in await self._ask("schedules_of", namespace)]

    async def schedule(self, namespace: str, name: str) -> Schedule | None:
        """One of them."""
        rows = await self._ask("schedules_named", [namespace], [name])
        return schedule_of(rows[0]) if rows else None

    async def namespaces(self) -> list[NamespaceView]:
        """Every tenant, by name."""
        return [NamespaceView(*row) for row in await self._ask("all_namespaces")]

    async def namespace_stats(self, namespace: str, living: Living) -> NamespaceStats | None:
        """What a tenant has beside runs; None: there is no such tenant."""
        rows = await self._ask("namespace_stats", namespace, living.since, list(living.others))
        return NamespaceStats(*rows[0]) if rows else None

    async def workers(self, namespace: str, living: Living) -> list[WorkerView]:
        """Living workers, in the order in which they registered."""
        rows = await self._ask("workers", namespace, living.since, list(living.others))
        return [WorkerView(Worker(*row[:-1]), row[-1]) for row in rows]

    async def queues(self, namespace: str, living: Living) -> list[QueueView]:
        """Queues that activities or living workers name, by name."""
        rows = await self._ask("queues", namespace, living.since, list(living.others))
        return [QueueView(*row) for row in rows]
