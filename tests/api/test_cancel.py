"""Cancel requests (contract 5.8, 8.5): what ends at once, what a worker answers."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at, until
from tests.support.http import NOTHING
from tests.support.plain_replay import Cancelled, Context
from tests.support.plain_worker import PlainWorker


@pytest.mark.parametrize("body", [NOTHING, b"", None, {}, [], {"reason": None}])
@over_http
async def test_a_pending_run_ends_at_once(api: Api, body: object) -> None:
    run = await api.start()
    answer = await api.send("POST", at(run, "cancel"), body)
    assert answer.body == b""
    record = await api.describe(run)
    assert record["status"] == "CANCELLED"
    assert record["completed_at"] is not None
    *_, requested, ended = await api.history(run)
    assert (requested.type, requested.payload) == ("WorkflowCancelRequested", None)
    assert (ended.type, ended.payload) == ("WorkflowCancelled", None)
    assert await api.poll_run() is None


@over_http
async def test_the_reason_is_in_both_events(api: Api) -> None:
    run = await api.start()
    await api.cancel(run, "too dear")
    *_, requested, ended = await api.history(run)
    assert requested.payload == ended.payload == {"reason": "too dear"}


@over_http
async def test_a_running_run_is_ended_by_its_worker(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.wait("go"))
    await api.cancel(run, "enough")
    assert await api.status(run) == "RUNNING"
    history = await api.advance(run, commands.cancelled("enough"))
    assert (history[-1].type, history[-1].payload) == (
        "WorkflowCancelRequested",
        {"reason": "enough"},
    )
    assert await api.status(run) == "CANCELLED"
    [*_, ended] = await api.history(run)
    assert (ended.type, ended.payload) == ("WorkflowCancelled", {"reason": "enough"})


@over_http
async def test_ended_and_unknown_runs_are_not_found(api: Api) -> None:
    run = await api.start()
    await api.cancel(run)
    before = await api.history(run)
    for name in (run, api.fresh("none")):
        for verb in (api.cancel, api.terminate):
            answer = await verb(name, "again", status=404)
            assert answer.error == f"not found: workflow {name} not found or already terminal"
    assert await api.history(run) == before


@over_http
async def test_a_repeated_request_appends_and_wakes_and_touches_nothing_else(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.wait("go"))
    await api.cancel(run, "one")
    await api.advance(run, commands.activity(1, "clean", task_queue=api.queue))
    await api.cancel(run, "two")
    requests = await api.events(run, "WorkflowCancelRequested")
    assert [event.payload for event in requests] == [{"reason": "one"}, {"reason": "two"}]
    await api.claim(run, wait=0)
    cleanup = await api.take("clean")  # still there: the second request did not cancel it
    assert cleanup["status"] == "RUNNING"


@over_http
async def test_a_handler_may_clean_up_and_then_end(api: Api) -> None:
    async def careful(ctx: Context, given: object) -> None:
        try:
            await ctx.wait_for_signal("never")
        except Cancelled:
            await ctx.execute_activity("clean", task_queue=api.queue)
            raise

    cleaned = []

    async def clean(ctx: object, given: object) -> None:
        cleaned.append(ctx)

    worker = PlainWorker(api.http, api.queue)
    worker.define("Careful", careful)
    worker.activity("clean", clean)
    run = await api.start(workflow_type="Careful")
    assert await worker.step()
    await api.cancel(run, "stop")
    while await worker.step():
        pass
    assert len(cleaned) == 1
    assert await api.status(run) == "CANCELLED"
    assert await api.kinds(run) == [
        "WorkflowStarted",
        "WorkflowAwaitingSignal",
        "WorkflowCancelRequested",
        "ActivityScheduled",
        "ActivityCompleted",
        "WorkflowCancelled",
    ]


@over_http
async def test_pending_activities_end_and_running_ones_go_on(api: Api) -> None:
    run = await api.start()
    scheduled = [commands.activity(n, f"a{n}", task_queue=api.queue) for n in (1, 2)]
    await api.advance(run, *scheduled)
    running = await api.take()
    assert not await api.beat(running["id"])
    await api.cancel(run)
    states = {
        event.payload["name"]: (await api.activity(event.payload["activity_id"]))["status"]
        for event in await api.events(run, "ActivityScheduled")
    }
    assert states == {"a1": "RUNNING", "a2": "CANCELLED"}
    assert await api.poll_activity() is None
    assert await api.beat(running["id"], {"at": 1})
    await api.complete(running["id"], "done anyway")
    [completed] = await api.events(run, "ActivityCompleted")
    assert completed.payload["result"] == "done anyway"
    assert (await api.activity(running["id"]))["status"] == "COMPLETED"


@over_http
async def test_a_failed_attempt_after_a_cancel_request_is_final(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.activity(1, "work", task_queue=api.queue, max_attempts=5))
    task = await api.take("work")
    await api.cancel(run)
    await api.fail(task["id"], "gave up")
    record = await api.activity(task["id"])
    assert (record["status"], record["error"]) == ("FAILED", "gave up")
    [failed] = await api.events(run, "ActivityFailed")
    assert failed.payload["error"] == "gave up"
    assert failed.payload["final_attempt"] == 1


@over_http
async def test_unfired_timers_never_fire(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.timer(1, 0.3), commands.timer(2, 0))
    await api.claim(run)  # timer 2 fired
    await api.cancel(run)
    await api.submit(run)
    await api.advance(run, commands.timer(3, 0.5))  # one of the cleanup does fire
    await api.claim(run)
    fired = [event.payload["timer_seq"] for event in await api.events(run, "TimerFired")]
    assert fired == [2, 3]


@over_http
async def test_new_work_of_a_batch_claimed_before_the_request_is_skipped(api: Api) -> None:
    run, child = await api.start(), api.fresh("child")
    task = await api.claim(run)
    await api.cancel(run)  # RUNNING by the claim: not ended at once
    await api.submit(
        run,
        commands.wait("go"),
        commands.activity(1, "work", task_queue=api.queue),
        commands.timer(1, 0),
        commands.child(child),
        lease=task["lease"],
    )
    assert await api.kinds(run) == [
        "WorkflowStarted",
        "WorkflowCancelRequested",
        "WorkflowAwaitingSignal",
    ]
    assert (await api.ask("GET", at(child))).status == 404
    await api.advance(run, commands.activity(2, "clean", task_queue=api.queue))
    assert (await api.take())["name"] == "clean"
    assert await api.poll_run() is None


@over_http
async def test_the_whole_family_gets_the_same_reason(api: Api) -> None:
    root, waiting, asleep, leaf = (api.fresh(word) for word in ("root", "child", "idle", "leaf"))
    await api.start(root)
    nobodys = {"task_queue": api.fresh("nobody")}
    await api.advance(
        root, commands.child(waiting, task_queue=api.queue), commands.child(asleep, **nobodys)
    )
    await api.advance(waiting, commands.child(leaf, **nobodys))
    await api.cancel(root, "fire")
    for run in (root, waiting, asleep, leaf):
        [request] = await api.events(run, "WorkflowCancelRequested")
        assert request.payload == {"reason": "fire"}, run
    states = {run: await api.status(run) for run in (root, waiting, asleep, leaf)}
    assert states == {
        root: "RUNNING",
        waiting: "RUNNING",
        asleep: "CANCELLED",
        leaf: "CANCELLED",
    }
    for _ in range(2):
        task = await api.claim()
        await api.submit(task["workflow_id"], commands.cancelled("fire"))
    assert await api.status(root) == await api.status(waiting) == "CANCELLED"
    assert "ChildWorkflowFailed" not in await api.kinds(root)  # its own cancel says enough


@over_http
async def test_a_child_that_was_asked_before_is_asked_again_with_all_below_it(api: Api) -> None:
    root, child, leaf = (api.fresh(word) for word in ("root", "child", "leaf"))
    await api.start(root)
    await api.advance(root, commands.child(child, task_queue=api.queue))
    await api.advance(child, commands.child(leaf, task_queue=api.queue))
    await api.advance(leaf, commands.wait("never"))
    await api.cancel(child, "own")
    for _ in range(2):
        task = await api.claim()
        clean = commands.activity(1, "clean", task_queue=api.queue)
        await api.submit(task["workflow_id"], clean)
    await api.cancel(root, "all")
    for run, reasons in ((root, ["all"]), (child, ["own", "all"]), (leaf, ["own", "all"])):
        requests = await api.events(run, "WorkflowCancelRequested")
        assert [request.payload["reason"] for request in requests] == reasons, run
    claimed = [(await api.claim(wait=0))["workflow_id"] for _ in range(3)]
    assert set(claimed) == {root, child, leaf}
    for _ in range(2):
        assert (await api.take("clean"))["status"] == "RUNNING"  # their cleanup goes on


@over_http
async def test_cleanup_hears_of_a_repeated_request_and_is_still_tried_again(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.wait("never"))
    await api.cancel(run)
    await api.advance(
        run, commands.activity(1, "clean", task_queue=api.queue, initial_interval_secs=0)
    )
    task = await api.take("clean")
    assert not await api.beat(task["id"])
    await api.cancel(run, "once more")
    assert await api.beat(task["id"])
    await api.fail(task["id"])
    assert (await api.take("clean"))["attempt"] == 2


@over_http
async def test_a_repeated_request_under_a_claim_cuts_the_back_off_short_too(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.activity(1, "work", task_queue=api.fresh("nobody")))
    await api.cancel(run)
    wrong = commands.activity(1, "other")
    for _ in range(2):
        await api.claim(run)
        await api.submit(run, wrong, status=409)
    assert await api.poll_run() is None  # kept back for two seconds
    await api.claim(run)
    await api.cancel(run, "once more")
    await api.submit(run, wrong, status=409)
    await api.claim(run, wait=0)


@over_http
async def test_many_children_are_cancelled(api: Api) -> None:
    root = await api.start()
    children = [api.fresh("child") for _ in range(1200)]
    await api.advance(root, *(commands.child(name) for name in children))
    await api.cancel(root, "all")

    left = list(children)

    async def none_left() -> bool:
        while left and await api.status(left[-1]) == "CANCELLED":
            left.pop()
        return not left

    await until(none_left)
    [*_, ended] = await api.history(children[-1])
    assert ended.payload == {"reason": "all"}


@over_http
async def test_terminate(api: Api) -> None:
    run, child = await api.start(), api.fresh("child")
    await api.advance(
        run,
        commands.activity(1, "work", task_queue=api.queue),
        commands.activity(2, "more", task_queue=api.queue),
        commands.timer(1, 0.1),
        commands.child(child, task_queue=api.fresh("nobody")),
    )
    running = await api.take("work")
    await api.terminate(run, "operator")
    record = await api.describe(run)
    assert (record["status"], record["error"]) == ("FAILED", "operator")
    [*_, ended] = await api.history(run)
    assert ended.type == "WorkflowFailed"
    assert ended.payload == {"error": "operator", "terminated": True}
    assert await api.status(child) == "PENDING"
    assert await api.poll_activity() is None  # the pending one was cancelled
    await api.complete(running["id"], 1)
    other = await api.start()
    await api.advance(other, commands.timer(1, 0.3))
    await api.claim(other)
    assert (await api.history(run))[-1] == ended


@over_http
async def test_terminate_without_reason(api: Api) -> None:
    run = await api.start()
    await api.send("POST", at(run, "terminate"), [])
    assert (await api.describe(run))["error"] == "terminated"
