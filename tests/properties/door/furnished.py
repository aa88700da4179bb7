"""A house with everything in it, for one story."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.properties.door.world import World
from tests.support.inside import House, inside

SECS = 50.0
PREFIXES = ("/api/v1", "/api/v1/engine/workflow")
Story = Callable[[House, World], Awaitable[None]]


def furnished(database: str, story: Story, prefix: str = PREFIXES[0], secs: float = SECS) -> None:
    """Tell a story in it; all that it holds came in under that prefix."""

    async def tell() -> None:
        async with asyncio.timeout(secs), inside(database) as house:
            world = World(house.api)
            world.api.prefix = prefix
            await world.furnish()
            await story(house, world)

    asyncio.run(tell())
