"""What clients ask that takes more than rows: what memory knows, and what core makes of them."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from assay.core.attributes import key_text, pairs_of
from assay.core.waiting_for import MOST, waiting_for
from assay.engine.presence import Presence
from assay.model.situation import Reason
from assay.model.states import RunStatus
from assay.store.catalogue import NamespaceStats, QueueView, WorkerView
from assay.store.listing import Listing
from assay.store.port import Store
from assay.store.views import RunView


class Described(Struct, frozen=True):
    """A run, and why it is not moving; `waiting_for` is None of one that has ended."""

    view: RunView
    waiting_for: list[Reason] | None


class NamespaceCounts(Struct, frozen=True):
    """What a namespace has."""

    runs: dict[RunStatus, int]
    others: NamespaceStats


class Questions:
    """Answers from the store, joined with what is in memory."""

    def __init__(self, store: Store, presence: Presence, clock: Callable[[], int]) -> None:
        self._store = store
        self._presence = presence
        self._clock = clock

    async def runs(self, asked: Listing, search_attributes: str | None) -> list[RunView]:
        """A page of the runs that also have all these attributes, a JSON object as text."""
        pairs = tuple((key_text(key), value) for key, value in pairs_of(search_attributes).items())
        return await self._store.catalogue.runs(replace(asked, pairs=pairs))

    async def describe(self, workflow_id: str) -> Described | None:
        """One run; all of it from one moment."""
        now = self._clock()
        living = self._presence.living(now)
        found = await self._store.catalogue.situation(workflow_id, MOST, living)
        if found is None:
            return None
        view, situation = found
        return Described(view, waiting_for(situation, now) if view.run.is_open else None)

    async def workers(self, namespace: str) -> list[WorkerView]:
        """Living workers of a namespace."""
        presence = self._presence
        views = await self._store.catalogue.workers(namespace, presence.living(self._clock()))
        return [_as_heard(view, presence.heard_at(view.worker.id)) for view in views]

    async def queues(self, namespace: str) -> list[QueueView]:
        """Queues of a namespace."""
        return await self._store.catalogue.queues(namespace, self._presence.living(self._clock()))

    async def namespace(self, name: str) -> NamespaceCounts | None:
        """What a namespace has; None: it does not exist."""
        living = self._presence.living(self._clock())
        others = await self._store.catalogue.namespace_stats(name, living)
        if others is None:
            return None
        return NamespaceCounts(await self._store.reading.run_counts(name), others)


def _as_heard(view: WorkerView, heard_at: int) -> WorkerView:
    if heard_at <= view.worker.last_seen:
        return view
    return replace(view, worker=replace(view.worker, last_seen=heard_at))
