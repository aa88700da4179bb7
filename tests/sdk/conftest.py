"""What the SDK runs on: one real server per store for the whole run, and every shape of assay."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.conftest import server, servers
from tests.sdk.shapes import Embedded, Served, Shape
from tests.support.stores import backend, own_server, quick_directory, store

__all__ = ["backend", "flavour", "own_server", "server", "servers", "shape", "store"]


@pytest.fixture(params=["async", "blocking"])
def flavour(request: pytest.FixtureRequest) -> str:
    """Name the client; every test that asks is told once for each."""
    return str(request.param)


@pytest.fixture(params=["embedded", "replayed", "sqlite", "postgres"])
def shape(request: pytest.FixtureRequest) -> Iterator[Shape]:
    """An engine in this process, or served; `replayed` keeps no run, so every task is a replay."""
    name = str(request.param)
    if name in ("sqlite", "postgres"):
        yield Served(request.getfixturevalue("servers").get(request, name))
        return
    with quick_directory() as directory:
        file = directory / "assay.db"
        yield Embedded(file) if name == "embedded" else Embedded(file, kept_runs=0)
