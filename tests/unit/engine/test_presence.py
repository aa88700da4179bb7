"""Signs of life: kept in memory, written behind in one statement, never lost to a failed write."""

import asyncio
from collections.abc import Mapping

import pytest

from assay.engine import presence as module
from assay.engine.limits import WORKER_SILENT_AFTER, WORKERS_KEPT_FOR
from assay.engine.presence import Presence
from assay.errors import StoreUnavailable
from assay.store.catalogue import Living
from assay.store.sqlite.store import SqliteStore

KNOWN, OTHER, UNKNOWN = (f"w-{digit * 16}" for digit in "abc")


class Watched(SqliteStore):
    """A store that notes what it is asked about workers."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.asked: list[str] = []
        self.written: list[dict[str, int]] = []
        self.down = False

    async def worker_namespace(self, worker_id: str) -> str | None:
        self.asked.append(worker_id)
        return "main" if worker_id in (KNOWN, OTHER) else None

    async def note_seen(self, seen: Mapping[str, int]) -> None:
        if self.down:
            raise StoreUnavailable
        self.written.append(dict(seen))


def test_many_beats_are_one_statement_with_the_latest_of_each() -> None:
    store = Watched()
    presence = Presence(store)
    presence.register(KNOWN, "main")
    presence.register(OTHER, "main")
    for now in range(100):
        presence.seen(KNOWN, now)
        presence.seen(OTHER, now * 2)
    asyncio.run(presence.write_behind())
    assert store.written == [{KNOWN: 99, OTHER: 198}]


def test_when_nobody_was_seen_nothing_is_written() -> None:
    store = Watched()
    presence = Presence(store)
    presence.register(KNOWN, "main")
    asyncio.run(presence.write_behind())
    presence.seen(KNOWN, 1)
    asyncio.run(presence.write_behind())
    asyncio.run(presence.write_behind())
    assert store.written == [{KNOWN: 1}]


def test_a_failed_write_is_made_up_for_without_stepping_back() -> None:
    store = Watched()
    presence = Presence(store)
    for worker in (KNOWN, OTHER):
        presence.register(worker, "main")
        presence.seen(worker, 1)
    store.down = True
    with pytest.raises(StoreUnavailable):
        asyncio.run(presence.write_behind())
    presence.seen(KNOWN, 5)
    store.down = False
    asyncio.run(presence.write_behind())
    assert store.written == [{KNOWN: 5, OTHER: 1}]


@pytest.mark.parametrize("worker", ["me", "w-1", "w-" + "A" * 16, f"{KNOWN}0", "", "w-\n"])
def test_an_id_nobody_minted_is_a_stranger_without_a_look(worker: str) -> None:
    store = Watched()
    presence = Presence(store)
    assert asyncio.run(presence.namespace_of(worker)) is None
    presence.seen(worker, 1)
    asyncio.run(presence.write_behind())
    assert (store.asked, store.written) == ([], [])


@pytest.mark.parametrize(("worker", "namespace"), [(KNOWN, "main"), (UNKNOWN, None)])
def test_a_minted_id_is_looked_up_once(worker: str, namespace: str | None) -> None:
    store = Watched()
    presence = Presence(store)
    for _ in range(3):
        assert asyncio.run(presence.namespace_of(worker)) == namespace
    assert store.asked == [worker]


def test_who_registered_here_is_never_looked_up() -> None:
    store = Watched()
    presence = Presence(store)
    presence.register(UNKNOWN, "other")
    assert asyncio.run(presence.namespace_of(UNKNOWN)) == "other"
    assert store.asked == []


def test_strangers_take_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORKERS_KNOWN", 5)
    store = Watched()
    presence = Presence(store)
    for n in range(50):
        asyncio.run(presence.namespace_of(f"w-{n:016x}"))
    assert len(presence._namespaces) <= 6 + 1
    assert asyncio.run(presence.namespace_of(KNOWN)) == "main"


def test_who_registered_takes_bounded_room_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORKERS_KNOWN", 5)
    store = Watched()
    presence = Presence(store)
    for n in range(50):
        presence.register(f"w-{n:016x}", "main")
        presence.seen(f"w-{n:016x}", n)
        asyncio.run(presence.write_behind())
    assert len(presence._namespaces) <= 6
    assert len(presence._written) <= 6
    assert presence._unwritten == {}
    assert len(store.written) == 50


def test_the_latest_known_are_remembered_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORKERS_KNOWN", 5)
    store = Watched()
    presence = Presence(store)
    for worker in (OTHER, *(f"w-{n:016x}" for n in range(4)), KNOWN):
        presence.register(worker, "main")
    assert asyncio.run(presence.namespace_of(KNOWN)) == "main"
    assert store.asked == []
    assert asyncio.run(presence.namespace_of(OTHER)) == "main"
    assert store.asked == [OTHER]


def test_who_counts_as_living_though_it_is_not_written_yet() -> None:
    store = Watched()
    presence = Presence(store)
    presence.register(KNOWN, "main")
    presence.register(OTHER, "main")
    long_ago, now = WORKER_SILENT_AFTER, 10 * WORKER_SILENT_AFTER
    presence.seen(KNOWN, long_ago)
    presence.seen(OTHER, now - 1)
    asyncio.run(presence.write_behind())
    assert presence.living(now) == Living(now - WORKER_SILENT_AFTER, [])
    presence.seen(KNOWN, now)
    presence.seen(OTHER, now)
    assert presence.living(now).others == [KNOWN], "the other's last sign is written and recent"
    assert (presence.heard_at(KNOWN), presence.heard_at(UNKNOWN)) == (now, 0)
    store.down = True
    with pytest.raises(StoreUnavailable):
        asyncio.run(presence.write_behind())
    assert presence.living(now).others == [KNOWN]
    store.down = False
    asyncio.run(presence.write_behind())
    assert presence.living(now).others == []
    assert presence.heard_at(KNOWN) == 0


def test_what_is_seen_during_a_write_is_not_lost() -> None:
    class Slow(Watched):
        async def note_seen(self, seen: Mapping[str, int]) -> None:
            await super().note_seen(seen)
            presence.seen(KNOWN, 2)

    presence = Presence(Slow())
    presence.register(KNOWN, "main")
    presence.seen(KNOWN, 1)
    asyncio.run(presence.write_behind())
    assert presence.heard_at(KNOWN) == 2


def test_who_is_forgotten_is_looked_up_again_and_the_others_are_not() -> None:
    async def story() -> None:
        store, now = Watched(), WORKERS_KEPT_FOR + 100
        await store.open()
        presence = Presence(store)
        for worker in (KNOWN, OTHER):
            presence.register(worker, "main")
        presence.seen(OTHER, now)
        assert await presence.forget(now) == 0
        assert store.written == [{OTHER: now}]
        for worker in (KNOWN, OTHER):
            assert await presence.namespace_of(worker) == "main"
        assert store.asked == [KNOWN]
        await store.close()

    asyncio.run(story())
