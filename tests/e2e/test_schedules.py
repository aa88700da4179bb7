"""Schedules of every second on servers that freeze, die and restart (contract 9.3, 9.4, 11.3)."""

from __future__ import annotations

import asyncio
import signal
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from tests.support.api import Api
from tests.support.caller import at, until
from tests.support.http import Http, Json
from tests.support.plans import EVERY_SECOND
from tests.support.server import Server

SECS = 30.0
ON_TIME_SECS = 1.0
FROZEN_SECS = 2.0
DOWN_SECS = 2.2
POLICIES = ("skip", "queue", "cancel_old", "allow_all")

Told = TypeVar("Told")


def ask(server: Server, story: Callable[[Api], Awaitable[Told]]) -> Told:
    """Tell one server a story."""

    async def told() -> Told:
        async with asyncio.timeout(SECS), Http(server.host, server.port) as http:
            return await story(Api(http))

    return asyncio.run(told())


async def plan(api: Api) -> dict[str, int]:
    """A schedule for each policy, whose runs nobody works on; when each first comes due."""
    first = {}
    for policy in POLICIES:
        first[policy] = await every_second(api, policy)
    return first


async def every_second(api: Api, policy: str) -> int:
    """A schedule named for its policy; when it first comes due."""
    fields: Json = {"cron_expr": EVERY_SECOND, "overlap_policy": policy, "task_queue": "nobody"}
    return int((await api.schedule(policy, **fields))["next_run_at"])


async def tick(api: Api, times: int = 1) -> None:
    """Let so many more instants pass."""
    first = (await api.patch("allow_all"))["next_run_at"]

    async def last() -> float:
        return (await api.patch("allow_all"))["last_run_at"] or 0.0

    await until(last, lambda seen: seen >= first + times - 1)


async def runs_of(api: Api, name: str, first: int) -> dict[int, Json]:
    """Its runs by instant, after a check that there is none twice."""
    last = int((await api.patch(name))["last_run_at"])
    found: dict[int, Json] = {}
    for instant in range(first, last + 1):
        answer = await api.ask("GET", at(f"{name}-{instant}"))
        if answer.status == 200:
            found[instant] = answer.json()
        await api.send("GET", at(f"{name}-{instant}-2"), status=404)
    return found


def caught_up(runs: dict[int, Json]) -> None:
    """One run stands for all that was missed while nobody was there; all else was on time."""
    missed = [n for n in range(min(runs), max(runs) + 1) if n not in runs]
    assert missed == [*range(missed[0], missed[-1] + 1)], missed
    catch_up = runs.pop(missed[0] - 1)
    assert missed[-1] <= catch_up["created_at"] < missed[-1] + 1
    late = [run["created_at"] - instant for instant, run in runs.items()]
    assert min(late) >= 0
    assert statistics.median(late) < ON_TIME_SECS


async def check(api: Api, first: dict[str, int]) -> None:
    """Each policy did what it does, once for each instant, through everything."""
    allowed = await runs_of(api, "allow_all", first["allow_all"])
    assert {run["status"] for run in allowed.values()} == {"PENDING"}
    caught_up(allowed)
    replaced = await runs_of(api, "cancel_old", first["cancel_old"])
    *olds, newest = replaced.values()
    assert newest["status"] == "PENDING"
    for run in olds:
        assert run["status"] == "CANCELLED"
        [request] = await api.events(run["id"], "WorkflowCancelRequested")
        assert request.payload == {"reason": "replaced by schedule cancel_old"}
    caught_up(replaced)
    for policy in ("skip", "queue"):
        assert [*await runs_of(api, policy, first[policy])] == [first[policy]]
        assert (await api.patch(policy))["last_run_at"] > first[policy] + 4
    await api.terminate(f"queue-{first['queue']}")

    async def queued() -> Json:
        return (await api.patch("queue"))["last_workflow_id"]

    assert await until(queued, lambda seen: seen != f"queue-{first['queue']}") == (
        f"queue-{first['queue'] + 1}"
    )


def test_two_servers_of_which_one_freezes_and_dies(postgres_url: str, tmp_path: Path) -> None:
    one, two = (Server(postgres_url, tmp_path / f"{name}.log") for name in ("one", "two"))

    async def regular(api: Api) -> None:
        await tick(api)

    async def while_one_is_frozen(api: Api) -> None:
        one.process.send_signal(signal.SIGSTOP)
        try:
            before = time.monotonic()
            while time.monotonic() < before + FROZEN_SECS:
                await tick(api)
        finally:
            one.process.send_signal(signal.SIGCONT)
        await tick(api)

    async def to_the_end(api: Api) -> None:
        await tick(api, 2)
        await check(api, first)

    with two.running():
        with one.running():
            first = ask(one, plan)
            ask(one, regular)
            ask(two, while_one_is_frozen)
            one.kill()
        ask(two, regular)
        two.kill()
        time.sleep(DOWN_SECS)
        two.start()
        ask(two, to_the_end)


def test_one_server_that_is_stopped_for_a_while(tmp_path: Path) -> None:
    server = Server(f"sqlite://{tmp_path / 'assay.db'}", tmp_path / "server.log")

    async def begin(api: Api) -> int:
        first = await every_second(api, "allow_all")
        await tick(api)
        return first

    async def end(api: Api) -> None:
        await tick(api, 2)
        caught_up(await runs_of(api, "allow_all", first))

    with server.running():
        first = ask(server, begin)
        server.stop()
        time.sleep(DOWN_SECS)
        server.start()
        ask(server, end)
