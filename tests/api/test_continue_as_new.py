"""Continue-as-new (contract 5.9, 6, 8.7): the successor, its id, its signals, and the source."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import NOTHING, Json
from tests.support.tasks import task_history, whole_task_history

KEPT = ("workflow_type", "namespace", "task_queue", "search_attributes", "parent_id")


async def successor(api: Api, run: str) -> str:
    """The id a run's last event names."""
    [*_, last] = await api.history(run)
    assert last.type == "WorkflowContinuedAsNew"
    assert last.payload.keys() == {"new_workflow_id"}
    return str(last.payload["new_workflow_id"])


async def continued(api: Api, run: str, *, by_handler: bool, **fields: Any) -> str:
    if by_handler:
        await api.advance(run, {"type": "ContinueAsNew", **fields})
    else:
        await api.continue_as_new(run, **fields)
    return await successor(api, run)


@pytest.mark.parametrize("by_handler", [True, False])
@over_http
async def test_the_successor_and_its_source(api: Api, by_handler: bool) -> None:
    run = await api.start(input=1, search_attributes={"a": 1}, timeout_secs=600)
    await api.advance(run, commands.timer(1, 0.3), commands.activity(1, task_queue=api.queue))
    await api.signal(run, "go")
    new = await continued(api, run, by_handler=by_handler, input={"n": 2})
    source, record = await api.describe(run), await api.describe(new)
    assert (source["status"], source["result"], source["error"]) == ("COMPLETED", None, None)
    assert source["completed_at"] is not None
    assert {name: record[name] for name in KEPT} == {name: source[name] for name in KEPT}
    assert (record["status"], record["input"]) == ("PENDING", '{"n":2}')
    assert abs(record["timeout_at"] - record["created_at"] - 600) < 0.001
    assert await api.poll_activity() is None
    task = await api.claim(new)
    [started] = whole_task_history(task)
    assert (started.type, started.payload, task["input"]) == ("WorkflowStarted", {"n": 2}, {"n": 2})
    await api.submit(new, commands.timer(1, 0.5))
    await api.claim(new)  # by now the timer of the source would have fired
    assert (await api.kinds(run))[-1] == "WorkflowContinuedAsNew"


@pytest.mark.parametrize("body", [NOTHING, b"", None, {}, [], {"workflow_id": " "}])
@over_http
async def test_the_answer_is_the_record_of_the_successor(api: Api, body: object) -> None:
    run = await api.start()
    answer = await api.send("POST", at(run, "continue-as-new"), body, 201)
    record = answer.json()
    assert record["workflow_id"] == record["id"] == await successor(api, run)
    described = await api.describe(record["id"])
    described.pop("waiting_for", None)
    assert record.items() >= described.items()
    assert re.fullmatch(rf"{re.escape(run)}-continued-\d+", record["id"])
    assert record["run_id"] == f"run-{record['id']}-{int(record['created_at'])}"


@over_http
async def test_one_suffix_is_replaced_and_taken_ids_are_numbered(api: Api) -> None:
    run = await api.start()
    await api.terminate(run)
    ids = [(await api.continue_as_new(run))["id"] for _ in range(4)]
    assert len(set(ids)) == 4
    for id in ids:
        assert re.fullmatch(rf"{re.escape(run)}-continued-\d+(-\d+)?", id)
        again = (await api.continue_as_new(id))["id"]
        assert re.fullmatch(rf"{re.escape(run)}-continued-\d+(-\d+)?", again)


@over_http
async def test_an_explicit_id_is_kept_or_refused(api: Api) -> None:
    run, taken = await api.start(), await api.start(task_queue=api.fresh("nobody"))
    for id in (taken, run):
        answer = await api.ask("POST", at(run, "continue-as-new"), {"workflow_id": id})
        assert answer.status == 409
        assert id in answer.error
    assert await api.kinds(run) == ["WorkflowStarted"]
    name = f"{api.fresh()}/ä-continued-1"
    assert (await api.continue_as_new(run, workflow_id=name))["id"] == name
    assert await successor(api, run) == name
    await api.continue_as_new(api.fresh("none"), 404)
    await api.continue_as_new(run, 400, workflow_id="x" * 1001)
    await api.continue_as_new(run, 422, workflow_id=5)


@pytest.mark.parametrize("end", [commands.complete(7), commands.fail("no"), None])
@over_http
async def test_an_ended_run_keeps_its_end(api: Api, end: Json) -> None:
    run = await api.start(input=5)
    if end is None:
        await api.cancel(run)
    else:
        await api.advance(run, end)
    before = [await api.describe(run), await api.history(run)]
    record = await api.continue_as_new(run, input=6)
    assert [await api.describe(run), await api.history(run)] == before
    assert (record["status"], record["input"]) == ("PENDING", "6")
    await api.advance(record["id"], commands.complete())


@over_http
async def test_a_claim_of_the_source_is_over(api: Api) -> None:
    run = await api.start()
    task = await api.claim(run)
    await api.continue_as_new(run)
    answer = await api.submit(run, commands.complete(), lease=task["lease"], status=409)
    assert "COMPLETED" in answer.error


# Signals that go along


