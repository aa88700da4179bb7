"""Clients of an engine that goes away, and of one that comes back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.sdk.flavours import connected, with_client
from tests.support import commands
from tests.support.api import Api
from tests.support.server import Server


def test_connecting_to_nobody(flavour: str) -> None:
    async def story() -> None:
        with pytest.raises(ConnectionError, match="unreachable"):
            async with connected(flavour, "http://127.0.0.1:1"):
                pass

    asyncio.run(story())


def test_a_default_namespace(flavour: str, server: Server) -> None:
    async def story() -> None:
        url = f"http://{server.host}:{server.port}"
        async with connected(flavour, url) as main:
            space = f"space-{flavour}"
            await main.namespaces.create(space)
            async with connected(flavour, url, namespace=space) as client:
                assert client.namespace == space
                started = await client.workflows.start("Order")
                assert [run["id"] for run in await client.workflows.list()] == [started.id]
                assert await client.workflows.list(namespace="main", type="x") == []
                await started.terminate()

    asyncio.run(story())


def with_own_server(story: Any) -> Any:
    return with_client(story, server="own_server")


@with_own_server
async def test_a_restart_is_hardly_noticed(client: Any, api: Api, own_server: Server) -> None:
    id = await api.start()
    waiting = asyncio.create_task(client.workflows.result(id))
    await asyncio.sleep(0.1)
    await asyncio.to_thread(own_server.kill)
    described = asyncio.create_task(client.workflows.describe(id))
    signalled = asyncio.create_task(client.workflows.signal(id, "go"))
    await asyncio.to_thread(own_server.start)
    assert (await described)["id"] == id
    await signalled
    assert len(await api.events(id, "SignalReceived")) == 1
    await api.advance(id, commands.complete("done"))
    assert await waiting == "done"
