"""The exchange of the SDKs: operations and their outcomes, as their own routes would answer."""

from __future__ import annotations

import asyncio

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.exchange import (
    PATH,
    Session,
    back,
    beat,
    complete,
    fail,
    kinds,
    mismatch,
    signal,
    start,
    submit,
)
from tests.support.http import Json

LATE_SECS = 1.5  # what a busy machine may add to a promise of 100 ms


@over_http
async def test_starts(api: Api) -> None:
    sdk, run = Session(api), api.fresh()
    told = await sdk.say(
        start(api, run, input={"n": 1}),
        start(api, run),
        start(api, run, if_exists="use"),
        start(api, namespace="nowhere"),
        start(api, workflow_id=" ", workflow_type="Odd One"),
        start(api, workflow_type=""),
    )
    assert told.statuses == [201, 409, 200, 404, 201, 400]
    begun, taken, used, _, made_up, _ = told.outcomes
    record = await api.describe(run)
    named = {"workflow_id": run, "run_id": record["run_id"], "state": "PENDING"}
    assert begun == {"status": 201, **named}
    assert used == {"status": 200, **named}
    assert run in taken["error"]
    assert made_up["workflow_id"].startswith("wf-odd-one-")
    assert record["input"] == '{"n":1}'


@over_http
async def test_signals(api: Api) -> None:
    sdk, run, over = Session(api), await api.start(), await api.start()
    await api.terminate(over)
    told = await sdk.say(
        signal(run, "go", {"big": 12345678901234567890}),
        signal(run, "go", 1, request_id="r"),
        signal(run, "go", 2, request_id="r"),
        signal(api.fresh("none"), "go"),
        signal(over, "go"),
        signal(run, " "),
    )
    assert told.statuses == [200, 200, 200, 404, 409, 400]
    payloads = [event.payload["payload"] for event in await api.events(run, "SignalReceived")]
    assert payloads == [{"big": 12345678901234567890}, 1]
    assert await api.kinds(over) == ["WorkflowStarted", "WorkflowFailed"]


