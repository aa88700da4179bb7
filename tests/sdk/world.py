"""One test's world: an engine in some shape, a client of it, workers with the test's own code."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from assay.sdk.client import Client
from assay.sdk.client.handle import WorkflowHandle
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.definition import KIND
from tests.sdk.shapes import Shape
from tests.support.caller import until
from tests.support.runs import Event, from_record, gapless

STORY_SECS = 30.0
RESULT_SECS = 10.0

Code = Callable[..., Any]


class World:
    """What a test may ask of its engine."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.client: Client
        self.mark = secrets.token_hex(5)
        self._numbers = 0
        self._here = contextlib.AsyncExitStack()

    async def deploy(
        self, *code: Code, queue: str = "default", codec: Codec = DEFAULT, **options: Any
    ) -> None:
        """Serve this code, in place of all that was served before."""
        await self.withdraw()
        connecting = self.shape.connected(codec=codec)
        self.client = await self._here.enter_async_context(connecting)
        for each in code:
            define = self.client.define if kind_of(each) == "workflow" else self.client.activity
            define(each)
        await self.serve(queue, **options)

    async def serve(self, queue: str, **options: Any) -> None:
        """One more worker, with all that has been deployed, on a queue."""
        working = await self.shape.serve(self.client, queue, **options)
        self._here.push_async_callback(ended, working)

    async def withdraw(self) -> None:
        """Nobody serves anything; the engine is as it was."""
        await self._here.aclose()

    def fresh(self, word: str = "run") -> str:
        """A name that nothing else has."""
        self._numbers += 1
        return f"{word}-{self.mark}-{self._numbers}"

    async def start(self, workflow: Any, input: object = None, **given: Any) -> WorkflowHandle[Any]:
        """A new run."""
        id = given.pop("workflow_id", None) or self.fresh()
        return await self.client.workflows.start(workflow, id, input, **given)

    async def run(self, workflow: Any, input: object = None, **given: Any) -> Any:
        """What a new run returns in the end."""
        return await self.result((await self.start(workflow, input, **given)).id)

    async def signal(self, id: str, name: str, payload: object = None) -> None:
        """Tell a run something, whatever has been deployed since it was started."""
        await self.client.workflows.signal(id, name, payload)

    async def result(self, id: str, kind: Any = Any) -> Any:
        """What a run returns in the end."""
        return await self.client.workflows.result(id, RESULT_SECS, kind=kind)

    async def history(self, id: str) -> list[Event]:
        """All events of a run."""
        return gapless([from_record(each) for each in await self.client.workflows.get_events(id)])

    async def kinds(self, id: str) -> list[str]:
        """The types of its events."""
        return [event.type for event in await self.history(id)]

    async def event(self, id: str, type: str, count: int = 1) -> Event:
        """The last of so many events of a type, once they have happened."""

        async def look() -> list[Event]:
            return [event for event in await self.history(id) if event.type == type]

        return (await until(look, lambda seen: len(seen) >= count))[count - 1]

    async def activity(self, id: str, number: int = 1) -> Any:
        """The record of an activity of a run."""
        scheduled = await self.event(id, "ActivityScheduled", number)
        path = f"/activities/{scheduled.payload['activity_id']}"
        return json.loads((await self.client.transport.request("GET", path)).body)

    async def record(self, id: str, good: Callable[[Any], bool] = bool) -> Any:
        """The record of a run, once it is as it should be."""
        return await until(lambda: self.client.workflows.describe(id), good)

    async def blocked(self, id: str) -> str:
        """Why a run does not go on, once it does not."""
        return str((await self.record(id, lambda run: run["blocked"]))["blocked"])

    async def query(self, id: str, name: str, good: Callable[[Any], bool] = bool) -> Any:
        """What a run answers to a query, once that is as it should be."""

        async def look() -> Any:
            found = await self.client.workflows.get_state(id, name)
            return None if found is None else found["value"]

        return await until(look, good)


def kind_of(code: Code) -> str:
    """`workflow` or `activity`, as its decorator says."""
    return str(getattr(code, KIND))


async def ended(working: asyncio.Task[None]) -> None:
    """No worker ends by itself; this one does now."""
    assert not working.done(), f"the worker has ended: {working}"
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


def payload(record: Any, field: str) -> Any:
    """What a field of a record holds as JSON in a string."""
    return json.loads(record[field])


def on_every_shape(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make `async def story(world)` a plain test of every shape."""

    @functools.wraps(story)
    def test(**fixtures: Any) -> None:
        asyncio.run(tell(story, World(fixtures.pop("shape")), fixtures))

    _world, *others = inspect.signature(story).parameters.values()
    names = ("shape", *(other.name for other in others))
    kept = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    test.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined] # read by pytest
    return test


async def tell(
    story: Callable[..., Awaitable[None]], world: World, fixtures: dict[str, Any]
) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
    async with asyncio.timeout(STORY_SECS), world._here:
        await story(world, **fixtures)
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"left behind: {left}"
    assert not complaints, complaints
