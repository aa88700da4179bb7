"""Why a run is not moving (contract 3.1): the reasons that describe gives for an open run."""

from __future__ import annotations

import functools
import time

import pytest

from tests.support import commands
from tests.support.api import Api, over_http


@over_http
async def test_an_open_run_says_what_it_waits_for(api: Api) -> None:
    run = await api.start()
    [reason] = (await api.describe(run))["waiting_for"]
    assert reason["kind"] == "workflow_task"
    assert {"kind", "name", "since", "until", "note"} <= reason.keys()
    assert reason["note"]  # no worker lives on this queue, and that is said
    await api.advance(run, commands.activity(1, "pay", task_queue=api.queue))
    assert await kinds(api, run) == {("activity", "pay")}
    await api.take("pay")
    assert await kinds(api, run) == {("activity", "pay")}


async def kinds(api: Api, run: str) -> set[tuple[str, str | None]]:
    waiting_for = (await api.describe(run))["waiting_for"]
    return {(reason["kind"], reason["name"]) for reason in waiting_for}


@over_http
async def test_waiting_for_follows_the_commands(api: Api) -> None:
    child = api.fresh("child")
    for kind, name, command in (
        ("timer", None, commands.timer(1, 100)),
        ("signal", "go", commands.wait("go")),
        ("child", child, commands.child(child)),
    ):
        run = await api.start()
        await api.advance(run, command)
        [(seen_kind, seen_name)] = await kinds(api, run)
        assert seen_kind == kind
        assert name in (None, seen_name)


@functools.partial(over_http, server="short_lease_server")
async def test_a_blocked_run_says_so(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.submit(run, {"type": "ScheduleTimer"}, status=422)
    assert "blocked" in {kind for kind, _ in await kinds(api, run)}


@over_http
async def test_an_ended_run_waits_for_nothing(api: Api) -> None:
    run = await api.start()
    assert "waiting_for" in await api.describe(run)
    await api.terminate(run)
    assert not (await api.describe(run)).get("waiting_for")


@over_http
async def test_a_worker_that_holds_the_task_or_the_activity_is_named(api: Api) -> None:
    run = await api.start()
    task = await api.claim(run, worker="w-ann")
    [reason] = (await api.describe(run))["waiting_for"]
    assert (reason["kind"], "w-ann" in reason["note"]) == ("workflow_task", True)
    assert reason["since"] <= time.time() + 1 < reason["until"]
    work = commands.activity(1, "pay", task_queue=api.queue, heartbeat_timeout_secs=1000)
    await api.submit(run, work, worker="w-ann", lease=task["lease"])
    [reason] = (await api.describe(run))["waiting_for"]
    assert (reason["until"], "no living worker" in reason["note"]) == (None, True)
    taken = await api.take("pay", worker="w-bob")
    [reason] = (await api.describe(run))["waiting_for"]
    assert (reason["since"], "w-bob" in reason["note"]) == (taken["started_at"], True)
    assert reason["until"] == pytest.approx(taken["started_at"] + 300)


@over_http
async def test_a_living_worker_on_the_queue_is_no_news(api: Api) -> None:
    body = {"identity": "me", "queue": api.queue}
    await api.send("POST", "/workers/register", body)
    run = await api.start()
    [reason] = (await api.describe(run))["waiting_for"]
    assert (api.queue in reason["note"], "no living worker" in reason["note"]) == (True, False)
    space = await api.open_namespace()  # where nobody registered on that queue
    run = await api.start(namespace=space)
    [reason] = (await api.describe(run))["waiting_for"]
    assert "no living worker" in reason["note"]


@over_http
async def test_retries_delays_and_waits_with_a_time_out(api: Api) -> None:
    run = await api.start(start_delay_secs=500)
    [reason] = (await api.describe(run))["waiting_for"]
    assert reason["kind"] == "start_delay"
    assert reason["until"] == (await api.describe(run))["start_at"]
    run = await api.start()
    work = commands.activity(1, "pay", task_queue=api.queue, initial_interval_secs=400)
    step = {"type": "RecordStep", "seq": 1, "name": "fetch", "attempt": 1, "error": "down"}
    again = {**step, "final": False, "retry_in_secs": 300}
    await api.advance(run, work, again, commands.timer(1, 200), commands.wait("go", 1))
    await api.fail((await api.take("pay"))["id"])
    found = (await api.describe(run))["waiting_for"]
    assert [(reason["kind"], reason["name"]) for reason in found] == [
        ("retry", "pay"),
        ("retry", "fetch"),
        ("timer", None),
        ("signal", "go"),
    ]
    assert found == (await api.describe(run))["waiting_for"]
    activity, step, timer, signal = found
    assert activity["until"] == pytest.approx(activity["since"] + 400)
    assert step["until"] == pytest.approx(step["since"] + 300)
    assert "down" in step["note"]
    assert timer["until"] == signal["until"] == pytest.approx(timer["since"] + 200)
    assert ("go" in timer["note"], "timer 1" in signal["note"]) == (True, True)


@over_http
async def test_of_many_things_the_first_are_told(api: Api) -> None:
    run = await api.start()
    work = [commands.activity(seq, f"work-{seq}", task_queue=api.queue) for seq in range(1, 151)]
    await api.advance(run, *work)
    found = (await api.describe(run))["waiting_for"]
    assert [reason["name"] for reason in found] == [f"work-{seq}" for seq in range(1, 101)]
    assert "more" in found[-1]["note"]
    assert "more" not in found[0]["note"]


@over_http
async def test_a_child_that_went_on_is_told_under_its_first_id(api: Api) -> None:
    run, child = await api.start(), api.fresh("child")
    await api.advance(run, commands.child(child, task_queue=api.queue))
    successor = (await api.continue_as_new(child))["id"]
    [reason] = (await api.describe(run))["waiting_for"]
    assert (reason["kind"], reason["name"]) == ("child", child)
    assert successor in reason["note"]


@over_http
async def test_a_run_that_asked_for_nothing_says_so(api: Api) -> None:
    run = await api.start()
    await api.advance(run)
    [reason] = (await api.describe(run))["waiting_for"]
    assert (reason["kind"], reason["name"]) == ("signal", None)
