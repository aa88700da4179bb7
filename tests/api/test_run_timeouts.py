"""Time-outs of runs (contract 5.1, 4.1, 8.12): the only end that the engine makes by itself."""

from __future__ import annotations

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at, until
from tests.support.http import Json

LATE_SECS = 1.5  # the contract says one; a busy test machine is not light load


async def timed_out(api: Api, run: str) -> Json:
    """The record, once the run has timed out, and in time."""

    async def record() -> Json:
        return await api.describe(run)

    ended = await until(record, lambda seen: seen["status"] == "TIMED_OUT")
    assert 0 <= ended["completed_at"] - ended["timeout_at"] < LATE_SECS
    return ended


@over_http
async def test_a_time_out_ends_a_run_whatever_it_does(api: Api) -> None:
    pending = await api.start(timeout_secs=0.5, task_queue=api.fresh("nobody"))
    delayed = await api.start(timeout_secs=0.2, start_delay_secs=0.4, task_queue="nobody")
    run = await api.start(timeout_secs=0.5)
    plain = await api.start(task_queue=api.fresh("nobody"))
    await api.advance(
        run,
        commands.activity(1, "running", task_queue=api.queue),
        commands.activity(2, "waiting", task_queue=api.queue),
        commands.timer(1, 0.8),
    )
    running = await api.take("running")
    await api.signal(run, "go")
    task = await api.claim(run)
    cancelled = await api.start(timeout_secs=0.5)
    await api.claim(cancelled)
    await api.cancel(cancelled)
    record = await timed_out(api, run)
    assert (record["error"], record["result"]) == ("timed out", None)
    assert record["updated_at"] == record["completed_at"]
    [*_, last] = await api.history(run)
    assert (last.type, last.payload) == ("WorkflowTimedOut", {"error": "timed out"})
    await api.submit(run, commands.complete(), lease=task["lease"], status=409)
    await api.send("POST", at(run, "signal", "go"), status=409)
    assert await api.poll_activity() is None
    await api.complete(running["id"], "kept")
    for other in (pending, delayed, cancelled):
        await timed_out(api, other)
    assert await api.kinds(pending) == ["WorkflowStarted", "WorkflowTimedOut"]
    assert (await api.describe(plain))["timeout_at"] is None
    assert await api.status(plain) == "PENDING"
    assert (await api.kinds(run))[-1] == "WorkflowTimedOut"
    await api.retry(run, 409)


@over_http
async def test_children_go_on(api: Api) -> None:
    run, child = await api.start(timeout_secs=0.4), api.fresh("child")
    await api.advance(run, commands.child(child, task_queue=api.fresh("nobody")))
    await timed_out(api, run)
    assert await api.status(child) == "PENDING"
    await api.terminate(child)
    assert (await api.kinds(run))[-1] == "WorkflowTimedOut"


@over_http
async def test_a_successor_has_the_same_time_anew(api: Api) -> None:
    run = await api.start(timeout_secs=0.6)
    await api.advance(run, commands.continue_as_new())
    [*_, last] = await api.history(run)
    record = await timed_out(api, last.payload["new_workflow_id"])
    assert abs(record["timeout_at"] - record["start_at"] - 0.6) < 0.001
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_a_retried_run_has_its_time_anew(api: Api) -> None:
    run = await api.start(timeout_secs=30)
    options: Json = {"task_queue": api.queue, "max_attempts": 1}
    await api.advance(run, commands.activity(1, **options))
    await api.fail((await api.take())["id"])
    await api.advance(run, commands.fail())
    before = await api.describe(run)
    await api.retry(run)
    after = await api.describe(run)
    assert after["timeout_at"] - after["updated_at"] > 29.99
    assert after["timeout_at"] > before["timeout_at"]
    assert after["start_at"] == before["start_at"]
