"""Closing a client ends its workers: nothing stays claimed, and nobody waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

import assay
from assay.sdk.faults import ClientFault
from tests.sdk.flavours import with_client
from tests.support.api import Api
from tests.support.caller import until

PROMPT_SECS = 1.0
SOON_SECS = 6.0  # far less than an attempt, or a lease


@contextlib.asynccontextmanager
async def listening(client: Any, api: Api, **options: Any) -> AsyncIterator[asyncio.Task[None]]:
    """Its worker has registered, and asks for tasks."""
    task = asyncio.ensure_future(client.listen(api.queue, f"here-{api.queue}", **options))
    await until(lambda: workers(api))
    try:
        yield task
    finally:
        await client.close()
        await asyncio.gather(task, return_exceptions=True)


async def workers(api: Api) -> list[Any]:
    return [each for each in await api.get("/workers") if each["identity"] == f"here-{api.queue}"]


def define(client: Any, name: str, work: Any) -> None:
    """A workflow that calls the activity of that name, and the activity."""

    async def call(ctx: assay.WorkflowContext, queue: str) -> Any:
        return await ctx.execute_activity(name, task_queue=queue)

    client.define(f"call {name}", call)
    client.activity(name, work)


@with_client
async def test_listening_ends_with_the_client(client: Any, api: Api) -> None:
    async with listening(client, api) as task:
        began = time.monotonic()
        await client.close()
        await asyncio.wait_for(task, SOON_SECS)
        assert time.monotonic() - began < PROMPT_SECS
    with pytest.raises(ClientFault, match="closed"):
        await client.listen(api.queue)


@pytest.mark.parametrize("way", ["async", "sync"])
@pytest.mark.parametrize("is_draining", [False, True])
@with_client
async def test_what_was_in_hand_goes_back(
    client: Any, api: Api, way: str, is_draining: bool
) -> None:
    begun, over = threading.Event(), threading.Event()

    async def work(_ctx: assay.ActivityContext, _given: Any) -> str:
        begun.set()
        await asyncio.get_running_loop().create_future()
        return "never"

    def work_plainly(_ctx: assay.ActivityContext, _given: Any) -> str:
        begun.set()
        over.wait(SOON_SECS)
        return "too late"

    define(client, "work", work if way == "async" else work_plainly)
    try:
        async with listening(client, api, drain_secs=60.0) as task:
            id = await api.start(workflow_type="call work", input=api.queue)
            await asyncio.to_thread(begun.wait, SOON_SECS)
            if is_draining:
                drain(client)
                await asyncio.sleep(0.05)  # it waits for what is under way, as it was told
                assert not task.done()
            await client.close()
            await asyncio.wait_for(task, SOON_SECS)
        [scheduled] = await api.events(id, "ActivityScheduled")
        activity = await api.activity(scheduled.payload["activity_id"])
        assert (activity["status"], activity["attempt"]) == ("PENDING", 1)
    finally:
        over.set()


def drain(client: Any) -> None:
    """As SIGTERM would have it."""
    serving = getattr(client, "_part", client)
    for worker in getattr(serving, "_twin", serving)._workers:
        worker._loop.call_soon_threadsafe(worker.drain)


@pytest.mark.parametrize("is_draining", [False, True])
@with_client
async def test_a_worker_that_has_not_found_its_engine_ends_too(
    client: Any, api: Api, is_draining: bool
) -> None:
    task = asyncio.ensure_future(client.listen(api.queue, namespace=api.fresh("nowhere")))
    await asyncio.sleep(0.1)  # it is refused, and will try again
    await (drained(client) if is_draining else client.close())
    await asyncio.wait_for(task, PROMPT_SECS)


async def drained(client: Any) -> None:
    drain(client)
