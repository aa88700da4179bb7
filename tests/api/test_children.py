"""Children (contract 5.6, 8.8): how they start, whose id it is, what their parent hears."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json


async def family(api: Api, **fields: Json) -> tuple[str, str]:
    """A parent that waits for one child; the child's task is not claimed yet."""
    parent, child = await api.start(), api.fresh("child")
    fields = {"task_queue": api.queue} | fields
    await api.advance(parent, commands.child(child, **fields))
    return parent, child


@over_http
async def test_a_child_is_a_run_with_a_parent(api: Api) -> None:
    parent, child = await family(api, input={"n": 1})
    run = await api.describe(child)
    assert (run["parent_id"], run["status"], run["namespace"]) == (parent, "PENDING", "main")
    assert (run["workflow_type"], run["task_queue"]) == ("Child", api.queue)
    assert run["input"] == '{"n":1}'
    assert run["search_attributes"] is None
    [*_, started] = await api.history(parent)
    assert started.type == "ChildWorkflowStarted"
    assert started.payload == {"child_workflow_id": child, "workflow_type": "Child"}
    task = await api.claim(child)
    assert task["history"][0]["payload"] == task["input"] == {"n": 1}
    assert await api.poll_run() is None  # a start is no news for the parent


@over_http
async def test_the_queue_of_a_child_is_default_unless_named(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child))
    assert (await api.describe(child))["task_queue"] == "default"
    await api.terminate(child)


@pytest.mark.parametrize(
    ("end", "event", "payload"),
    [
        (commands.complete({"x": 1}), "ChildWorkflowCompleted", {"result": {"x": 1}}),
        (commands.complete(), "ChildWorkflowCompleted", {"result": None}),
        (commands.fail("too bad"), "ChildWorkflowFailed", {"error": "too bad"}),
        (commands.cancelled(), "ChildWorkflowFailed", {"error": "child workflow cancelled"}),
    ],
)
@over_http
async def test_outcomes(api: Api, end: Json, event: str, payload: Json) -> None:
    parent, child = await family(api)
    await api.advance(child, end)
    history = await api.advance(parent, commands.complete())
    assert history[-1].type == event
    assert history[-1].payload == {"child_workflow_id": child, **payload}


@over_http
async def test_a_terminated_child_has_failed(api: Api) -> None:
    parent, child = await family(api)
    await api.terminate(child, "no more")
    [*_, outcome] = await api.history(parent)
    assert outcome.payload == {"child_workflow_id": child, "error": "no more"}


@over_http
async def test_a_cancelled_child(api: Api) -> None:
    parent, child = await family(api)
    await api.cancel(child, "no need")
    [*_, outcome] = await api.history(parent)
    assert outcome.type == "ChildWorkflowFailed"
    assert outcome.payload == {"child_workflow_id": child, "error": "child workflow cancelled"}
    await api.claim(parent, wait=0)


@over_http
async def test_an_id_of_a_living_child_of_ones_own_starts_nothing(api: Api) -> None:
    parent, child = await family(api, input=1)
    before = await api.history(parent)
    await api.signal(parent, "again")
    again = commands.child(child, "Other", input=2, task_queue="elsewhere")
    await api.claim(child)
    await api.advance(parent, again, again)
    assert [event.type for event in (await api.history(parent))[len(before) :]] == [
        "SignalReceived"
    ]
    assert (await api.describe(child))["input"] == "1"
    assert await api.poll_run() is None


@over_http
async def test_an_id_of_an_ended_child_of_ones_own_answers_once(api: Api) -> None:
    parent, child = await family(api)
    await api.advance(child, commands.complete("done"))
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    await api.claim(parent)  # dispatchable, for its answer is there
    outcomes = await api.events(parent, "ChildWorkflowCompleted")
    assert [event.payload["result"] for event in outcomes] == ["done"]
    assert len(await api.events(parent, "ChildWorkflowStarted")) == 1


@over_http
async def test_the_id_of_any_other_run_fails_at_once(api: Api) -> None:
    other_parent, others_child = await family(api)
    stranger = await api.start(task_queue=api.fresh("nobody"))
    ended = await api.start(task_queue=api.fresh("nobody"))
    await api.terminate(ended)
    before = [await api.describe(run) for run in (others_child, stranger, ended)]
    await api.claim(others_child)
    for taken in (others_child, stranger, ended, other_parent):
        parent = await api.start()
        await api.advance(parent, commands.child(taken, task_queue=api.queue))
        task = await api.claim(parent)
        last = task["history"][-1]
        assert last["event_type"] == "ChildWorkflowFailed"
        assert last["payload"]["child_workflow_id"] == taken
        assert taken in last["payload"]["error"]
        assert "ChildWorkflowStarted" not in await api.kinds(parent)
    assert (await api.describe(others_child))["parent_id"] == other_parent
    assert [await api.describe(run) for run in (stranger, ended)] == before[1:]


@over_http
async def test_an_outcome_is_not_told_twice_though_the_id_is_free_again(api: Api) -> None:
    parent, other = await api.start(), await api.start(task_queue=api.fresh("nobody"))
    await api.advance(parent, commands.child(other, task_queue=api.queue))
    await api.terminate(other)
    await api.delete(other)
    await api.advance(parent, commands.child(other, task_queue=api.queue))
    assert (await api.ask("GET", f"/workflows/{other}")).status == 404
    await api.claim(parent, wait=0)  # its answer has been there all the time
    assert await api.kinds(parent) == ["WorkflowStarted", "ChildWorkflowFailed"]


@over_http
async def test_the_own_id_is_taken_too(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.child(run))
    history = await api.advance(run, commands.complete())
    assert history[-1].type == "ChildWorkflowFailed"


@over_http
async def test_a_parent_with_a_cancel_request_starts_nothing(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.wait("never"))
    await api.cancel(parent)
    await api.advance(parent, commands.child(child))
    assert (await api.ask("GET", f"/workflows/{child}")).status == 404
    assert "ChildWorkflowStarted" not in await api.kinds(parent)


@pytest.mark.parametrize("end", [commands.complete(), commands.fail()])
@over_http
async def test_children_outlive_a_parent_that_hears_no_more(api: Api, end: Json) -> None:
    parent, child = await family(api)
    await api.signal(parent, "end")
    await api.claim(child)
    await api.advance(parent, end)
    before = await api.history(parent)
    assert await api.status(child) == "RUNNING"
    await api.submit(child, commands.complete(1))
    assert await api.status(child) == "COMPLETED"
    assert await api.history(parent) == before
    assert (await api.describe(child))["parent_id"] == parent


@over_http
async def test_many_children_report_without_a_gap(api: Api) -> None:
    parent = await api.start()
    names = [api.fresh("child") for _ in range(30)]
    await api.advance(parent, *(commands.child(name, task_queue=api.queue) for name in names))
    for _ in names:
        task = await api.claim()
        await api.submit(task["workflow_id"], commands.complete(task["workflow_id"]))
    outcomes = await api.events(parent, "ChildWorkflowCompleted")
    assert sorted(event.payload["result"] for event in outcomes) == sorted(names)
