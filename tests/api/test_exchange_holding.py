"""Exchanges that are held: what ends the wait, and the ends of runs that are asked about."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.exchange import PATIENCE_SECS, Session, Told, signal, submit
from tests.support.http import Http, Json
from tests.support.server import STOP_SECS, Server

SOON_SECS = 1.5  # the contract says 100 ms; a busy test machine is not light load


async def held(session: Session, **said: Any) -> asyncio.Task[Told]:
    """A request that the server holds by now."""
    task = asyncio.create_task(session.say(wait_secs=20, **said))
    await asyncio.sleep(0.1)
    assert not task.done()
    return task


async def soon(task: asyncio.Task[Told]) -> Told:
    async with asyncio.timeout(SOON_SECS):
        return await task


async def ending_of(session: Session, id: str) -> Json:
    """What the next request brings, which is held."""
    async with asyncio.timeout(PATIENCE_SECS):
        while not (told := await session.say(wait_secs=10)).endings:
            pass
    [ending] = told.endings
    assert ending["id"] == id
    return ending


# -- what ends the wait --------------------------------------------------------------------------


@over_http
async def test_a_run_that_appears_is_handed_over(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin()
    waiting = await held(sdk, runs=1)
    run = await api.start()
    assert [task["id"] for task in (await soon(waiting)).runs] == [run]


@over_http
async def test_an_activity_that_appears_is_handed_over(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.begin()
    await api.claim(run)
    waiting = await held(sdk, activities=1)
    await api.submit(run, commands.activity(1, "work", task_queue=api.queue))
    assert [task["name"] for task in (await soon(waiting)).activities] == ["work"]


@over_http
async def test_an_end_that_is_awaited_is_told(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.begin()
    waiting = await held(sdk, awaited=[run])
    await api.advance(run, commands.complete({"big": 12345678901234567890, "t": "é"}))
    told = await soon(waiting)
    result = {"big": 12345678901234567890, "t": "é"}
    ending = {"id": run, "last_id": run, "status": "COMPLETED", "result": result, "error": None}
    assert told.endings == [ending]


@over_http
async def test_nothing_comes_and_the_time_is_up(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin()
    for wait in (0.3, 0.3, 0):
        asked_at = time.monotonic()
        told = await sdk.say(runs=1, activities=1, wait_secs=wait)
        waited = time.monotonic() - asked_at
        assert told.is_empty
        assert wait - 0.05 < waited < wait + SOON_SECS


@over_http
async def test_who_has_something_to_say_is_not_held(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    asked_at = time.monotonic()
    await sdk.say(wait_secs=20)  # the first one: it is to say anew what it waits for
    await sdk.say(signal(run, "go"), wait_secs=20)
    await sdk.say({"op": "signal", "id": run, "name": " "}, wait_secs=20)
    await sdk.say(histories=[[1, 0]], wait_secs=20)
    assert time.monotonic() - asked_at < SOON_SECS


@over_http
async def test_what_came_meanwhile_is_brought_by_the_next_request(api: Api) -> None:
    sdk = Session(api)
    await sdk.begin(runs=1)
    run = await api.start()
    told = await soon(asyncio.create_task(sdk.say(runs=1, wait_secs=20)))
    assert [task["id"] for task in told.runs] == [run]


@over_http
async def test_operations_take_tasks_home_while_another_request_is_held(api: Api) -> None:
    """The step after next is in the answer to the one before it: no request in between."""
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    waiting = await held(sdk, runs=0, activities=1)
    work = commands.activity(1, "work", task_queue=api.queue)
    told = await sdk.do(submit(task, work, keeps=True), runs=1, activities=1)
    got = told.activities or (await soon(waiting)).activities
    assert [each["name"] for each in got] == ["work"]
    if told.activities:
        waiting.cancel()


def test_a_server_that_stops_lets_go_of_held_exchanges(own_server: Server) -> None:
    async def story() -> None:
        async with Http(own_server.host, own_server.port) as http:
            api = Api(http)
            sessions = [Session(api) for _ in range(3)]
            run = await api.start(task_queue="elsewhere")
            for sdk in sessions:
                await sdk.begin()
            waiting = [await held(sdk, runs=1, awaited=[run]) for sdk in sessions]
            stopping = asyncio.create_task(asyncio.to_thread(own_server.stop))
            for each in waiting:
                async with asyncio.timeout(STOP_SECS):
                    assert (await each).is_empty
            await stopping

    asyncio.run(story())


# -- how runs end --------------------------------------------------------------------------------


@over_http
async def test_every_way_to_end(api: Api) -> None:
    sdk = Session(api)
    endings: list[tuple[Json, str, Json, str | None]] = [
        (commands.complete([1]), "COMPLETED", [1], None),
        (commands.complete(), "COMPLETED", None, None),
        (commands.fail("broke\n"), "FAILED", None, "broke\n"),
        (commands.cancelled("enough"), "CANCELLED", None, None),
    ]
    for command, status, result, error in endings:
        run = await api.start()
        await sdk.say(awaited=[run])
        await api.advance(run, command)
        ending = await ending_of(sdk, run)
        assert (ending["status"], ending["result"], ending["error"]) == (status, result, error)
        assert ending["last_id"] == run


@over_http
async def test_ends_that_no_worker_brings_about(api: Api) -> None:
    sdk = Session(api)
    late, stopped, killed = [
        await api.start(timeout_secs=0.2),
        await api.start(),
        await api.start(),
    ]
    for run in (late, stopped, killed):
        await sdk.say(awaited=[run])
    await api.cancel(stopped)
    await api.terminate(killed, "no more")
    found: dict[str, Json] = {}
    async with asyncio.timeout(PATIENCE_SECS):
        while len(found) < 3:
            told = await sdk.say(wait_secs=10)
            found |= {ending["id"]: ending for ending in told.endings}
    assert found[late]["status"] == "TIMED_OUT"
    assert found[late]["error"] == "timed out"
    assert found[stopped]["status"] == "CANCELLED"
    assert (found[killed]["status"], found[killed]["error"]) == ("FAILED", "no more")


@over_http
async def test_a_run_that_had_ended_is_told_of_at_once(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await api.advance(run, commands.complete(7))
    for _ in range(2):  # asked again it is told again
        await sdk.say(awaited=[run])
        assert (await ending_of(sdk, run))["result"] == 7


@over_http
async def test_of_a_chain_of_successors_the_end_of_the_last_is_told(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.begin()
    waiting = await held(sdk, awaited=[run])
    await api.advance(run, commands.continue_as_new({"lap": 2}))
    second = (await api.claim())["workflow_id"]
    assert second != run
    await asyncio.sleep(0.1)
    assert not waiting.done()
    successor = await api.continue_as_new(second, input=3)
    third = (await api.claim())["workflow_id"]
    assert third == successor["workflow_id"]
    await api.submit(third, commands.complete("over"))
    [ending] = (await soon(waiting)).endings
    assert (ending["id"], ending["last_id"], ending["result"]) == (run, third, "over")


@over_http
async def test_of_a_run_that_is_not_there_no_end_is_told(api: Api) -> None:
    sdk, id = Session(api), api.fresh("none")
    await sdk.say(awaited=[id])
    ending = await ending_of(sdk, id)
    assert ending == {"id": id}


@over_http
async def test_a_run_that_is_deleted_meanwhile_is_not_there(api: Api) -> None:
    """Its predecessor is what was asked about: the chain has a link that is gone."""
    sdk, run = Session(api), await api.start()
    successor = (await api.continue_as_new(run))["workflow_id"]
    await sdk.begin()
    waiting = await held(sdk, awaited=[run])
    await api.delete(run)
    await asyncio.sleep(0.05)
    await api.terminate(successor)
    assert (await soon(waiting)).endings == [{"id": run}]


@over_http
async def test_several_are_awaited_and_each_is_told_once(api: Api) -> None:
    sdk, other = Session(api), Session(api)
    runs = [await api.start() for _ in range(20)]
    await sdk.say(awaited=runs[:10])
    await sdk.say(awaited=runs)  # the first ten again
    await other.say(awaited=runs[:1])
    told: list[str] = []
    for run in runs:
        await api.terminate(run)
    async with asyncio.timeout(PATIENCE_SECS):
        while len(told) < len(runs):
            told += [ending["id"] for ending in (await sdk.say(wait_secs=10)).endings]
    assert sorted(told) == sorted(runs)
    assert (await sdk.say(wait_secs=0.2)).is_empty
    await ending_of(other, runs[0])


@over_http
async def test_an_end_that_was_not_heard_is_told_again(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.begin()
    connection = await sdk.send(awaited=[run], wait_secs=20)
    await asyncio.sleep(0.1)
    connection.hang_up()
    await asyncio.sleep(0.1)
    await api.terminate(run)
    assert (await ending_of(sdk, run))["status"] == "FAILED"


def test_awaited_ends_are_heard_of_through_another_server(
    postgres_url: str, tmp_path: Path
) -> None:
    """Asked here, ended there."""
    here, there = (Server(postgres_url, tmp_path / f"{name}.log") for name in "ab")

    async def story() -> None:
        async with Http(here.host, here.port) as near, Http(there.host, there.port) as far:
            api, other = Api(near), Api(far)
            other.queue = api.queue
            sdk, run = Session(api), await api.start()
            await sdk.begin()
            waiting = await held(sdk, awaited=[run], runs=0)
            await other.advance(run, commands.complete(1))
            assert [each["id"] for each in (await soon(waiting)).endings] == [run]

    with here.running(), there.running():
        asyncio.run(story())
