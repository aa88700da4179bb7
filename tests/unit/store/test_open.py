"""Which store a URL names."""

import pytest

from assay.errors import UsageFault
from assay.store.open import file_path, open_store
from assay.store.postgres.store import PostgresStore
from assay.store.sqlite.store import SqliteStore


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("///abs/a.db", "/abs/a.db"),
        ("//rel/a.db", "rel/a.db"),
        ("//rel.db?mode=rwc", "rel.db"),
        (":memory:", ":memory:"),
        ("//:memory:", ":memory:"),
        ("a.db", "a.db"),
        ("/abs.db", "/abs.db"),
    ],
)
def test_paths(rest: str, path: str) -> None:
    assert file_path(rest) == path


@pytest.mark.parametrize("url", ["sqlite://a.db", "SQLite:a.db", "a.db", "./a.db", "C:\\a.db"])
def test_files(url: str) -> None:
    assert isinstance(open_store(url), SqliteStore)


@pytest.mark.parametrize("url", ["postgres://h/d", "postgresql://u@h:1/d?x=y"])
def test_servers(url: str) -> None:
    assert isinstance(open_store(url), PostgresStore)


@pytest.mark.parametrize("url", ["mysql://h/d", "http://h", "redis:", "sqlite:", "", "?mode=rwc"])
def test_what_names_no_store(url: str) -> None:
    with pytest.raises(UsageFault):
        open_store(url)
