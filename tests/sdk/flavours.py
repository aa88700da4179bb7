"""Both clients behind one face, so that each story is told to both."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import assay.blocking
import assay.sdk.blocking.handle
import assay.sdk.client
from tests.support.api import TEST_SECS, Api
from tests.support.http import Http
from tests.support.server import Server

# Calls of both clients that return at once.
AT_ONCE = {"handle", "get_handle", "get", "keys", "define", "activity"}


class Awaited:
    """The blocking client, or a part of it, whose calls are made in threads and awaited."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if not callable(found):
            return Awaited(found) if type(found).__module__.startswith("assay.sdk") else found
        if name in AT_ONCE:
            return lambda *given, **named: shown(found(*given, **named))
        return functools.partial(call, found)

    def __getitem__(self, key: str) -> Any:
        return self._part[key]


async def call(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return shown(await asyncio.to_thread(function, *given, **named))


def shown(value: Any) -> Any:
    """A handle has calls of its own, all else is a value."""
    return Awaited(value) if isinstance(value, assay.sdk.blocking.handle.WorkflowHandle) else value


@contextlib.asynccontextmanager
async def connected(flavour: str, url: str, **given: Any) -> AsyncIterator[Any]:
    """A client of that flavour, closed afterwards."""
    client: Any
    if flavour == "async":
        client = await assay.sdk.client.connect(url, **given)
    else:
        client = Awaited(await asyncio.to_thread(assay.blocking.connect, url, **given))
    try:
        yield client
    finally:
        await client.close()


def with_client(
    story: Callable[..., Awaitable[None]], *, server: str = "server"
) -> Callable[..., None]:
    """Make `async def story(client, api)` a plain test on both stores with both clients."""

    @functools.wraps(story)
    def test(**fixtures: Any) -> None:
        told = {name: fixtures[name] for name in others}
        asyncio.run(tell(story, fixtures[server], fixtures["flavour"], told))

    _client, _api, *others = inspect.signature(story).parameters
    names = dict.fromkeys((server, "flavour", *others))
    kept = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    test.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined] # read by pytest
    return test


async def tell(
    story: Callable[..., Awaitable[None]], server: Server, flavour: str, fixtures: dict[str, Any]
) -> None:
    async with (
        asyncio.timeout(TEST_SECS),
        Http(server.host, server.port) as http,
        connected(flavour, f"http://{server.host}:{server.port}/") as client,
    ):
        await story(client, Api(http), **fixtures)
