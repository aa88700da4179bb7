"""The shapes that assay comes in: where the engine is, and how a worker reaches it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import assay
from assay.sdk.client import Client
from tests.support.server import Server

Serve = Callable[..., "asyncio.Task[None]"]


class Shape(Protocol):
    """One test's engine. What is connected and served in it is ended by the test."""

    def connected(self, **given: Any) -> contextlib.AbstractAsyncContextManager[Client]:
        """A client of the test's own namespace."""

    async def serve(self, client: Client, queue: str, **options: Any) -> asyncio.Task[None]:
        """A worker with everything that is registered with the client."""


class Embedded:
    """Engine, client and worker in this process, on a file of the test's own."""

    def __init__(self, file: Path, **options: Any) -> None:
        self.file = file
        self.options = options  # of all its workers

    @contextlib.asynccontextmanager
    async def connected(self, **given: Any) -> AsyncIterator[Client]:
        async with assay.open(self.file, **given) as app:
            yield app

    async def serve(self, client: Client, queue: str, **options: Any) -> asyncio.Task[None]:
        assert isinstance(client, assay.App)
        worker = await client.serve(queue, **{**self.options, **options})
        return next(task for served, task in client._serving if served is worker)


class Served:
    """A server that is shared by all tests, a namespace in it for each."""

    def __init__(self, server: Server) -> None:
        self.url = f"http://{server.host}:{server.port}"
        self.namespace = f"space-{secrets.token_hex(5)}"
        self._is_made = False

    @contextlib.asynccontextmanager
    async def connected(self, **given: Any) -> AsyncIterator[Client]:
        async with await assay.connect(self.url, namespace=self.namespace, **given) as client:
            if not self._is_made:
                await client.namespaces.create(self.namespace)
                self._is_made = True
            yield client

    async def serve(self, client: Client, queue: str, **options: Any) -> asyncio.Task[None]:
        worker = client.worker(queue, **options)
        task = asyncio.create_task(worker.run())
        await asyncio.wait_for(worker.wait_until_ready(), 10)
        return task
