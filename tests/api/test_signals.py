"""Signals (contract 5.7, 8.4): recorded once, in order, whether or not anybody waits."""

from __future__ import annotations

import asyncio

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import NOTHING
from tests.support.plain_replay import Context, replay
from tests.support.plain_worker import PlainWorker


@over_http
async def test_a_signal_before_anybody_waits_is_kept(api: Api) -> None:
    run = await api.start()
    answer = await api.signal(run, "go", {"n": 1})
    assert answer.body == b""
    assert answer.headers["content-length"] == "0"
    task = await api.claim(run, wait=0)
    assert [item["event_type"] for item in task["history"]] == ["WorkflowStarted", "SignalReceived"]
    assert task["history"][1]["payload"] == {"signal": "go", "payload": {"n": 1}}
    assert await api.status(run) == "RUNNING"


@pytest.mark.parametrize("body", [NOTHING, b"", None, {}, [], {"payload": None}])
@over_http
async def test_a_signal_without_payload(api: Api, body: object) -> None:
    run = await api.start()
    await api.send("POST", at(run, "signal", "go"), body)
    [event] = await api.events(run, "SignalReceived")
    assert event.payload == {"signal": "go", "payload": None}


@over_http
async def test_a_signal_makes_a_waiting_run_dispatchable(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.wait("go"))
    assert await api.poll_run() is None
    held = asyncio.create_task(api.claim(run))
    await api.signal(run, "other")
    await held


@over_http
async def test_a_repeated_request_id_records_nothing(api: Api) -> None:
    run = await api.start()
    body = {"payload": 1, "request_id": "r-1"}
    await asyncio.gather(*(api.send("POST", at(run, "signal", "go"), body) for _ in range(5)))
    assert len(await api.events(run, "SignalReceived")) == 1
    await api.send("POST", at(run, "signal", "go"), body | {"request_id": "r-2"})
    assert len(await api.events(run, "SignalReceived")) == 2
    await api.terminate(run)
    await api.send("POST", at(run, "signal", "go"), body)
    await api.send("POST", at(run, "signal", "go"), body | {"request_id": "r-3"}, 409)
    other = await api.start()
    await api.send("POST", at(other, "signal", "go"), body)
    assert len(await api.events(other, "SignalReceived")) == 1


@over_http
async def test_a_signal_to_an_ended_run_is_refused(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.complete())
    before = await api.history(run)
    answer = await api.signal(run, "go", 1, status=409)
    assert run in answer.error
    assert await api.history(run) == before


@over_http
async def test_a_signal_to_an_unknown_run_is_not_found(api: Api) -> None:
    run = api.fresh("none")
    answer = await api.signal(run, "go", status=404)
    assert answer.error == f"not found: workflow {run}"


@over_http
async def test_concurrent_signals_are_all_there_in_one_order(api: Api) -> None:
    run = await api.start()
    await asyncio.gather(*(api.signal(run, "go", n) for n in range(40)))
    received = [event.payload["payload"] for event in await api.events(run, "SignalReceived")]
    assert sorted(received) == [*range(40)]
    for n in range(5):
        await api.signal(run, "in order", n)
    received = [event.payload for event in await api.events(run, "SignalReceived")]
    assert [item["payload"] for item in received if item["signal"] == "in order"] == [*range(5)]


@over_http
async def test_surplus_signals_stay_for_later_waits(api: Api) -> None:
    async def pairs(ctx: Context, given: object) -> object:
        return [await ctx.wait_for_signal("go"), await ctx.wait_for_signal("go")]

    worker = PlainWorker(api.http, api.queue)
    worker.define("Pairs", pairs)
    run = await api.start(workflow_type="Pairs")
    for n in range(3):
        await api.signal(run, "go", n)
    assert await worker.step()
    assert (await api.describe(run))["result"] == "[0,1]"
    assert "WorkflowAwaitingSignal" not in await api.kinds(run)


async def timed(ctx: Context, given: float) -> object:
    first = await ctx.wait_for_signal("go", given)
    return [first, await ctx.wait_for_signal("go")]


@over_http
async def test_a_timed_wait_that_the_timer_wins_leaves_the_signal(api: Api) -> None:
    worker = PlainWorker(api.http, api.queue)
    worker.define("Timed", timed)
    run = await api.start(workflow_type="Timed", input=0.05)
    assert await worker.step()
    task = await api.claim(run)  # the timer fired
    assert task["history"][-1]["event_type"] == "TimerFired"
    await api.signal(run, "go", "late")
    await api.submit(run)
    assert await worker.step()
    assert (await api.describe(run))["result"] == '[null,"late"]'


@over_http
async def test_a_timed_wait_that_the_signal_wins_ignores_its_timer(api: Api) -> None:
    worker = PlainWorker(api.http, api.queue)
    worker.define("Timed", timed)
    run = await api.start(workflow_type="Timed", input=0.1)
    assert await worker.step()
    await api.signal(run, "go", "early")
    assert await worker.step()
    task = await api.claim(run)  # the losing timer fires all the same
    assert task["history"][-1]["event_type"] == "TimerFired"
    await api.submit(run)
    await api.signal(run, "go", "second")
    assert await worker.step()
    assert (await api.describe(run))["result"] == '["early","second"]'
    assert len(await api.events(run, "TimerFired")) == 1


@over_http
async def test_waiting_is_recorded_once_until_its_signal_comes(api: Api) -> None:
    run = await api.start()

    async def waits_recorded() -> int:
        return len(await api.events(run, "WorkflowAwaitingSignal"))

    await api.advance(run, commands.wait("go"))
    await api.signal(run, "other")
    await api.advance(run, commands.wait("go"), commands.wait("go"))
    assert await waits_recorded() == 1
    await api.signal(run, "go")
    await api.advance(run, commands.wait("go"))
    assert await waits_recorded() == 2
    await api.signal(run, "other")
    await api.advance(run, commands.timer(1, 0), commands.wait("go", 1))
    assert await waits_recorded() == 3
    await api.advance(run, commands.wait("go", 1))  # its timer fired: it is a new wait
    assert await waits_recorded() == 4


@over_http
async def test_a_replay_of_the_recorded_history_asks_for_nothing_new(api: Api) -> None:
    run = await api.start(input=60)
    task = await api.claim(run)
    await api.submit(run, *replay(timed, task["input"], Context([])))
    await api.signal(run, "noise")
    before = await api.history(run)
    task = await api.claim(run)
    await api.submit(run, *replay(timed, task["input"], Context(before)))
    assert await api.history(run) == before
