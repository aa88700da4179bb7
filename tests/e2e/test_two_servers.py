"""Two servers on one PostgreSQL database (contract 11.3): either door, each thing once."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support import commands
from tests.support.api import Api
from tests.support.caller import at, commands_of, until
from tests.support.http import Http, Json
from tests.support.server import Server

SECS = 30.0
SOON_SECS = 1.5  # the contract says 100 ms; a busy test machine is not light load
LATE_SECS = 0.5
Pair: TypeAlias = tuple[Server, Server]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Pair]:
    logs = tmp_path_factory.mktemp("pair")
    first, second = (Server(module_database_url, logs / f"{name}.log") for name in ("one", "two"))
    with first.running(), second.running():
        yield first, second


def tell(pair: Pair, story: Callable[[Api, Api], Awaitable[None]]) -> None:
    """Tell a story to both servers at once, about the same queue."""

    async def both() -> None:
        one, two = pair
        async with (
            asyncio.timeout(SECS),
            Http(one.host, one.port) as http_one,
            Http(two.host, two.port) as http_two,
        ):
            first, second = Api(http_one), Api(http_two)
            second.queue = first.queue
            await story(first, second)

    asyncio.run(both())


def test_pollers_at_both_doors_get_each_run_once(pair: Pair) -> None:
    total = 150
    seen: Counter[str] = Counter()

    async def story(one: Api, two: Api) -> None:
        async def poller(api: Api, other: Api, name: str) -> None:
            while task := await api.poll_run(worker=name, wait=1):
                run = task["workflow_id"]
                seen[run] += 1
                await other.submit(run, commands.complete(), worker=name, lease=task["lease"])

        doors = [(one, two), (two, one)]
        pollers = [asyncio.create_task(poller(*doors[n % 2], f"w-{n}")) for n in range(50)]
        started = await asyncio.gather(*(doors[n % 2][0].start() for n in range(total)))
        await asyncio.gather(*pollers)
        assert seen == Counter(started)

    tell(pair, story)


def test_a_completion_reported_at_both_doors_counts_once(pair: Pair) -> None:
    async def story(one: Api, two: Api) -> None:
        run = await one.start()
        seqs = range(1, 21)
        await two.advance(run, *(commands.activity(n, task_queue=one.queue) for n in seqs))
        tasks = [await one.take() for _ in seqs]

        async def reported(task: Json) -> list[int]:
            path, body = f"/tasks/{task['id']}/complete", {"result": task["seq"]}
            answers = await asyncio.gather(*(api.ask("POST", path, body) for api in (one, two)))
            return sorted(answer.status for answer in answers)

        assert await asyncio.gather(*map(reported, tasks)) == [[200, 409]] * 20
        completed = await one.events(run, "ActivityCompleted")  # the history is read gapless
        assert sorted(event.payload["activity_seq"] for event in completed) == [*seqs]

    tell(pair, story)


def test_a_poll_held_at_the_other_door_is_answered_soon(pair: Pair) -> None:
    async def story(one: Api, two: Api) -> None:
        for near, far in ((one, two), (two, one)):
            held = asyncio.create_task(far.claim())
            await near.poll_run(wait=0.1)
            asked_at = time.monotonic()
            run = await near.start()
            task = await held
            assert time.monotonic() - asked_at < SOON_SECS
            await near.submit(run, commands.activity(1, task_queue=one.queue), lease=task["lease"])
            activity = await far.take()
            await near.complete(activity["id"], token=activity["token"])
            await far.advance(run, commands.timer(1, 0.2))
            await near.advance(run, commands.complete())
            assert (await far.kinds(run)).count("TimerFired") == 1

    tell(pair, story)


def test_plain_polls_get_the_oldest_first_at_either_door(pair: Pair) -> None:
    async def story(one: Api, two: Api) -> None:
        first = await one.start()
        seqs = range(1, 13)
        await one.advance(first, *(commands.activity(n, task_queue=one.queue) for n in seqs))
        runs = [await one.start() for _ in seqs]
        await asyncio.sleep(1.2)  # by then each has looked at what there is
        doors = [(one, two)[n // 2 % 2] for n in seqs]
        assert [(await api.take())["seq"] for api in doors] == list(seqs)
        assert [(await api.claim())["workflow_id"] for api in doors] == runs

    tell(pair, story)


def test_one_id_started_at_both_doors_is_one_run(pair: Pair) -> None:
    async def story(one: Api, two: Api) -> None:
        for _ in range(10):
            run = one.fresh()
            body = {"workflow_type": "Story", "workflow_id": run, "task_queue": one.queue}
            answers = [api.ask("POST", "/workflows", body) for api in (one, two) * 3]
            statuses = sorted([answer.status for answer in await asyncio.gather(*answers)])
            assert statuses == [201] + [409] * 5

    tell(pair, story)


def test_ends_that_race_at_both_doors_leave_one(pair: Pair) -> None:
    async def story(one: Api, two: Api) -> None:
        for _ in range(10):
            run = await one.start()
            task = await two.claim(run)
            child = one.fresh("child")
            await one.submit(run, commands.child(child, task_queue=one.queue), lease=task["lease"])
            task = await one.claim(child)
            batch: Json = {"worker_id": "w-test", "commands": [commands.complete(1)]}
            await asyncio.gather(
                one.ask("POST", commands_of(child), batch),
                two.ask("POST", at(child, "terminate")),
                two.ask("POST", at(run, "cancel"), {"reason": "race"}),
                one.ask("POST", at(run, "signal", "go")),
                two.ask("POST", at(child, "signal", "go")),
            )
            kinds = await two.kinds(child)
            ends = [kind for kind in kinds if kind in ("WorkflowCompleted", "WorkflowFailed")]
            assert len(ends) == 1
            assert kinds[-1] == ends[0]
            outcomes = [kind for kind in await one.kinds(run) if kind.startswith("ChildWorkflowC")]
            assert len(outcomes) == (ends[0] == "WorkflowCompleted")
            await one.terminate(run)

    tell(pair, story)


def test_a_retry_asked_for_at_both_doors_happens_once(pair: Pair) -> None:
    async def story(one: Api, two: Api) -> None:
        run = await one.start()
        await two.advance(run, commands.activity(1, task_queue=one.queue, max_attempts=1))
        await one.fail((await two.take())["id"])
        await two.advance(run, commands.fail())
        body = {"requested_by": "ann", "reason": "mended"}
        asked = [api.ask("POST", at(run, "retry"), body) for api in (one, two) * 4]
        statuses = sorted([answer.status for answer in await asyncio.gather(*asked)])
        assert statuses == [200] + [409] * 7

    tell(pair, story)


def test_work_goes_on_when_one_of_them_is_killed(postgres_url: str, tmp_path: Path) -> None:
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": "1"}
    first, second = (
        Server(postgres_url, tmp_path / f"{name}.log", environment=lease) for name in ("one", "two")
    )

    async def story(one: Api, two: Api) -> None:
        runs = [await one.start() for _ in range(30)]
        for _ in runs:
            task = await one.claim()
            await one.submit(task["workflow_id"], commands.timer(1, 1), lease=task["lease"])
        held = await one.start()
        await one.claim(held)
        first.kill()
        seen = set()

        async def all_seen() -> bool:
            task = await two.claim()
            seen.add(task["workflow_id"])
            await two.submit(task["workflow_id"], commands.complete(), lease=task["lease"])
            return seen == {*runs, held}

        await until(all_seen)
        for run in runs:
            assert (await two.kinds(run)).count("TimerFired") == 1

    with first.running(), second.running():
        tell((first, second), story)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_what_a_server_held_when_it_went_is_over_in_time_at_the_other(
    postgres_url: str, tmp_path: Path, end: signal.Signals
) -> None:
    """Claims and timers that are over before anybody can know that it is gone (contract §10.1)."""
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": "2"}
    first, second = (
        Server(postgres_url, tmp_path / f"{name}.log", environment=lease) for name in ("one", "two")
    )

    async def story(one: Api, two: Api) -> None:
        await asyncio.sleep(1.5)  # each knows of the other
        asleep, working, held = [await one.start() for _ in range(3)]
        await one.advance(asleep, commands.timer(1, 1.0))
        options: Json = {"heartbeat_timeout_secs": 1.5, "max_attempts": 1}
        await one.advance(working, commands.activity(1, task_queue=one.queue, **options))
        activity, _ = await one.take(), await one.claim(held)
        began = time.monotonic()
        await asyncio.sleep(0.1)  # what is said is heard
        first.process.send_signal(end)

        async def ended() -> list[str]:
            return [*await two.kinds(asleep), *await two.kinds(working)]

        await until(ended, lambda kinds: {"TimerFired", "ActivityFailed"} <= {*kinds})
        assert time.monotonic() - began < 1.5 + 1 + LATE_SECS
        assert (await two.activity(activity["id"]))["error"] == "heartbeat timeout"
        runs = {(await two.claim(wait=4))["workflow_id"] for _ in range(3)}
        assert runs == {asleep, working, held}
        assert time.monotonic() - began < 2 + 1 + LATE_SECS

    with first.running(), second.running():
        try:
            tell((first, second), story)
        finally:
            if end is signal.SIGSTOP:
                first.process.send_signal(signal.SIGCONT)
