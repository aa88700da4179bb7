"""Opening a file beside the loop, which goes on meanwhile; and giving that up."""

import asyncio
import threading
from pathlib import Path

import apsw
import pytest

from assay.errors import StoreFault, StoreLocked, StoreUnavailable
from assay.store.sqlite import store as sqlite_store
from assay.store.sqlite.schema import migrate
from assay.store.sqlite.store import SqliteStore

ENDLESS = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n
"""


def test_a_store_that_is_reserved_is_refused_to_others_before_it_is_open(tmp_path: Path) -> None:
    first, second = (SqliteStore(str(tmp_path / "assay.db")) for _ in range(2))
    first.reserve()
    with pytest.raises(StoreLocked):
        second.reserve()
    with pytest.raises(StoreLocked):
        asyncio.run(second.open())
    asyncio.run(first.open())
    first.close_now()
    second.reserve()
    assert asyncio.run(second.open()) == 2
    second.close_now()


def test_the_loop_goes_on_while_the_schema_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_on = threading.Event()

    def slowly(connection: apsw.Connection) -> None:
        assert let_on.wait(20)
        migrate(connection)

    monkeypatch.setattr(sqlite_store, "migrate", slowly)

    async def story() -> int:
        store = SqliteStore(str(tmp_path / "assay.db"))
        opening = asyncio.create_task(store.open())
        await asyncio.sleep(0.01)
        assert not opening.done()
        let_on.set()
        no = await opening
        await store.close()
        return no

    assert asyncio.run(story()) == 1


def test_an_opening_that_is_given_up_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way = threading.Event()

    def for_ever(connection: apsw.Connection) -> None:
        with connection:
            connection.execute("CREATE TABLE half (way INTEGER)")
            under_way.set()
            connection.execute(ENDLESS)

    path = str(tmp_path / "assay.db")

    async def story() -> None:
        opening = asyncio.create_task(SqliteStore(path).open())
        await asyncio.to_thread(under_way.wait, 20)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store, "migrate", for_ever)
        asyncio.run(asyncio.wait_for(story(), 20))
    store = SqliteStore(path)
    store.open_now()
    names = [row[0] for row in store._connection.execute("SELECT name FROM sqlite_master")]
    assert "half" not in names
    store.close_now()


def test_an_opening_that_is_given_up_too_late_is_closed_again(tmp_path: Path) -> None:
    path = str(tmp_path / "assay.db")

    async def story() -> None:
        opening = asyncio.create_task(SqliteStore(path).open())
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(story())
    store = SqliteStore(path)
    store.open_now()
    store.close_now()


def test_a_file_that_cannot_be_opened_is_not_kept_from_others(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear reader, this is not a database. " * 100)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"letter\.db cannot be opened"):
            asyncio.run(SqliteStore(str(path)).open())
    with pytest.raises(StoreFault, match="no such folder"):
        asyncio.run(SqliteStore(str(tmp_path / "no" / "where.db")).open())
