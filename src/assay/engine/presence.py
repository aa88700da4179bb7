"""Which workers were heard of, and when: kept in memory, written behind (contract §10.3).

Only ids the engine minted can be registered, so an id of another form needs no look into the store,
and an id that was not found is remembered as a stranger's for good.
"""

import re

from assay.store.port import Store

MINTED = re.compile(r"w-[0-9a-f]{16}")
STRANGERS_KEPT = 10_000


class Presence:
    """Signs of life of one instance's workers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._namespaces: dict[str, str | None] = {}
        self._unwritten: dict[str, int] = {}

    def register(self, worker_id: str, namespace: str) -> None:
        """A worker introduced itself here."""
        self._namespaces[worker_id] = namespace

    async def namespace_of(self, worker_id: str) -> str | None:
        """The namespace a worker is bound to; None for one that never registered."""
        if worker_id in self._namespaces:
            return self._namespaces[worker_id]
        if MINTED.fullmatch(worker_id) is None:
            return None
        namespace = await self._store.worker_namespace(worker_id)
        if len(self._namespaces) > STRANGERS_KEPT:
            self._namespaces.clear()
        self._namespaces[worker_id] = namespace
        return namespace

    def seen(self, worker_id: str, now: int) -> None:
        """Any sign of life."""
        if self._namespaces.get(worker_id) is not None:
            self._unwritten[worker_id] = now

    async def write_behind(self) -> None:
        """What was seen since the last time, in one statement; nothing if nobody was."""
        if not self._unwritten:
            return
        seen, self._unwritten = self._unwritten, {}
        try:
            await self._store.note_seen(seen)
        except BaseException:
            self._unwritten = {**seen, **self._unwritten}
            raise