@over_http
async def test_batches(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    told = await sdk.say(
        submit({**task, "lease": "c1"}, commands.complete()),
        submit({**task, "id": api.fresh("none")}, commands.complete()),
        submit(task, commands.timer(1, 900), commands.activity(1, task_queue=api.queue)),
        submit(task, commands.complete()),
    )
    assert told.statuses == [409, 404, 200, 409]
    assert await api.kinds(run) == ["WorkflowStarted", "TimerScheduled", "ActivityScheduled"]
    assert (await api.describe(run))["claimed_by"] == sdk.id


@over_http
async def test_a_batch_of_another_session_is_refused(api: Api) -> None:
    run = await api.start()
    task = await Session(api).take_run(run)
    told = await Session(api).say(submit(task, commands.complete()))
    assert told.statuses == [409]
    assert await api.status(run) == "RUNNING"


@over_http
async def test_outcomes_of_attempts(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    once: Json = {"task_queue": api.queue, "max_attempts": 1}
    work = [commands.activity(seq, input=[seq], **once) for seq in (1, 2, 3)]
    await sdk.do(submit(task, *work))
    first, second, third = (await sdk.hold(activities=3)).activities
    assert [each["input"] for each in (first, second, third)] == [[1], [2], [3]]
    assert first["workflow_id"] == run
    assert (first["name"], first["attempt"], first["details"]) == ("work", 1, None)
    assert first["start_to_close_secs"] == 300
    assert first["heartbeat_timeout_secs"] is None
    told = await sdk.say(
        complete(first, {"done": True}),
        complete(first, token="c1"),
        complete({"no": 2**53, "token": "c1"}),
        complete({"no": 2**53 + 1, "token": "c1"}),
        beat(second, {"at": 3}),
        fail(second, "broke", failure={"type": "Broken", "message": "broke"}),
        beat(second),
        fail(third, worker_id="w-other"),
    )
    assert told.statuses == [200, 409, 404, 400, 200, 200, 409, 409]
    assert told.outcomes[4] == {"status": 200, "cancel_requested": False}
    record = await api.activity(first["no"])
    assert (record["status"], record["result"]) == ("COMPLETED", '{"done":true}')
    record = await api.activity(second["no"])
    assert (record["status"], record["error"]) == ("FAILED", "broke")
    assert record["heartbeat_details"] == '{"at":3}'
    assert (await api.activity(third["no"]))["status"] == "RUNNING"


@over_http
async def test_an_attempt_that_failed_comes_again_with_its_details(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    again: Json = {"task_queue": api.queue, "initial_interval_secs": 0}
    await sdk.do(submit(await sdk.take_run(run), commands.activity(1, **again)))
    first = await sdk.take_activity()
    told = await sdk.do(beat(first, {"at": 3}), fail(first), activities=1)
    second = told.activities[0] if told.activities else await sdk.take_activity()
    assert (second["no"], second["attempt"]) == (first["no"], 2)
    assert second["details"] == {"at": 3}
    assert second["token"] != first["token"]


@over_http
async def test_a_heartbeat_tells_of_a_cancel_request(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.do(submit(await sdk.take_run(run), commands.activity(1, task_queue=api.queue)))
    attempt = await sdk.take_activity()
    await api.cancel(run)
    told = await sdk.do(beat(attempt))
    assert told.outcomes == [{"status": 200, "cancel_requested": True}]


@over_http
async def test_tasks_that_were_not_begun_go_back_as_they_were(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    assert (await sdk.do(back(task))).outcomes == [{"status": 200}]
    again = await api.claim(run, wait=2)
    assert len(again["history"]) == 1
    await api.submit(run, commands.activity(1, task_queue=api.queue), lease=again["lease"])
    attempt = await sdk.take_activity()
    await sdk.do(back(attempt), back(attempt), back({**attempt, "token": "c1"}))
    record = await api.activity(attempt["no"])
    assert (record["status"], record["attempt"]) == ("PENDING", 1)
    assert record["started_at"] is None
    assert (await api.take())["attempt"] == 1
    assert (await sdk.say(complete(attempt))).statuses == [409]
    assert await api.kinds(run) == ["WorkflowStarted", "ActivityScheduled"]


@over_http
async def test_a_run_that_was_handed_back_keeps_its_place_in_the_queue(api: Api) -> None:
    sdk, first, second = Session(api), await api.start(), await api.start()
    await sdk.do(back(await sdk.take_run(first)))
    assert [(await api.claim())["workflow_id"] for _ in range(2)] == [first, second]


@over_http
async def test_later_operations_of_a_request_see_the_earlier_ones(api: Api) -> None:
    sdk, run = Session(api), api.fresh()
    told = await sdk.do(start(api, run), *(signal(run, "go", n) for n in range(20)))
    assert told.statuses == [201] + [200] * 20
    payloads = [event.payload["payload"] for event in await api.events(run, "SignalReceived")]
    assert payloads == list(range(20))


@over_http
async def test_one_bad_operation_hurts_no_other(api: Api) -> None:
    sdk, runs = Session(api), [api.fresh() for _ in range(4)]
    task = await sdk.take_run(await api.start())
    bad = [
        start(api, timeout_secs=-1),
        submit(task, commands.timer(0)),
        {"op": "signal", "id": "a\0b", "name": "go"},
        submit({**task, "id": "a\0b"}, commands.timer(0)),
        submit({**task, "lease": "a\0b"}, commands.timer(1)),
        {**mismatch(task, "?"), "id": "a\0b"},
        {"op": "return", "kind": "workflow", "no": 2**53 + 1, "token": "c1"},
        {"op": "return", "kind": "activity", "no": 1, "token": "none"},
    ]
    asked: list[Json] = []
    for place, operation in enumerate(bad):
        asked += [start(api, runs[place % 4], if_exists="use"), operation]
    told = await sdk.say(*asked)
    assert told.statuses[1::2] == [400] * len(bad)
    assert told.statuses[::2] == [201] * 4 + [200] * 4
    assert told.outcomes[1]["error"] == "timeout_secs must be above 0"


@over_http
async def test_a_bad_command_is_refused_and_its_run_says_why(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    bad = submit(task, commands.side_effect(1, 2), commands.timer(0))
    told = await sdk.say(bad, signal(run, "go"))
    assert told.statuses == [400, 200]
    assert told.outcomes[0]["error"] == "command 1: seq must be at least 1"
    record = await api.describe(run)
    assert record["blocked"] == "command 1: seq must be at least 1"
    assert "SideEffectRecorded" not in await api.kinds(run)
    await sdk.do(submit(task, commands.complete()))  # the lease was not lost
    assert (await api.describe(run))["blocked"] is None


@over_http
async def test_a_command_that_does_not_fit_its_run_is_refused_likewise(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    told = await sdk.say(submit(task, commands.continue_as_new(carry=[1])))
    assert told.statuses == [400]
    assert (await api.describe(run))["blocked"] == told.outcomes[0]["error"]


@over_http
async def test_another_name_under_a_number_is_a_conflict_that_blocks(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    await sdk.do(submit(await sdk.take_run(run), commands.activity(1, "one")))
    await api.signal(run, "go")
    task = await sdk.take_run(run)
    told = await sdk.say(submit(task, commands.activity(1, "other"), keeps=True))
    assert told.statuses == [409]
    assert told.outcomes[0]["error"].startswith("non-deterministic replay: ")
    assert (await api.describe(run))["blocked"] == told.outcomes[0]["error"]


@over_http
async def test_a_mismatch_blocks_at_once_and_is_offered_again_after_a_while(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    why = "activity 1 was 'charge', the code asks for 'refund'\0"
    told = await sdk.do(mismatch(task, why), runs=1)
    assert told.runs == []
    assert (await api.describe(run))["blocked"] == why.replace("\0", "\ufffd")
    assert (await sdk.say(submit(task, commands.complete()))).statuses == [409]
    began = asyncio.get_running_loop().time()
    task = await sdk.take_run(run)
    assert 0.7 < asyncio.get_running_loop().time() - began < 1 + LATE_SECS
    assert kinds(task["history"]) == ["WorkflowStarted"]
    await sdk.do(submit(task, commands.timer(1, 900)))
    assert (await api.describe(run))["blocked"] is None


@over_http
async def test_a_mismatch_counts_under_an_open_claim_only(api: Api) -> None:
    sdk, run = Session(api), await api.start()
    task = await sdk.take_run(run)
    other = Session(api)
    told = await other.say(mismatch(task, "?"), mismatch({**task, "id": api.fresh()}, "?"))
    assert told.statuses == [409, 404]
    await sdk.do(submit(task))
    assert (await sdk.say(mismatch(task, "?"))).statuses == [409]
    assert (await api.describe(run))["blocked"] is None


# -- the request itself --------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [{}, {"operations": [{"op": "dance"}]}])
@over_http
async def test_another_version_is_refused_by_name(api: Api, beside: Json) -> None:
    body = {"v": 7, "session": "x", **beside}
    answer = await api.send("POST", PATH, body, 422 if beside else 400)
    assert "version 1 of the exchange" in answer.error
    assert "version 7" in answer.error


@over_http
async def test_a_session_is_fresh_once(api: Api) -> None:
    sdk = Session(api)
    first, second = await sdk.say(), await sdk.say()
    assert (first.fresh, second.fresh) == (True, False)
    assert first.instance == second.instance
    assert first.v == 1
    assert first.lease_secs == 30
    assert first.at <= second.at


@over_http
async def test_nulls_and_unknown_fields_are_nothing(api: Api) -> None:
    empty = dict.fromkeys(("operations", "takings", "awaited", "held", "histories", "wait_secs"))
    body = {"v": 1.0, "session": api.fresh(), **empty, "stranger": [1]}
    told = Session(api).hear((await api.send("POST", PATH, body)).json())
    assert told.is_empty
    run = await api.start()
    sdk = Session(api)
    task = await sdk.take_run(run)
    flags: Json = {"keeps": None, "holds": None, "stranger": 1}
    await sdk.do(submit(task, commands.complete(), **flags))
    assert await api.status(run) == "COMPLETED"


@over_http
async def test_both_prefixes_know_one_session(api: Api) -> None:
    sdk = Session(api)
    assert (await sdk.say()).fresh
    api.prefix = "/api/v1/engine/workflow"
    assert not (await sdk.say()).fresh


@over_http
async def test_two_queues_for_one_kind_are_refused(api: Api) -> None:
    takings = [["workflow", "a", 1, 0], ["activity", "b", 1, 0], ["workflow", "c", 1, 0]]
    body = {"v": 1, "session": api.fresh(), "takings": takings}
    assert "workflow" in (await api.send("POST", PATH, body, 400)).error


@over_http
async def test_a_request_that_is_refused_does_nothing(api: Api) -> None:
    sdk, run = Session(api), api.fresh()
    body = sdk.body(start(api, run), wait_secs=61)
    await api.send("POST", PATH, body, 400)
    await api.send("GET", at(run), status=404)
    assert (await sdk.say()).fresh
