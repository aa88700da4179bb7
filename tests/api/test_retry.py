"""Operator retry (contract 5.19, 8.11): the failed activity runs again and the run is healed."""

from __future__ import annotations

import asyncio

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json
from tests.support.tasks import task_history


async def activities(api: Api, run: str, *seqs: int, first: str = "a") -> None:
    """Schedule activities named a1, a2 ... that fail at their first failure."""
    options: Json = {"task_queue": api.queue, "max_attempts": 1}
    await api.advance(run, *(commands.activity(seq, f"{first}{seq}", **options) for seq in seqs))


async def failed_run(api: Api) -> tuple[str, int]:
    """A run that failed because its second activity did."""
    run = await api.start()
    await activities(api, run, 1)
    await api.complete((await api.take("a1"))["id"], "one")
    await activities(api, run, 2)
    broken = (await api.take("a2"))["id"]
    await api.fail(broken, "no disk")
    await api.advance(run, commands.fail("activity 'a2' failed: no disk"))
    return run, broken


@over_http
async def test_the_answer_and_the_records(api: Api) -> None:
    run, broken = await failed_run(api)
    answer = await api.retry(run)
    assert (answer["workflow_id"], answer["status"]) == (run, "WAITING")
    assert answer["invalidated_activities"] == 0
    record = answer["activity"]
    assert record == await api.activity(broken)
    assert (record["id"], record["seq"], record["status"]) == (broken, 2, "PENDING")
    assert (record["attempt"], record["max_attempts"]) == (1, 1)
    cleared = ("result", "error", "claimed_by", "started_at", "completed_at", "last_heartbeat")
    assert [name for name in cleared if record[name] is not None] == []
    healed = await api.describe(run)
    assert healed["status"] == "WAITING"
    assert [healed[name] for name in ("result", "error", "completed_at")] == [None] * 3
    [*_, requested] = await api.history(run)
    assert requested.type == "ActivityRetryRequested"
    [failure] = await api.events(run, "ActivityFailed")
    assert requested.payload == {
        "activity_id": broken,
        "activity_seq": 2,
        "name": "a2",
        "failed_event_seq": failure.seq,
        "requested_by": "ann",
        "reason": "mended",
        "invalidated_activities": 0,
    }


@over_http
async def test_a_healed_run_goes_on_from_the_retried_activity(api: Api) -> None:
    run, broken = await failed_run(api)
    await api.retry(run)
    assert await api.poll_run() is None  # WAITING for the activity, not for a worker
    again = await api.take("a2")
    assert (again["id"], again["attempt"]) == (broken, 1)
    assert await api.status(run) == "WAITING"
    await api.complete(broken, "two")
    task = await api.claim(run)
    assert await api.status(run) == "RUNNING"
    polled = task_history(task)
    outcomes = [event.payload["result"] for event in polled if event.type == "ActivityCompleted"]
    assert outcomes == ["one", "two"]
    assert not {"ActivityFailed", "WorkflowFailed"} & {event.type for event in polled}
    seqs = [event.seq for event in polled]
    assert seqs == sorted(seqs)
    stored = await api.history(run)
    assert [event.type for event in stored if event.type.endswith("Failed")] == [
        "ActivityFailed",
        "WorkflowFailed",
    ]
    assert [event for event in stored if event in polled] == polled
    await api.submit(run, commands.complete("healed"))
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_activities_of_higher_seq_are_forgotten(api: Api) -> None:
    run = await api.start()
    await activities(api, run, 1)
    broken = (await api.take("a1"))["id"]
    await api.fail(broken)
    await activities(api, run, 2, 3, first="undo")
    undone = (await api.take("undo2"))["id"]
    await api.complete(undone)
    await api.advance(run, commands.fail())
    pending = (await api.events(run, "ActivityScheduled"))[-1].payload["activity_id"]
    answer = await api.retry(run)
    assert answer["invalidated_activities"] == 2
    for gone in (undone, pending):
        await api.send("GET", f"/activities/{gone}", status=404)
        await api.complete(gone, status=404)
    await api.complete((await api.take("a1"))["id"])
    polled = task_history(await api.claim(run))
    scheduled = [event.payload["activity_seq"] for event in polled if is_schedule(event.type)]
    assert set(scheduled) <= {1}
    options: Json = {"task_queue": api.queue}
    await api.submit(run, commands.activity(2, "other", **options))
    fresh = (await api.take("other"))["id"]
    assert fresh not in (broken, undone, pending)


def is_schedule(kind: str) -> bool:
    return kind == "ActivityScheduled"


@over_http
async def test_of_several_failures_the_highest_seq_is_retried(api: Api) -> None:
    run = await api.start()
    await activities(api, run, 1, 2, 3)
    ids = [(await api.take(f"a{n}"))["id"] for n in (1, 2, 3)]
    await api.fail(ids[1])
    await api.fail(ids[0])
    await api.complete(ids[2])
    await api.advance(run, commands.fail())
    answer = await api.retry(run)
    assert answer["activity"]["id"] == ids[1]
    assert answer["invalidated_activities"] == 1
    assert (await api.activity(ids[0]))["status"] == "FAILED"
    await api.send("GET", f"/activities/{ids[2]}", status=404)


