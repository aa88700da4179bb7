"""Which workers were heard of, and when: kept in memory, written behind (contract §10.3).

Only ids the engine minted can be registered, so an id of another form needs no look into the store,
and an id that was not found is remembered as a stranger's. What is remembered is bounded: the ids
that came up first are looked up again.
"""

import re
from itertools import islice
from typing import TypeVar

from assay.engine.limits import WORKER_SILENT_AFTER, WORKERS_KEPT_FOR, WORKERS_KNOWN
from assay.store.catalogue import Living
from assay.store.port import Store

Value = TypeVar("Value")
MINTED = re.compile(r"w-[0-9a-f]{16}")


class Presence:
    """Signs of life of one instance's workers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._namespaces: dict[str, str | None] = {}
        self._unwritten: dict[str, int] = {}
        self._written: dict[str, int] = {}

    def register(self, worker_id: str, namespace: str) -> None:
        """A worker introduced itself here."""
        self._know(worker_id, namespace)

    async def namespace_of(self, worker_id: str) -> str | None:
        """The namespace a worker is bound to; None for one that never registered."""
        if worker_id in self._namespaces:
            return self._namespaces[worker_id]
        if MINTED.fullmatch(worker_id) is None:
            return None
        namespace = await self._store.worker_namespace(worker_id)
        self._know(worker_id, namespace)
        return namespace

    def seen(self, worker_id: str, now: int) -> None:
        """Any sign of life."""
        if self._namespaces.get(worker_id) is not None:
            self._unwritten[worker_id] = now

    def heard_at(self, worker_id: str) -> int:
        """The latest sign of life that may not be written yet; 0 if there is none."""
        return self._unwritten.get(worker_id, 0)

    def living(self, now: int) -> Living:
        """Who counts as living: who was heard of lately, and who has just come back."""
        since, written = now - WORKER_SILENT_AFTER, self._written
        back = [id for id, at in self._unwritten.items() if written.get(id, 0) < since <= at]
        return Living(since, back)

    async def write_behind(self) -> None:
        """What was seen since the last time, in one statement; nothing if nobody was."""
        if not self._unwritten:
            return
        seen = dict(self._unwritten)
        await self._store.note_seen(seen)
        for worker_id, at in seen.items():
            self._written[worker_id] = at
            if self._unwritten[worker_id] == at:
                del self._unwritten[worker_id]
        _drop_first(self._written)

    async def forget(self, now: int) -> int:
        """Ids of workers that were silent for long are bound no longer; how many were.

        What is unwritten here is written first. A worker of another instance that comes back at
        this very moment comes back as a stranger, and might have done so a second before.
        """
        before = now - WORKERS_KEPT_FOR
        await self.write_behind()
        for worker_id in [id for id in self._namespaces if self._written.get(id, 0) < before]:
            del self._namespaces[worker_id]  # it is looked up again, should it come back
        return await self._store.forget_workers(before)

    def _know(self, worker_id: str, namespace: str | None) -> None:
        self._namespaces[worker_id] = namespace
        _drop_first(self._namespaces)


def _drop_first(remembered: dict[str, Value]) -> None:
    """Half of what came up first, once it is too much."""
    if len(remembered) > WORKERS_KNOWN:
        for worker_id in list(islice(remembered, len(remembered) // 2)):
            del remembered[worker_id]
