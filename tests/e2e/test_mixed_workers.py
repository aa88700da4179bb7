"""SDK workers beside plain ones: nobody starves, and no task is lost or waited for in vain."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.sdk.client import Client
from tests.e2e.voyager import LONG_SECS
from tests.support.api import Api
from tests.support.caller import until
from tests.support.cutting_proxy import CuttingProxy, Judge
from tests.support.http import Http, Json
from tests.support.plain_worker import PlainWorker
from tests.support.server import Server
from tests.support.worker_process import WorkerProcess, ended

SECS = 40.0
KEPT_SECS = 1.0  # so long a run with news is left to the worker that has it alive
HANG_UP_SECS = 0.2  # until the engine has noticed: what it sends off before then is lost
SLACK_SECS = 1.0  # for a busy machine
LOST_SECS = 3.0  # a pause, and what is left to do
SOON_SECS = 6.0  # far less than a lease, or an attempt at an activity
RUNS, SHARE = 60, 0.1


@contextlib.asynccontextmanager
async def asking(server: Server) -> AsyncIterator[Api]:
    async with asyncio.timeout(SECS), Http(server.host, server.port) as http:
        yield Api(http)


@contextlib.asynccontextmanager
async def served(client: Client, queue: str, **options: Any) -> AsyncIterator[None]:
    """What is registered with that client is served meanwhile."""
    worker = client.worker(queue, **options)
    task = asyncio.create_task(worker.run())
    await worker.wait_until_ready()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def plainly(worker: PlainWorker) -> AsyncIterator[None]:
    """The plain worker serves meanwhile."""
    task = asyncio.create_task(worker.serve())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def url_of(server: Server) -> str:
    return f"http://{server.host}:{server.port}"


async def results(api: Api, ids: list[str], secs: float = SECS) -> list[Any]:
    """What these runs come to, all of them within the time."""
    found = []
    async with asyncio.timeout(secs):
        for id in ids:
            path = f"/workflows/{id}/result?wait_secs={secs}"
            run = await api.get(path)
            assert run["status"] == "COMPLETED", run
            found.append(json.loads(run["result"]))
    return found


class Patient(PlainWorker):
    """A plain worker whose polls are held; one for each kind of task."""

    async def serve(self) -> None:
        await self._introduce()
        await asyncio.gather(
            self._take("/workflow-tasks/poll", "workflow_id", self._replay),
            self._take("/tasks/poll", "id", self._execute),
        )

    async def _take(self, path: str, sign: str, do: Callable[[Json], Awaitable[None]]) -> None:
        while True:
            where = {"queue": self._queue, "worker_id": self._worker_id, "wait_secs": 5}
            task = (await self.post(path, where)).json()
            if task and sign in task:
                await do(task)


class Both:
    """The same workflow and the same activity for both kinds of worker, and who did what."""

    def __init__(self, queue: str, work_secs: float) -> None:
        self.queue = queue
        self.work_secs = work_secs
        self.turns: Counter[str] = Counter()
        self.work: Counter[str] = Counter()

    def relay(self, who: str) -> Any:
        async def relay(ctx: Any, given: Any) -> Any:
            self.turns[who] += 1
            first = await ctx.execute_activity("who", given, task_queue=self.queue)
            await ctx.sleep(0.01)
            return [first, await ctx.execute_activity("who", given, task_queue=self.queue)]

        return relay

    def who(self, name: str) -> Callable[[Any, Any], Awaitable[str]]:
        async def who(ctx: Any, given: Any) -> str:
            self.work[name] += 1
            await asyncio.sleep(self.work_secs)
            return name

        return who

    def staff(self, worker: PlainWorker) -> PlainWorker:
        worker.define("relay", self.relay("plain"))
        worker.activity("who", self.who("plain"))
        return worker


async def played(server: Server, plain: type[PlainWorker], work_secs: float, **room: int) -> Both:
    """Many runs, with both kinds of worker on their queue."""
    async with asking(server) as api, await assay.connect(url_of(server)) as client:
        both = Both(api.queue, work_secs)
        client.define("relay", both.relay("sdk"))
        client.activity("who", both.who("sdk"))
        async with (
            served(client, api.queue, **room),
            plainly(both.staff(plain(api.http, api.queue))),
        ):
            ids = [await api.start(workflow_type="relay", input=n) for n in range(RUNS)]
            await results(api, ids)
    return both


def test_plain_polls_get_their_share_of_what_waits(own_server: Server) -> None:
    room = {"max_concurrent_workflows": 2, "max_concurrent_activities": 2}
    both = asyncio.run(played(own_server, PlainWorker, 0.02, **room))
    assert both.work.total() == 2 * RUNS
    assert min(both.work["sdk"], both.work["plain"]) > SHARE * 2 * RUNS, both.work


def test_held_polls_take_turns_with_an_sdk_worker(own_server: Server) -> None:
    both = asyncio.run(played(own_server, Patient, 0.0))
    assert both.work.total() == 2 * RUNS
    assert min(both.work["sdk"], both.work["plain"]) > SHARE * 2 * RUNS, both.work
    assert min(both.turns["sdk"], both.turns["plain"]) > SHARE * RUNS, both.turns


# The worker that has a run alive


async def dozing(api: Api, count: int) -> list[str]:
    """Runs that wait for a signal, and that some worker has alive."""
    ids = [await api.start(workflow_type="doze") for _ in range(count)]
    for id in ids:
        await until(lambda: api.events(id, "WorkflowAwaitingSignal"))  # noqa: B023 - awaited here
        await until(lambda: api.describe(id), lambda run: "signal" in kinds_of(run))  # noqa: B023 - the same
    return ids


def kinds_of(run: Json) -> list[str]:
    return [each["kind"] for each in run["waiting_for"]]


async def plain_doze(ctx: Any, given: Any) -> str:
    await ctx.wait_for_signal("go")
    return "plain"


async def woken(api: Api, ids: list[str], secs: float) -> list[Any]:
    """Wake them all; what they come to, within the time."""
    for id in ids:
        await api.signal(id, "go")
    return await results(api, ids, secs)


def test_nobody_waits_for_a_dead_worker(own_server: Server, tmp_path: Path) -> None:
    async def story() -> None:
        async with asking(own_server) as api:
            log = tmp_path / "worker.log"
            keeper = WorkerProcess("tests.e2e.voyager", own_server, api.queue, log=log)
            with ended([keeper]):
                ids = await dozing(api, 5)
                await asyncio.to_thread(keeper.kill)
                await asyncio.sleep(HANG_UP_SECS)
            plain = PlainWorker(api.http, api.queue)
            plain.define("doze", plain_doze)
            async with plainly(plain):
                found = await woken(api, ids, KEPT_SECS + SLACK_SECS)
            assert found == ["plain"] * 5

    asyncio.run(story())


def test_nobody_waits_for_a_worker_without_room(own_server: Server) -> None:
    async def story() -> None:
        over = asyncio.Event()
        async with asking(own_server) as api, await assay.connect(url_of(own_server)) as client:

            @client.define("doze")
            async def doze(ctx: assay.WorkflowContext) -> str:
                await ctx.wait_for_signal("go")
                return "sdk"

            @client.define("dream")
            async def dream(ctx: assay.WorkflowContext) -> str:
                return await ctx.step(sleep)

            async def sleep() -> str:
                await over.wait()
                return "dreamt"

            plain = PlainWorker(api.http, api.queue)
            plain.define("doze", plain_doze)
            async with served(client, api.queue, max_concurrent_workflows=1):
                ids = await dozing(api, 3)
                dreamer = await api.start(workflow_type="dream")
                await until(
                    lambda: api.describe(dreamer), lambda run: run["claimed_by"] is not None
                )
                async with plainly(plain):
                    assert await woken(api, ids, KEPT_SECS + SLACK_SECS) == ["plain"] * 3
                over.set()
                assert await results(api, [dreamer]) == ["dreamt"]

    asyncio.run(story())


# Answers that are lost

LOST = {
    "workflow task": b'"runs":[',
    "activity": b'"activities":[',
    "outcome of commands": b'"op":"commands"',
    "outcome of an activity": b'"op":"complete"',
}


@pytest.mark.parametrize("what", LOST)
def test_a_lost_answer_costs_no_task(own_server: Server, what: str) -> None:
    lost: list[float] = []

    def judge(request: bytes, answer: bytes) -> bool:
        if lost or LOST[what] not in request + answer:
            return False
        lost.append(time.monotonic())
        return True

    done = asyncio.run(through(own_server, judge, runs=3))
    assert done - lost[0] < LOST_SECS


def test_many_lost_answers_cost_no_task_either(own_server: Server) -> None:
    dice = random.Random(1)
    asyncio.run(
        through(
            own_server, lambda request, _: b"/exchange" in request and dice.random() < 0.2, runs=10
        )
    )


async def through(server: Server, judge: Judge, runs: int) -> float:
    """An SDK worker whose way to the engine loses answers; when everything was done.

    Everything is tried once, and none of it twice.
    """
    proxy = CuttingProxy(server, judge)
    async with asking(server) as api, proxy.running(), await assay.connect(proxy.url) as client:
        both = Both(api.queue, 0.0)
        client.define("relay", both.relay("sdk"))
        client.activity("who", both.who("sdk"))
        async with served(client, api.queue):
            ids = [await api.start(workflow_type="relay", input=n) for n in range(runs)]
            await results(api, ids)
            done = time.monotonic()
        for id in ids:
            for event in await api.events(id, "ActivityScheduled"):
                activity = await api.get(f"/activities/{event.payload['activity_id']}")
                assert (activity["status"], activity["attempt"]) == ("COMPLETED", 1)
    assert proxy.cuts > 0
    assert both.work["sdk"] == 2 * runs
    return done


# A worker that is asked to end


@pytest.mark.parametrize("how", [[], ["blocking"]], ids=["async", "blocking"])
def test_a_drained_worker_strands_nothing(
    own_server: Server, tmp_path: Path, how: list[str]
) -> None:
    async def story() -> None:
        async with asking(own_server) as api:
            log = tmp_path / "worker.log"

            def hire(*more: str) -> WorkerProcess:
                return WorkerProcess("tests.e2e.voyager", own_server, api.queue, *more, log=log)

            slow = hire("slow", *how)
            with ended(workers := [slow]):
                dozer = await dozing(api, 1)
                brief = await api.start(workflow_type="rest", input=0.7)
                busy = [
                    brief,
                    await api.start(workflow_type="rest", input=LONG_SECS),
                    await api.start(workflow_type="dream", input=LONG_SECS),
                    await api.start(workflow_type="rest_plainly", input=LONG_SECS),
                    await api.start(workflow_type="dream_plainly", input=LONG_SECS),
                ]
                for id in busy:
                    await until(lambda: api.describe(id), is_under_way)  # noqa: B023 - awaited here
                workers.append(hire())
                await until(lambda: api.get("/workers"), lambda found: len(found) == 2)
                began = time.monotonic()
                ending = asyncio.create_task(asyncio.to_thread(slow.terminate))
                found = await results(api, busy, SOON_SECS)
                assert found == ["the slow one"] + ["the quick one"] * 4
                assert await ending == 0, slow.said()
                assert await woken(api, dozer, KEPT_SECS + SLACK_SECS) == ["the quick one"]
                assert time.monotonic() - began < SOON_SECS

    asyncio.run(story())


def is_under_way(run: Json) -> bool:
    """Its activity runs, or its workflow task does."""
    return any("runs" in each["note"] or "works" in each["note"] for each in run["waiting_for"])
