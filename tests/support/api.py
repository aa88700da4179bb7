"""Everything one test can ask of a server, and how an `async def` becomes a plain test."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.http import Http
from tests.support.plans import Plans
from tests.support.runs import Runs
from tests.support.server import Server
from tests.support.tasks import Tasks

TEST_SECS = 30.0


class Api(Runs, Tasks, Plans):
    """Requests about runs and schedules, and those of a worker, for one test."""


def over_http(
    story: Callable[..., Awaitable[None]], *, secs: float = TEST_SECS, server: str = "server"
) -> Callable[..., None]:
    """Make `async def story(api, ...)` a plain test that takes the fixture named by `server`."""

    @functools.wraps(story)
    def test(**fixtures: Any) -> None:
        running: Server = fixtures.pop(server)
        asyncio.run(tell(running, story, secs, fixtures))

    first, *others = inspect.signature(story).parameters.values()
    assert first.name == "api", story
    wanted = inspect.Parameter(server, inspect.Parameter.KEYWORD_ONLY)
    kept = [other.replace(kind=inspect.Parameter.KEYWORD_ONLY) for other in others]
    test.__signature__ = inspect.Signature([wanted, *kept])  # type: ignore[attr-defined]
    return test


async def tell(
    server: Server, story: Callable[..., Awaitable[None]], secs: float, fixtures: dict[str, Any]
) -> None:
    async with asyncio.timeout(secs), Http(server.host, server.port) as http:
        await story(Api(http), **fixtures)
