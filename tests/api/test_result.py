"""The result of a run (contract 5.20): held until its chain has ended, never longer than asked."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at, until
from tests.support.http import Answer, Http, Json, Lost
from tests.support.inside import House, inside
from tests.support.server import Server

LONG = 30
SOON_SECS = 1.5  # the contract says 100 ms; a busy test machine is not light load
WAITERS = 200
LINKS = 300
ENDINGS: dict[str, Json] = {
    "COMPLETED": commands.complete({"n": [1]}),
    "FAILED": commands.fail("broken"),
    "CANCELLED": commands.cancelled("enough"),
}


async def result_of(api: Api, run: str, wait: float | str | None = None) -> Answer:
    query = "" if wait is None else f"?wait_secs={wait}"
    return await api.ask("GET", at(run, "result") + query)


async def held(api: Api, run: str, wait: float = LONG) -> asyncio.Task[Answer]:
    """A request that is on its way, and has had the time to arrive."""
    task = asyncio.create_task(result_of(api, run, wait))
    await asyncio.sleep(0.05)
    assert not task.done(), task
    return task


@pytest.mark.parametrize(("status", "ending"), ENDINGS.items())
@over_http
async def test_an_ended_run_is_answered_at_once(api: Api, status: str, ending: Json) -> None:
    run = await api.start(input=7)
    await api.advance(run, ending)
    for wait in (None, 0, 0.0, LONG, "60.0"):
        answer = await result_of(api, run, wait)
        assert (answer.status, answer.json()) == (200, await api.describe(run))
        assert answer.json()["status"] == status


@over_http
async def test_an_open_run_is_shown_as_it_stands(api: Api) -> None:
    run = await api.start()
    for wait in (None, 0.0, 0.3):
        asked_at = time.monotonic()
        answer = await result_of(api, run, wait)
        took = time.monotonic() - asked_at
        record = await api.describe(run)
        record.pop("waiting_for", None)
        assert (answer.status, answer.json()) == (202, record)
        assert (wait or 0) <= took < (wait or 0) + SOON_SECS


@over_http
async def test_runs_that_are_not_there(api: Api) -> None:
    for wait in (None, 0, LONG):
        asked_at = time.monotonic()
        answer = await result_of(api, "nobody", wait)
        assert (answer.status, answer.error) == (404, "not found: workflow nobody")
        assert time.monotonic() - asked_at < SOON_SECS


@pytest.mark.parametrize("wait", ["-1", "60.001", "61", "1e3", "-0.1", "abc", "NaN", "%20", "1,5"])
@over_http
async def test_times_that_cannot_be_waited(api: Api, wait: str) -> None:
    for run in (await api.start(), "nobody"):  # values come before existence
        answer = await result_of(api, run, wait)
        assert answer.status == 400, answer
        assert "wait_secs" in answer.error


@over_http
async def test_a_held_answer_comes_with_the_end(api: Api) -> None:
    for ending in (*ENDINGS.values(), None):
        run = await api.start()
        task = await api.claim(run)
        waiting = await held(api, run)
        ended_at = time.monotonic()
        if ending is None:
            await api.terminate(run, "enough")
        else:
            await api.submit(run, ending, lease=task["lease"])
        answer = await waiting
        assert time.monotonic() - ended_at < SOON_SECS
        assert (answer.status, answer.json()) == (200, await api.describe(run))


@over_http
async def test_ends_that_nobody_asked_for_by_name(api: Api) -> None:
    """A time-out, a pending child of a cancelled parent."""
    late = await api.start(timeout_secs=0.3)
    answer = await result_of(api, late, LONG)
    assert (answer.status, answer.json()["status"]) == (200, "TIMED_OUT")
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.fresh("queue")))
    waiting = await held(api, child)
    await api.cancel(parent)
    assert (await waiting).json()["status"] == "CANCELLED"


@pytest.mark.parametrize("by_handler", [True, False])
@over_http
async def test_successors_are_followed(api: Api, by_handler: bool) -> None:
    first = await api.start()
    waiting = [await held(api, first)]
    run = first
    for n in range(3):
        if by_handler:
            await api.advance(run, commands.continue_as_new(n))
            run = (await api.history(run))[-1].payload["new_workflow_id"]
        else:
            record = (await api.send("POST", at(run, "continue-as-new"), status=201)).json()
            run = record["id"]
        waiting.append(await held(api, first))
    answer = await result_of(api, first)
    assert (answer.status, answer.json()["id"]) == (202, run)
    await api.advance(run, commands.complete("end"))
    for answer in await asyncio.gather(*waiting):
        assert (answer.status, answer.json()) == (200, await api.describe(run))
        assert answer.json()["result"] == '"end"'


@over_http
async def test_a_run_begun_from_an_ended_one_is_another_story(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.complete(1))
    await api.send("POST", at(run, "continue-as-new"), status=201)
    answer = await result_of(api, run, LONG)
    assert (answer.status, answer.json()["id"], answer.json()["result"]) == (200, run, "1")


@over_http
async def test_a_long_chain(api: Api) -> None:
    first = run = await api.start()
    waiting = await held(api, first)
    for n in range(1, LINKS):
        new = f"{first}-{n}"
        await api.send("POST", at(run, "continue-as-new"), {"workflow_id": new}, 201)
        run = new
    assert (await result_of(api, first)).json()["id"] == run
    await api.terminate(run)
    assert (await waiting).json() == (await result_of(api, first)).json()


@over_http
async def test_a_chain_with_a_link_that_is_gone(api: Api) -> None:
    runs = [await api.start()]
    for n in range(4):
        new = f"{runs[0]}-{n}"
        await api.send("POST", at(runs[-1], "continue-as-new"), {"workflow_id": new}, 201)
        runs.append(new)
    waiting = [await held(api, run) for run in runs]
    soon_over = await held(api, runs[0], 1)
    await api.send("DELETE", at(runs[2]), status=204)
    assert (await soon_over).status == 404
    for run in runs[:3]:
        assert (await result_of(api, run, LONG)).error == f"not found: workflow {run}"
    await api.terminate(runs[-1])
    answers = await asyncio.gather(*waiting)
    assert [answer.status for answer in answers] == [404, 404, 404, 200, 200]
    await api.send("DELETE", at(runs[-1]), status=204)
    assert (await result_of(api, runs[3])).status == 404


@over_http
async def test_a_new_run_under_an_old_id_is_not_waited_for(api: Api) -> None:
    """The chain belongs to the run that had the id when the request came."""
    first, second = await api.start(), api.fresh()
    await api.send("POST", at(first, "continue-as-new"), {"workflow_id": second}, 201)
    waiting = await held(api, first)
    await api.send("DELETE", at(first), status=204)
    await api.start(first)
    await api.terminate(first)
    await api.terminate(second)
    assert (await waiting).status == 404
    assert (await result_of(api, first)).json()["id"] == first


@over_http
async def test_many_wait_for_one(api: Api) -> None:
    run = await api.start()
    waiting = [asyncio.create_task(result_of(api, run, LONG)) for _ in range(WAITERS)]
    await until(lambda: _all_under_way(api))
    await asyncio.sleep(0.1)
    ended_at = time.monotonic()
    await api.advance(run, commands.complete(5))
    answers = await asyncio.gather(*waiting)
    assert time.monotonic() - ended_at < SOON_SECS
    assert {(answer.status, answer.json()["result"]) for answer in answers} == {(200, "5")}


async def _all_under_way(api: Api) -> bool:
    return api.http.busy >= WAITERS


@over_http
async def test_a_failed_run_that_is_retried_while_somebody_waits(api: Api) -> None:
    """Whoever waits is told of the failure or of what came after it, and is never forgotten."""
    run = await api.start()
    await api.advance(run, commands.activity(1, task_queue=api.queue, max_attempts=1))
    await api.fail((await api.take())["id"])
    task = await api.claim(run)
    early = [await held(api, run) for _ in range(5)]
    await api.submit(run, commands.fail(), lease=task["lease"])
    await api.retry(run)
    late = await held(api, run)
    await api.complete((await api.take())["id"], 1)
    await api.advance(run, commands.complete("mended"))
    assert (await late).json()["status"] == "COMPLETED"
    for answer in await asyncio.gather(*early):
        assert answer.status == 200
        assert answer.json()["status"] in ("FAILED", "COMPLETED")


def test_a_server_that_stops_answers_first(own_server: Server) -> None:
    async def story() -> None:
        async with asyncio.timeout(LONG), Http(own_server.host, own_server.port) as http:
            api = Api(http)
            run = await api.start()
            waiting = [await held(api, run) for _ in range(3)]
            stopping = asyncio.create_task(asyncio.to_thread(own_server.stop))
            for answer in await asyncio.gather(*waiting):
                assert (answer.status, answer.json()["id"]) == (202, run)
            await stopping

    asyncio.run(story())


def test_nothing_is_left_of_those_who_waited(backend: str) -> None:
    async def story() -> None:
        async with asyncio.timeout(LONG), inside(backend) as house:
            api = house.api
            await api.start("open")
            await result_of(api, "open", 0.01)
            tasks = len(asyncio.all_tasks())
            gone = [leave(house, "open") for _ in range(20)]
            await asyncio.gather(*gone, *(result_of(api, "open", 0.2) for _ in range(20)))
            answered = [asyncio.create_task(result_of(api, "open", LONG)) for _ in range(20)]
            await asyncio.sleep(0.05)
            endings = house.runner.endings
            assert [len(callers) for callers in endings._waiting.values()] == [20]
            assert len(house.app.door.held) == 20
            await api.terminate("open")
            assert {answer.status for answer in await asyncio.gather(*answered)} == {200}
            await asyncio.sleep(0)  # those that watched for a hang-up go in the next turn
            assert (endings._waiting, endings._heard, house.app.door.held) == ({}, {}, set())
            assert len(asyncio.all_tasks()) <= tasks

    asyncio.run(story())


async def leave(house: House, run: str) -> None:
    path = f"/api/v1{at(run, 'result')}?wait_secs={LONG}"
    with pytest.raises(Lost):
        await house.http.request("GET", path, timeout=0.1)