@over_http
async def test_signals_since_the_claim_and_those_named_go_along(api: Api) -> None:
    run = await api.start()
    for n in (1, 2, 3):
        await api.signal(run, "go", n)
    task = await api.claim(run)
    await api.signal(run, "late", {"n": 4})
    seqs = [event.seq for event in task_history(task) if event.type == "SignalReceived"]
    await api.submit(run, commands.continue_as_new(None, [seqs[2], seqs[1]]))
    [_, *carried] = whole_task_history(await api.claim(await successor(api, run)))
    assert {event.type for event in carried} == {"SignalReceived"}
    assert [event.payload for event in carried] == [
        {"signal": "go", "payload": 2},
        {"signal": "go", "payload": 3},
        {"signal": "late", "payload": {"n": 4}},
    ]
    assert (await api.kinds(run)).count("SignalReceived") == 4


@pytest.mark.parametrize("carry", [None, [], {}])
@over_http
async def test_what_was_seen_and_is_not_named_stays_behind(api: Api, carry: Json) -> None:
    run = await api.start()
    await api.signal(run, "go")
    await api.advance(run, {"type": "ContinueAsNew", "carry": carry})
    assert await api.kinds(await successor(api, run)) == ["WorkflowStarted"]


@over_http
async def test_an_operators_successor_gets_none(api: Api) -> None:
    run = await api.start()
    await api.signal(run, "go")
    assert await api.kinds((await api.continue_as_new(run))["id"]) == ["WorkflowStarted"]


# Together with a cancel request


@over_http
async def test_it_is_skipped_when_cancel_was_requested_since_the_claim(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.cancel(run)
    await api.submit(run, commands.continue_as_new())
    assert await api.status(run) == "RUNNING"
    history = task_history(await api.claim(run, wait=0))
    assert history[-1].type == "WorkflowCancelRequested"
    await api.submit(run, commands.cancelled())
    assert await api.kinds(run) == [
        "WorkflowStarted",
        "WorkflowCancelRequested",
        "WorkflowCancelled",
    ]


@over_http
async def test_it_is_skipped_when_cancel_was_requested_once_more_since_the_claim(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.wait("never"))
    await api.cancel(run, "one")
    await api.claim(run)
    await api.cancel(run, "two")
    await api.submit(run, commands.activity(1, task_queue=api.queue), commands.continue_as_new())
    assert await api.status(run) == "RUNNING"
    assert (await api.take())["status"] == "RUNNING"  # cleanup that began after the first request
    await api.advance(run, commands.continue_as_new())
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_what_follows_it_is_ignored(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.continue_as_new(), commands.fail(), commands.activity(1))
    assert await api.status(run) == "COMPLETED"
    assert await api.kinds(run) == ["WorkflowStarted", "WorkflowContinuedAsNew"]


# Children


@over_http
async def test_a_child_reports_the_end_of_its_last_successor_under_its_first_id(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    await api.advance(child, commands.continue_as_new())
    middle = await successor(api, child)
    assert (await api.describe(middle))["parent_id"] == parent
    assert await api.poll_run() is not None  # the successor's first task
    last = (await api.continue_as_new(middle))["id"]
    await api.advance(last, commands.complete("end"))
    [*_, outcome] = task_history(await api.claim(parent))
    assert outcome.type == "ChildWorkflowCompleted"
    assert outcome.payload == {"child_workflow_id": child, "result": "end"}
    await api.submit(parent, commands.child(child, task_queue=api.queue))
    again = (await api.continue_as_new(last))["id"]
    await api.claim(parent)  # for it asked for a child that has ended
    await api.submit(parent, commands.wait("never"))
    await api.advance(again, commands.complete("once more"))
    assert await api.poll_run() is None
    assert (await api.kinds(parent)).count("ChildWorkflowCompleted") == 1


@over_http
async def test_a_parents_cancel_request_reaches_the_successor(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    await api.advance(child, commands.continue_as_new())
    await api.cancel(parent, "stop")
    new = await successor(api, child)
    assert await api.status(new) == "CANCELLED"
    assert [event.payload for event in await api.events(new, "WorkflowCancelRequested")] == [
        {"reason": "stop"}
    ]


@over_http
async def test_a_parent_that_goes_on_hears_no_more_of_its_children(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    await api.signal(parent, "go")
    await api.claim(child)
    await api.advance(parent, commands.continue_as_new())
    new = await successor(api, parent)
    await api.submit(child, commands.complete())
    assert await api.kinds(new) == ["WorkflowStarted"]
    assert (await api.kinds(parent))[-1] == "WorkflowContinuedAsNew"
    # To the successor the id is that of another's child.
    await api.advance(new, commands.child(child, task_queue=api.queue))
    assert (await api.kinds(new))[-1] == "ChildWorkflowFailed"


@over_http
async def test_a_parent_that_is_retried_waits_for_a_child_that_went_on(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    options: Json = {"task_queue": api.queue, "max_attempts": 1}
    await api.advance(
        parent, commands.activity(1, **options), commands.child(child, task_queue=api.queue)
    )
    await api.fail((await api.take())["id"])
    for _ in range(2):  # parent and child are offered both
        task = await api.claim()
        end = commands.fail() if task["workflow_id"] == parent else commands.continue_as_new()
        await api.submit(task["workflow_id"], end)
    await api.retry(parent)
    assert "ChildWorkflowCompleted" not in await api.kinds(parent)
    await api.advance(await successor(api, child), commands.complete("late"))
    [*_, outcome] = await api.history(parent)
    assert outcome.payload == {"child_workflow_id": child, "result": "late"}
