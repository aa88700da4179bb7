"""Coroutine functions run with an environment, for tests that are plain functions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, Unpack

from assay.testing.environments import Environment, environment
from assay.testing.setting import Options

Result = TypeVar("Result")


def run(story: Callable[[Environment], Awaitable[Result]], **options: Unpack[Options]) -> Result:
    """Run a coroutine function with an environment; see `Options`."""

    async def play() -> Result:
        async with environment(**options) as env:
            return await story(env)

    return asyncio.run(play())
