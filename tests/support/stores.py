"""The two stores as fixtures, for tests that start servers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import Server

SHORT_LEASE_SECS = 0.5  # for servers whose leases must be seen to expire


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """Name the store; every test that asks is told once for each."""
    return str(request.param)


@pytest.fixture
def backend(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of an empty store of this test's own."""
    if store == "sqlite":
        return f"sqlite://{tmp_path / 'assay.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def own_server(backend: str, tmp_path: Path) -> Iterator[Server]:
    """A running server that this test may stop, kill and start again."""
    server = Server(backend, tmp_path / "server.log")
    with server.running():
        yield server
