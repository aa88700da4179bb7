"""Many at once: each task is handed out once, each outcome is recorded once, seq has no gap."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json

POLLERS = 50


@over_http
async def test_fifty_pollers_get_each_run_once(api: Api) -> None:
    total = 200
    seen: Counter[str] = Counter()

    async def poller(n: int) -> None:
        while task := await api.poll_run(worker=f"w-{n}", wait=1):
            seen[task["workflow_id"]] += 1
            await api.submit(
                task["workflow_id"], commands.complete(n), worker=f"w-{n}", lease=task["lease"]
            )

    pollers = [asyncio.create_task(poller(n)) for n in range(POLLERS)]
    started = [await api.start() for _ in range(total)]
    await asyncio.gather(*pollers)
    assert seen == Counter(started)
    assert {await api.status(run) for run in started[::20]} == {"COMPLETED"}


@over_http
async def test_fifty_pollers_get_each_activity_once(api: Api) -> None:
    run = await api.start()
    total = 200
    await api.advance(
        run, *(commands.activity(n, "work", task_queue=api.queue) for n in range(1, total + 1))
    )
    seen: Counter[int] = Counter()

    async def poller(n: int) -> None:
        while task := await api.poll_activity(worker=f"w-{n}"):
            seen[task["seq"]] += 1
            await api.complete(task["id"], n, worker_id=f"w-{n}", attempt=1, token=task["token"])

    await asyncio.gather(*(poller(n) for n in range(POLLERS)))
    assert seen == Counter(range(1, total + 1))
    assert len(await api.events(run, "ActivityCompleted")) == total


@over_http
async def test_twenty_completions_of_one_run_are_twenty_events(api: Api) -> None:
    run = await api.start()
    seqs = range(1, 21)
    await api.advance(run, *(commands.activity(n, "work", task_queue=api.queue) for n in seqs))
    tasks = [await api.take() for _ in seqs]

    async def twice(task: Json) -> list[int]:
        path, body = f"/tasks/{task['id']}/complete", {"result": task["seq"]}
        both = await asyncio.gather(*(api.ask("POST", path, body) for _ in range(2)))
        return sorted(answer.status for answer in both)

    assert await asyncio.gather(*map(twice, tasks)) == [[200, 409]] * 20
    completed = await api.events(run, "ActivityCompleted")
    assert sorted(event.payload["activity_seq"] for event in completed) == [*seqs]
    assert all(event.payload["result"] == event.payload["activity_seq"] for event in completed)


@over_http
async def test_one_id_is_started_once(api: Api) -> None:
    run = api.fresh()
    bodies: list[Json] = [
        {"workflow_type": "Story", "workflow_id": run, "task_queue": api.queue, "input": n}
        for n in range(20)
    ]
    answers = await asyncio.gather(*(api.ask("POST", "/workflows", body) for body in bodies))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 19
    winner = next(n for n, answer in enumerate(answers) if answer.status == 201)
    assert (await api.claim(run))["input"] == winner
    assert await api.poll_run() is None


@over_http
async def test_one_end_wins_and_the_history_ends_with_it(api: Api) -> None:
    for _ in range(10):
        run = await api.start()
        await api.advance(run, commands.activity(1, "work", task_queue=api.queue))
        task = await api.take("work")
        await api.signal(run, "go")
        await api.claim(run)
        path = f"/workflow-tasks/{run}/commands"
        batch: Json = {"worker_id": "w-test", "commands": [commands.complete()]}
        await asyncio.gather(
            api.ask("POST", path, batch),
            api.ask("POST", f"/workflows/{run}/terminate"),
            api.ask("POST", f"/workflows/{run}/cancel"),
            api.ask("POST", f"/tasks/{task['id']}/complete", {"result": 1}),
            api.ask("POST", f"/workflows/{run}/signal/go"),
        )
        kinds = await api.kinds(run)
        ends = [kind for kind in kinds if kind in ("WorkflowCompleted", "WorkflowFailed")]
        assert len(ends) == 1
        assert kinds[-1] == ends[0]
        assert (await api.activity(task["id"]))["status"] == "COMPLETED"


@over_http
async def test_everything_at_once_on_one_run_leaves_no_gap(api: Api) -> None:
    run = await api.start()
    await api.advance(
        run, *(commands.activity(n, "work", task_queue=api.queue) for n in range(1, 16))
    )
    tasks = [await api.take() for _ in range(15)]
    await asyncio.gather(
        *(api.complete(task["id"], 1) for task in tasks),
        *(api.signal(run, "go", n) for n in range(15)),
        *(api.cancel(run, str(n)) for n in range(5)),
    )
    kinds = Counter(await api.kinds(run))  # the history is read gapless
    assert kinds["ActivityCompleted"] == kinds["SignalReceived"] == 15
    assert kinds["WorkflowCancelRequested"] == 5
