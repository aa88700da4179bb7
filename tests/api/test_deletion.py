"""Deleting runs (contract 5.21): a run that has ended is gone with all that belongs to it."""

from __future__ import annotations

import asyncio

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json


@over_http
async def test_an_ended_run_is_gone_with_all_it_had(api: Api) -> None:
    run = await api.start(search_attributes={"a": 1})
    await api.advance(
        run,
        commands.snapshot({"n": 1}),
        commands.upsert({"b": 2}, 1),
        commands.side_effect(1, 7),
        commands.timer(1, 600),
        commands.activity(1, task_queue=api.queue),
    )
    activity = (await api.take())["id"]
    await api.advance(run, commands.complete(1))
    answer = await api.delete(run)
    assert (answer.body, answer.headers.get("content-length")) == (b"", None)
    gone = await api.send("GET", at(run), status=404)
    assert gone.error == f"not found: workflow {run}"
    assert await api.get(at(run, "events")) == []
    await api.send("GET", f"/activities/{activity}", status=404)
    await api.complete(activity, status=404)
    await api.send("POST", f"/tasks/{activity}/heartbeat", status=404)
    for path in ("signal/go", "cancel", "terminate", "continue-as-new"):
        await api.send("POST", f"{at(run)}/{path}", status=404)
    await api.retry(run, 404)
    await api.submit(run, status=404)
    await api.delete(run, 404)


@over_http
async def test_a_run_that_goes_on_stays(api: Api) -> None:
    run = await api.start()
    for _ in range(2):
        answer = await api.delete(run, 409)
        assert run in answer.error
        await api.claim(run, wait=0)
        await api.submit(run, commands.timer(1, 0))
    assert await api.status(run) == "RUNNING"
    await api.delete(api.fresh("none"), 404)


@over_http
async def test_its_id_is_free_and_nothing_of_it_is_inherited(api: Api) -> None:
    run, child = await api.start(), api.fresh("child")
    body: Json = {"request_id": "r-1"}
    await api.send("POST", at(run, "signal", "go"), body)
    await api.advance(
        run,
        commands.side_effect(1, "old"),
        commands.activity(1, "old", task_queue=api.queue),
        commands.child(child, task_queue=api.queue),
    )
    await api.terminate(run)
    await api.delete(run)
    await api.start(run, workflow_type="Other")
    await api.send("POST", at(run, "signal", "go"), body)
    assert await api.kinds(run) == ["WorkflowStarted", "SignalReceived"]
    for _ in range(2):  # the child, and the new run
        task = await api.claim()
        await api.submit(task["workflow_id"], commands.side_effect(1, "new"), commands.wait("go"))
    assert [event.payload["value"] for event in await api.events(run, "SideEffectRecorded")] == [
        "new"
    ]
    for _ in range(2):  # both recorded something
        task = await api.claim()
        end = [commands.complete()] if task["workflow_id"] == child else []
        await api.submit(task["workflow_id"], *end)
    assert "ChildWorkflowCompleted" not in await api.kinds(run)
    await api.cancel(run)
    assert await api.status(child) == "COMPLETED"


@over_http
async def test_links_of_a_chain_may_go(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.continue_as_new())
    [*_, last] = await api.history(run)
    new = last.payload["new_workflow_id"]
    await api.delete(run)
    await api.advance(new, commands.continue_as_new())
    await api.delete(new)
    await api.send("GET", at(new), status=404)


@over_http
async def test_a_child_may_go_and_its_parent_keeps_what_it_heard(api: Api) -> None:
    parent, child = await api.start(), api.fresh("child")
    await api.advance(parent, commands.child(child, task_queue=api.queue))
    await api.advance(child, commands.complete("done"))
    await api.delete(child)
    history = await api.advance(parent, commands.complete())
    assert history[-1].payload == {"child_workflow_id": child, "result": "done"}


@over_http
async def test_of_many_requests_one_deletes(api: Api) -> None:
    run = await api.start()
    await api.terminate(run)
    answers = await asyncio.gather(*(api.ask("DELETE", at(run)) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [204] + [404] * 9


@over_http
async def test_an_end_and_a_deletion_at_once_are_one_after_the_other(api: Api) -> None:
    for _ in range(5):
        run = await api.start()
        ended, deleted = await asyncio.gather(
            api.ask("POST", at(run, "terminate")), api.ask("DELETE", at(run))
        )
        assert ended.status == 200
        assert deleted.status in (204, 409)
        assert (await api.ask("GET", at(run))).status == (404 if deleted.status == 204 else 200)