@over_http
async def test_cancelled_activities_of_lower_seq_return(api: Api) -> None:
    run = await api.start()
    options: Json = {"max_attempts": 1}
    await api.advance(
        run,
        commands.activity(1, "slow", task_queue=api.fresh("nobody")),
        commands.activity(2, "bad", task_queue=api.queue, **options),
    )
    await api.fail((await api.take("bad"))["id"])
    await api.advance(run, commands.fail())
    scheduled = (await api.events(run, "ActivityScheduled"))[0].payload["activity_id"]
    assert (await api.activity(scheduled))["status"] == "CANCELLED"
    await api.retry(run)
    assert (await api.activity(scheduled))["status"] == "PENDING"


@over_http
async def test_an_outcome_that_came_after_the_end_is_appended_now(api: Api) -> None:
    run = await api.start()
    await activities(api, run, 1, 2)
    slow, bad = (await api.take("a1"))["id"], (await api.take("a2"))["id"]
    await api.fail(bad)
    await api.advance(run, commands.fail())
    await api.complete(slow, "late but good")
    assert "ActivityCompleted" not in await api.kinds(run)
    await api.retry(run)
    [event] = await api.events(run, "ActivityCompleted")
    assert event.payload["activity_id"] == slow
    assert event.payload["result"] == "late but good"


@over_http
async def test_timers_silenced_by_the_end_get_the_time_they_had_left(api: Api) -> None:
    run = await api.start()
    options: Json = {"max_attempts": 1, "task_queue": api.queue}
    await api.advance(run, commands.timer(1, 0.5), commands.activity(1, "bad", **options))
    await api.fail((await api.take("bad"))["id"])
    await api.advance(run, commands.fail())
    assert "TimerFired" not in await api.kinds(run)
    await asyncio.sleep(0.6)  # the time it had is over, but it had been stopped
    await api.retry(run)
    assert "TimerFired" not in await api.kinds(run)
    task = await api.claim(run)
    assert task["history"][-1]["event_type"] == "TimerFired"


@over_http
async def test_timers_scheduled_after_the_failure_are_void(api: Api) -> None:
    run = await api.start()
    await activities(api, run, 1)
    await api.fail((await api.take("a1"))["id"])
    await api.signal(run, "go", "kept")
    await api.advance(run, commands.timer(1, 0))
    await api.claim(run)
    await api.submit(run, commands.fail())
    await api.retry(run)
    await api.complete((await api.take("a1"))["id"])
    polled = task_history(await api.claim(run))
    kinds = [event.type for event in polled]
    assert "SignalReceived" in kinds
    assert not {"TimerScheduled", "TimerFired", "WorkflowFailed"} & set(kinds)
    await api.submit(run, commands.timer(1, 0))  # its number is free again
    await api.advance(run)
    assert len(await api.events(run, "TimerScheduled")) == 2
    assert len(await api.events(run, "TimerFired")) == 2


@over_http
async def test_of_concurrent_requests_one_wins(api: Api) -> None:
    run, _ = await failed_run(api)
    body = {"requested_by": "ann", "reason": "mended"}
    asked = (api.ask("POST", at(run, "retry"), body) for _ in range(12))
    answers = sorted([answer.status for answer in await asyncio.gather(*asked)])
    assert answers == [200] + [409] * 11
    assert len(await api.events(run, "ActivityRetryRequested")) == 1


@over_http
async def test_a_run_may_be_retried_until_it_is_well(api: Api) -> None:
    run, broken = await failed_run(api)
    for _ in range(2):
        await api.retry(run)
        await api.fail((await api.take("a2"))["id"], "still no disk")
        task = await api.claim(run)
        failures = [item for item in task["history"] if item["event_type"] == "ActivityFailed"]
        assert [item["payload"]["error"] for item in failures] == ["still no disk"]
        await api.submit(run, commands.fail())
    await api.retry(run)
    await api.complete(broken, status=409)
    await api.complete((await api.take("a2"))["id"])
    await api.advance(run, commands.complete())
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_grounds_for_refusal(api: Api) -> None:
    running = await api.start()
    await activities(api, running, 1)
    await api.fail((await api.take("a1"))["id"])
    await api.retry(running, 409)  # not FAILED
    await api.claim(running)
    fine = await api.start()
    await api.advance(fine, commands.complete())
    await api.retry(fine, 409)
    empty = await api.start()
    await api.advance(empty, commands.fail())
    await api.retry(empty, 409)  # no failed activity
    await api.retry(api.fresh("none"), 404)


@over_http
async def test_a_child_is_not_retried(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    await activities(api, child, 1)
    await api.fail((await api.take("a1"))["id"])
    await api.advance(child, commands.fail())
    before = await api.history(child)
    await api.retry(child, 409)
    assert await api.history(child) == before


@over_http
async def test_who_and_why_are_required(api: Api) -> None:
    run, _ = await failed_run(api)
    path = at(run, "retry")
    await api.send("POST", path, {"requested_by": "ann"}, 422)
    await api.send("POST", path, {"reason": "mended"}, 422)
    await api.send("POST", path, {"requested_by": "ann", "reason": " "}, 400)
    await api.send("POST", path, {"requested_by": "", "reason": "mended"}, 400)
    await api.send("POST", path, status=415)
    assert await api.status(run) == "FAILED"


@over_http
async def test_a_terminated_run_with_a_failure_may_be_retried(api: Api) -> None:
    run = await api.start()
    await activities(api, run, 1)
    await api.fail((await api.take("a1"))["id"])
    await api.terminate(run)
    await api.retry(run)
    await api.complete((await api.take("a1"))["id"])
    await api.advance(run, commands.complete())
    assert await api.status(run) == "COMPLETED"
