"""What tests of whole processes ask for: a store, and a server on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import fresh_database
from tests.support.stores import backend, own_server, store

__all__ = ["backend", "module_database_url", "own_server", "store"]


@pytest.fixture(scope="module")
def module_database_url(postgres_server_url: str) -> Iterator[str]:
    """A PostgreSQL database that the tests of one file share."""
    with fresh_database(postgres_server_url) as url:
        yield url
