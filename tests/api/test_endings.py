"""Ends of runs by their handler (contract 6, 8.12), and what a batch may hold besides."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import commands_of
from tests.support.http import Json
from tests.support.tasks import WORKER


@pytest.mark.parametrize("result", [None, 0, [], {}, "text", {"a": [1, 2]}])
@over_http
async def test_completing(api: Api, result: Json) -> None:
    run = await api.start()
    await api.advance(run, commands.complete(result))
    assert await api.status(run) == "COMPLETED"
    [*_, ended] = await api.history(run)
    assert (ended.type, ended.payload) == ("WorkflowCompleted", result)


@over_http
async def test_completing_without_a_result(api: Api) -> None:
    run = await api.start()
    await api.advance(run, {"type": "CompleteWorkflow"})
    assert (await api.describe(run))["result"] is None


@over_http
async def test_failing(api: Api) -> None:
    told, silent = await api.start(), await api.start()
    await api.advance(told, commands.fail("zero division"))
    await api.advance(silent, {"type": "FailWorkflow"})
    assert (await api.describe(told))["error"] == "zero division"
    assert (await api.describe(silent))["error"] == "workflow handler raised an error"
    [*_, ended] = await api.history(told)
    assert (ended.type, ended.payload) == ("WorkflowFailed", {"error": "zero division"})


@over_http
async def test_a_handler_may_end_its_run_cancelled(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.cancelled("own wish"))
    assert await api.status(run) == "CANCELLED"
    assert await api.kinds(run) == ["WorkflowStarted", "WorkflowCancelled"]


@over_http
async def test_only_the_first_end_counts_and_nothing_after_it(api: Api) -> None:
    run, child = await api.start(), api.fresh("child")
    await api.advance(
        run,
        commands.activity(1, "before", task_queue=api.queue),
        commands.complete("first"),
        commands.fail("second"),
        commands.activity(2, "after", task_queue=api.queue),
        commands.child(child),
    )
    assert await api.kinds(run) == ["WorkflowStarted", "ActivityScheduled", "WorkflowCompleted"]
    assert (await api.describe(run))["result"] == '"first"'
    assert (await api.ask("GET", f"/workflows/{child}")).status == 404


@over_http
async def test_an_end_cancels_activities_and_silences_timers(api: Api) -> None:
    run, other = await api.start(), await api.start()
    await api.advance(
        run,
        commands.activity(1, "work", task_queue=api.queue),
        commands.activity(2, "work too", task_queue=api.queue),
        commands.timer(1, 0.2),
    )
    await api.claim(other)
    running = await api.take("work")
    await api.signal(run, "end")
    await api.advance(run, commands.complete())
    assert await api.poll_activity() is None
    assert (await api.activity(running["id"]))["status"] == "RUNNING"
    await api.submit(other, commands.timer(1, 0.4))
    await api.claim(other)
    [*_, last] = await api.kinds(run)
    assert last == "WorkflowCompleted"


@over_http
async def test_unknown_commands_are_skipped(api: Api) -> None:
    run = await api.start()
    await api.advance(run, {"type": "DanceWorkflow", "seq": "x"}, commands.complete(1))
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_commands_to_ended_and_unknown_runs(api: Api) -> None:
    run = await api.start()
    task = await api.claim(run)
    await api.terminate(run)
    before = await api.history(run)
    await api.submit(run, commands.complete(), status=409)
    await api.submit(run, commands.complete(), lease=task["lease"], status=409)
    await api.submit(run, status=409)
    await api.submit(api.fresh("none"), status=404)
    assert await api.history(run) == before


MALFORMED: list[tuple[Json, int]] = [
    ({"type": "ScheduleActivity", "name": "x"}, 422),
    ({"type": "ScheduleActivity", "seq": 1}, 422),
    ({"type": "ScheduleActivity", "seq": "1", "name": "x"}, 422),
    ({"type": "ScheduleActivity", "seq": 1, "name": "x", "max_attempts": 0}, 400),
    ({"type": "ScheduleTimer"}, 422),
    ({"type": "ScheduleTimer", "seq": 0}, 400),
    ({"type": "ScheduleTimer", "seq": 1, "duration_secs": "soon"}, 422),
    ({"type": "ScheduleTimer", "seq": 1, "duration_secs": 1e11}, 400),
    ({"type": "WaitForSignal"}, 422),
    ({"type": "StartChildWorkflow", "workflow_type": "x"}, 422),
    ({"type": "StartChildWorkflow", "workflow_id": "x"}, 422),
    ({"type": "FailWorkflow", "error": 5}, 422),
    ({"type": "CancelWorkflow", "reason": 5}, 422),
    ({"seq": 1}, 422),
    ({"type": 5}, 422),
    ("CompleteWorkflow", 422),
    (None, 422),
]


@pytest.mark.parametrize(("command", "status"), MALFORMED)
@over_http
async def test_a_malformed_command_refuses_the_whole_batch(
    api: Api, command: Json, status: int
) -> None:
    run = await api.start()
    await api.claim(run)
    answer = await api.submit(run, commands.timer(1, 0), command, status=status)
    assert "1" in answer.error  # the index of the bad one
    assert await api.kinds(run) == ["WorkflowStarted"]
    assert (await api.describe(run))["blocked"]
    await api.submit(run, commands.complete())
    assert (await api.describe(run))["blocked"] is None


@pytest.mark.parametrize("value", [rb'"\ud800"', rb'"a\uDFFFb"', b"[" * 600 + b"]" * 600])
@over_http
async def test_a_payload_that_no_json_may_hold_is_shown_by_the_run(api: Api, value: bytes) -> None:
    run = await api.start()
    task = await api.claim(run)
    body = b'{"worker_id":"%s","lease":"%s","commands":[{"type":"Zork"},%s]}' % (
        WORKER.encode(),
        task["lease"].encode(),
        b'{"type":"CompleteWorkflow","result":%s}' % value,
    )
    answer = await api.send("POST", commands_of(run), body, 400)
    assert answer.error.startswith("command 1: ")
    record = await api.describe(run)
    assert (record["status"], record["blocked"]) == ("RUNNING", answer.error)
    await api.submit(run, commands.complete(), lease=task["lease"])
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_a_skipped_command_keeps_its_index(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    bad = commands.continue_as_new(None, [99])
    answer = await api.submit(run, {"type": "Zork"}, bad, status=400)
    assert answer.error.startswith("command 1: ")
    assert (await api.describe(run))["blocked"] == answer.error
