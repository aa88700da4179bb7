"""A server that ends in any way (contract 21): all it answered is there, and work goes on."""

from __future__ import annotations

import asyncio

import pytest

from tests.support import commands
from tests.support.api import Api
from tests.support.http import Http, Json
from tests.support.server import Server

SECS = 15.0


def between(server: Server, how: str) -> None:
    """End the server one way or the other, and start it again at once."""
    if how == "kill":
        server.kill()
    else:
        server.stop()
    server.start()


async def tell(server: Server, how: str) -> None:
    async with Http(server.host, server.port) as http:
        api = Api(http)
        run, broken, timed, held = [await api.start() for _ in range(4)]
        await api.advance(run, commands.activity(1, "work", task_queue=api.queue, input={"a": 1}))
        await api.advance(broken, commands.fail("no"))
        await api.advance(timed, commands.timer(1, 4))
        lease = (await api.claim(held))["lease"]
        child = api.fresh("child")
        await api.signal(run, "go", [1, {"x": None}])
        await api.advance(run, commands.child(child, task_queue=api.fresh("nobody")))
        task = await api.take("work")
        await api.beat(task["id"], {"done": 3})
        runs = (run, broken, timed, held, child)
        before = [await everything(api, name) for name in runs]
        activity = await api.activity(task["id"])
    between(server, how)
    async with Http(server.host, server.port) as http:
        api = follow(Api(http), api)
        assert [await everything(api, name) for name in runs] == before
        assert await api.activity(task["id"]) == activity
        assert await api.poll_run() is None  # marks, leases and timers stand as they stood
        await api.complete(task["id"], "kept", worker_id="w-test", token=task["token"])
        await api.submit(held, commands.complete(), lease=lease)
        history = await api.advance(run, commands.complete())
        assert history[-1].payload["result"] == "kept"
        await api.claim(timed)
        assert (await api.kinds(timed))[-1] == "TimerFired"
        await api.start()
        events = [await api.get(f"/workflows/{name}/events") for name in runs]
        ids = [item["id"] for items in events for item in items]
        assert len(set(ids)) == len(ids)


async def everything(api: Api, run: str) -> Json:
    record = await api.describe(run)
    for reason in record.get("waiting_for", []):
        reason.pop("note")  # may speak of workers that are alive, and after a restart none is yet
    return [record, await api.history(run)]


def follow(api: Api, earlier: Api) -> Api:
    """Go on with the names of an earlier connection."""
    api.mark, api.queue = f"{earlier.mark}-on", earlier.queue
    return api


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_nothing_answered_is_forgotten(own_server: Server, how: str) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(SECS):
            await tell(own_server, how)

    asyncio.run(in_time())


def test_a_timer_due_while_nobody_served_fires_at_once(own_server: Server) -> None:
    async def before() -> Api:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            api = Api(http)
            await api.start("late")
            await api.advance("late", commands.timer(1, 0.05), commands.timer(2, 60))
            return api

    async def after(earlier: Api) -> None:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            api = follow(Api(http), earlier)
            task = await api.claim("late", wait=2)
            fired = [item for item in task["history"] if item["event_type"] == "TimerFired"]
            assert [item["payload"]["timer_seq"] for item in fired] == [1]

    earlier = asyncio.run(before())
    own_server.kill()  # starting takes longer than the timer had left
    own_server.start()
    asyncio.run(after(earlier))


def test_lease_expiry_and_attempt_ends_survive(own_server: Server) -> None:
    async def before() -> Api:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            api = Api(http)
            await api.start("beaten")
            options: Json = {"heartbeat_timeout_secs": 0.5, "initial_interval_secs": 0}
            await api.advance("beaten", commands.activity(1, task_queue=api.queue, **options))
            await api.beat((await api.take("work"))["id"], "kept")
            return api

    async def after(earlier: Api) -> None:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            task = await follow(Api(http), earlier).take("work")
            assert (task["attempt"], task["heartbeat_details"]) == (2, '"kept"')

    earlier = asyncio.run(before())
    own_server.kill()
    own_server.start()
    asyncio.run(after(earlier))
