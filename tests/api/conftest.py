"""Servers for tests over HTTP: one per store, kept for the whole run of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import fresh_database
from tests.support.server import Server
from tests.support.stores import SHORT_LEASE_SECS, backend, own_server, quick_directory, store

__all__ = ["backend", "own_server", "server", "servers", "short_lease_server", "store"]


class Servers:
    """Starts a server when it is first asked for, and again if it died meanwhile."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._started: dict[str, Server] = {}
        self._databases = contextlib.ExitStack()

    def get(self, request: pytest.FixtureRequest, store: str, **environment: str) -> Server:
        name = "-".join((store, *environment.values()))
        if name not in self._started:
            log = self._directory / f"{name}.log"
            url = self._backend(request, store, name)
            self._started[name] = Server(url, log, environment=environment)
        return self._started[name].ensure_ready()

    def _backend(self, request: pytest.FixtureRequest, store: str, name: str) -> str:
        if store == "sqlite":
            return f"sqlite://{self._directory / name}.db"
        server_url: str = request.getfixturevalue("postgres_server_url")
        return self._databases.enter_context(fresh_database(server_url))

    def stop(self) -> None:
        with self._databases, contextlib.ExitStack() as all_of_them:
            for server in self._started.values():
                all_of_them.callback(server.stop)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with quick_directory() as directory:
        servers = Servers(directory)
        yield servers
        servers.stop()


@pytest.fixture
def server(store: str, servers: Servers, request: pytest.FixtureRequest) -> Server:
    """The shared server of this store: use ids and queues of your own."""
    return servers.get(request, store)


@pytest.fixture
def short_lease_server(store: str, servers: Servers, request: pytest.FixtureRequest) -> Server:
    """A shared server whose workflow-task leases end soon."""
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": str(SHORT_LEASE_SECS)}
    return servers.get(request, store, **lease)
