"""The lock on a database file: who has it is named, and no second name leads around it."""

import os
from pathlib import Path

import pytest

from assay.errors import StoreFault, StoreLocked
from assay.store.sqlite.lock import FileLock
from assay.store.sqlite.store import SqliteStore


def test_who_comes_second_is_told_the_holder_and_two_ways_out(tmp_path: Path) -> None:
    first, second = (FileLock(tmp_path / "assay.db") for _ in range(2))
    first.take()
    with pytest.raises(StoreLocked, match=rf"\(pid {os.getpid()}\).*HTTP.*PostgreSQL"):
        second.take()
    first.release()
    second.take()
    second.release()


def test_whoever_has_it_may_take_it_again(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "assay.db")
    lock.take()
    lock.take()
    lock.release()
    other = FileLock(tmp_path / "assay.db")
    other.take()
    other.release()


def test_a_symbolic_link_leads_to_the_same_lock(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "assay.db")
    first, second = FileLock(tmp_path / "assay.db"), FileLock(tmp_path / "link.db")
    first.take()
    with pytest.raises(StoreLocked):
        second.take()
    first.release()


@pytest.mark.parametrize("name", ["assay.db", "second.db"])
def test_a_database_with_two_names_is_refused_under_either(tmp_path: Path, name: str) -> None:
    there = SqliteStore(str(tmp_path / "assay.db"))
    there.open_now()
    there.close_now()
    (tmp_path / "second.db").hardlink_to(tmp_path / "assay.db")
    store = SqliteStore(str(tmp_path / name))
    with pytest.raises(StoreFault, match=r"has 2 names \(hard links\).*remove the others.*`cp`"):
        store.open_now()
    (tmp_path / ("second.db" if name == "assay.db" else "assay.db")).unlink()
    store.open_now()
    store.close_now()


def test_a_name_that_comes_while_an_engine_runs_leads_nowhere(tmp_path: Path) -> None:
    first, second = (SqliteStore(str(tmp_path / f"{name}.db")) for name in ("one", "two"))
    first.open_now()
    (tmp_path / "two.db").hardlink_to(tmp_path / "one.db")
    with pytest.raises(StoreFault, match="has 2 names"):
        second.open_now()
    with pytest.raises(StoreLocked):
        SqliteStore(str(tmp_path / "one.db")).open_now()
    first.close_now()
