"""The two stores as fixtures, for tests that start servers of their own."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import Server

SHORT_LEASE_SECS = 0.5  # for servers whose leases must be seen to expire


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """Name the store; every test that asks is told once for each."""
    return str(request.param)


@contextlib.contextmanager
def quick_directory() -> Iterator[Path]:
    """Lend a directory in memory where there is one: on a busy disk a sync takes seconds."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="assay-", dir=place) as directory:
        yield Path(directory)


@pytest.fixture
def backend(store: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty store of this test's own."""
    if store == "sqlite":
        with quick_directory() as directory:
            yield f"sqlite://{directory / 'assay.db'}"
    else:
        yield request.getfixturevalue("postgres_url")


@pytest.fixture
def own_server(backend: str, tmp_path: Path) -> Iterator[Server]:
    """A running server that this test may stop, kill and start again."""
    server = Server(backend, tmp_path / "server.log")
    with server.running():
        yield server
