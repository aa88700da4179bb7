"""Claims whose client hung up (contract 5.16, 5.17): undone at once, so that nothing is lost."""

from __future__ import annotations

import asyncio
import functools
import random
from collections import Counter

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import until
from tests.support.http import Connection, Json, Lost, request_bytes

POLLS = 1_000
TASKS = 500
LONG_WAIT = 20
STORY_SECS = 50.0

PATHS = {"workflow": "/workflow-tasks/poll", "activity": "/tasks/poll"}


async def hold(api: Api, path: str, worker: str = "w-gone") -> Connection:
    """Begin a held poll on a connection of its own."""
    connection = await api.http.open()
    body = {"queue": api.queue, "worker_id": worker, "wait_secs": LONG_WAIT}
    await connection.send(request_bytes("POST", api.prefix + path, body))
    return connection


@pytest.mark.parametrize("end", ["abort", "close"])
@over_http
async def test_a_run_is_not_handed_to_who_hung_up(api: Api, end: str) -> None:
    connection = await hold(api, PATHS["workflow"])
    await api.poll_run(wait=0.05)  # by then the other poll is held as well
    await hang_up(connection, end)
    await api.poll_run(wait=0.05)
    run = await api.start()
    assert (await api.describe(run))["claimed_by"] in (None, "w-gone")
    task = await api.claim(run, wait=2)  # far sooner than any lease ends
    assert len(task["history"]) == 1
    await api.submit(run, lease=task["lease"])
    assert await api.kinds(run) == ["WorkflowStarted"]


@pytest.mark.parametrize("end", ["abort", "close"])
@over_http
async def test_an_activity_is_not_handed_to_who_hung_up(api: Api, end: str) -> None:
    connection = await hold(api, PATHS["activity"])
    await api.poll_activity(wait=0.05)
    await hang_up(connection, end)
    await api.poll_activity(wait=0.05)
    run = await api.start()
    await api.advance(run, commands.activity(1, "work", task_queue=api.queue))
    task = await api.take("work")
    assert (task["attempt"], task["claimed_by"]) == (1, "w-test")
    assert await api.kinds(run) == ["WorkflowStarted", "ActivityScheduled"]


async def hang_up(connection: Connection, how: str) -> None:
    if how == "abort":
        connection.hang_up()
    else:
        await connection.close()


@over_http
async def test_half_a_request_claims_nothing(api: Api) -> None:
    run = await api.start()
    whole = request_bytes(
        "POST", api.prefix + PATHS["workflow"], {"queue": api.queue, "worker_id": "w-gone"}
    )
    for length in (10, len(whole) // 2, len(whole) - 1):
        connection = await api.http.open()
        await connection.send(whole[:length])
        connection.hang_up()
    assert (await api.describe(run))["claimed_by"] is None
    await api.claim(run, wait=0)


@functools.partial(over_http, secs=STORY_SECS)
async def test_polls_that_end_at_random_moments_lose_no_run(api: Api) -> None:
    async def appear() -> list[str]:
        return await paced([api.start(api.fresh()) for _ in range(TASKS)])

    wanted, seen = await storm(api, PATHS["workflow"], appear, "workflow_id")
    assert seen == Counter(wanted)


@functools.partial(over_http, secs=STORY_SECS)
async def test_polls_that_end_at_random_moments_lose_no_activity(api: Api) -> None:
    run = await api.start()

    async def appear() -> list[str]:
        for first in range(1, TASKS + 1, 10):
            seqs = range(first, first + 10)
            await api.advance(run, *(commands.activity(n, task_queue=api.queue) for n in seqs))
            await api.signal(run, "more")
        scheduled = await api.events(run, "ActivityScheduled")
        return [str(event.payload["activity_id"]) for event in scheduled]

    wanted, seen = await storm(api, PATHS["activity"], appear, "id")
    assert seen == Counter(wanted)
    assert len(wanted) == TASKS
    for name in random.sample(wanted, 20):
        record = await api.activity(int(name))
        assert (record["status"], record["attempt"]) == ("RUNNING", 1)


async def paced(coming: list[Json]) -> list[str]:
    """Let work appear about ten at a time."""
    names: list[str] = []
    for n in range(0, len(coming), 10):
        names += await asyncio.gather(*coming[n : n + 10])
        await asyncio.sleep(0.01)
    return names


async def storm(api: Api, path: str, appear: Json, key: str) -> tuple[list[str], Counter[str]]:
    """Work appears while polls come and hang up; then live polls take what is left."""
    appearing = asyncio.create_task(appear())
    fickle = [fickle_poll(api, path, key, n) for n in range(POLLS)]
    seen = Counter(name for name in await asyncio.gather(*fickle) if name)
    wanted = await appearing

    async def one_more() -> bool:
        body = {"queue": api.queue, "worker_id": "w-live"}
        task = (await api.send("POST", path, body)).json()
        if task and key in task:
            seen[str(task[key])] += 1
        return seen.total() >= len(wanted)

    await until(
        one_more, secs=25
    )  # undone claims are back at once, not after a lease of half a minute
    return wanted, seen


async def fickle_poll(api: Api, path: str, key: str, n: int) -> str | None:
    """Poll, hang up at some moment, and tell what was handed over before that, if anything."""
    await asyncio.sleep(random.uniform(0, 1.5))
    connection = await hold(api, path, f"w-{n}")
    answer = asyncio.create_task(connection.answer())
    await asyncio.wait([answer], timeout=random.uniform(0, 0.5))
    if not answer.done():
        connection.finish()
    try:
        task = (await answer).json()  # may have been under way when this end hung up
    except Lost:
        return None
    finally:
        await connection.close()
    return str(task[key]) if task and key in task else None
