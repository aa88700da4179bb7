"""Workflow-task leases (contract 8.1, 10.2): expiry, renewal, late batches, repeated expiry."""

from __future__ import annotations

import asyncio
import functools
import time

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import until
from tests.support.http import Json
from tests.support.stores import SHORT_LEASE_SECS

over_short_leases = functools.partial(over_http, server="short_lease_server")
LATE_SECS = 3.0  # the contract says one


async def let_leases_expire(api: Api) -> None:
    """Wait until a lease that began after all others is over: its run is offered again."""
    queue = api.fresh("queue")
    await api.start(task_queue=queue)
    for wait in (0, SHORT_LEASE_SECS + LATE_SECS):
        assert await api.poll_run(queue=queue, wait=wait) is not None


@over_short_leases
async def test_an_expired_lease_goes_to_another_worker(api: Api) -> None:
    run = await api.start()
    claimed_at = time.monotonic()
    first = await api.claim(run, worker="w-dead")
    second = await api.claim(run, worker="w-live")
    waited = time.monotonic() - claimed_at
    assert SHORT_LEASE_SECS - 0.1 < waited < SHORT_LEASE_SECS + LATE_SECS
    assert second["history"] == first["history"]
    assert (await api.describe(run))["claimed_by"] == "w-live"
    await api.submit(run, commands.fail(), worker="w-dead", status=409)
    late = {"worker": "w-dead", "lease": first["lease"], "status": 409}
    await api.submit(run, commands.fail(), **late)
    await api.submit(run, commands.complete(), worker="w-live", lease=second["lease"])
    assert await api.status(run) == "COMPLETED"
    await api.submit(run, commands.fail(), worker="w-dead", status=409)


@over_short_leases
async def test_the_last_claimers_batch_counts_until_another_claims(api: Api) -> None:
    run, fenced = await api.start(), await api.start()
    await api.claim(run)
    task = await api.claim(fenced)
    await let_leases_expire(api)
    await api.submit(run, commands.complete())
    await api.submit(fenced, commands.complete(), lease=task["lease"])
    assert await api.status(run) == await api.status(fenced) == "COMPLETED"
    assert await api.poll_run() is None


@over_short_leases
async def test_a_heartbeat_that_names_the_run_renews_its_lease(api: Api) -> None:
    run = await api.start()
    body = {"identity": "me", "queue": api.queue}
    worker = (await api.send("POST", "/workers/register", body)).json()["worker_id"]
    await api.claim(run, worker=worker)
    end = time.monotonic() + 2 * SHORT_LEASE_SECS + 0.5

    async def over() -> bool:
        await beat(api, worker, [run])
        assert await api.poll_run(worker="w-other", wait=0.1) is None
        return time.monotonic() > end

    await until(over)
    await api.submit(run, commands.complete(), worker=worker)


async def beat(api: Api, worker: str, runs: Json) -> None:
    named = {} if runs is None else {"workflow_ids": runs}
    answer = await api.send("POST", "/workers/heartbeat", {"worker_id": worker, **named})
    assert answer.body == b""


@over_short_leases
async def test_a_heartbeat_renews_nothing_else(api: Api) -> None:
    mine, bare = await api.start(), await api.start()
    await api.claim(mine, worker="w-mine")
    await api.claim(bare, worker="w-bare")
    again = asyncio.gather(*(api.claim(worker=f"w-{n}") for n in range(2)))

    async def both_offered() -> bool:
        await beat(api, "w-bare", None)  # does not say which runs it holds
        await beat(api, "w-bare", [])
        await beat(api, "w-stranger", [mine])  # does not hold it
        await asyncio.sleep(0.05)
        return again.done()

    await until(both_offered)
    assert {task["workflow_id"] for task in await again} == {mine, bare}


@over_short_leases
async def test_a_batch_that_may_answer_an_earlier_claim_leaves_the_run_offered(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.claim(run)  # the same worker, after its first lease expired
    await api.submit(run, commands.wait("go"))
    task = await api.claim(run, wait=0)
    await api.submit(run, lease=task["lease"])
    assert await api.poll_run() is None


@over_short_leases
async def test_a_batch_that_may_answer_an_earlier_claim_loses_no_signal(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.signal(run, "go", 1)
    await api.claim(run)
    await api.submit(run, commands.continue_as_new())
    [*_, last] = await api.history(run)
    signals = await api.events(last.payload["new_workflow_id"], "SignalReceived")
    assert [event.payload["payload"] for event in signals] == [1]


@over_short_leases
async def test_a_fenced_batch_of_the_second_claim_leaves_nothing_open(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    task = await api.claim(run)
    await api.submit(run, commands.wait("go"), lease=task["lease"])
    assert await api.poll_run() is None


@over_short_leases
async def test_a_run_whose_workers_all_die_is_blocked_but_lives(api: Api) -> None:
    run = await api.start()
    for n in range(3):
        assert (await api.describe(run))["blocked"] is None
        await api.claim(run, worker=f"w-{n}")

    async def blocked() -> bool:
        return (await api.describe(run))["blocked"] is not None

    await until(blocked)
    assert await api.status(run) == "RUNNING"
    task = await api.claim(run)  # after a second or so
    await api.submit(run, commands.complete(), lease=task["lease"])
    assert (await api.describe(run))["blocked"] is None


@over_short_leases
async def test_an_ended_run_is_not_offered_when_its_lease_expires(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.terminate(run)
    await let_leases_expire(api)
    assert await api.poll_run() is None
