"""Lost heartbeats and exceeded run times (contract 8.2, 10.4): failed attempts like others."""

from __future__ import annotations

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import until
from tests.support.http import Json

LATE_SECS = 3.0  # what the contract allows, and the machine's slowness


async def taken(api: Api, **options: Json) -> tuple[str, Json]:
    """A run and its one activity, claimed."""
    run = await api.start()
    quick = {"initial_interval_secs": 0.05} | options
    await api.advance(run, commands.activity(1, "work", task_queue=api.queue, **quick))
    return run, await api.take("work")


@over_http
async def test_a_worker_that_never_beats_loses_the_attempt(api: Api) -> None:
    _, first = await taken(api, heartbeat_timeout_secs=0.3)
    second = await api.take("work")
    assert (second["id"], second["attempt"]) == (first["id"], 2)
    late = second["started_at"] - first["started_at"] - 0.35
    assert 0 <= late < LATE_SECS
    await api.complete(first["id"], attempt=1, status=409)
    await api.complete(first["id"], token=first["token"], status=409)
    await api.complete(second["id"], "ok", token=second["token"])


@over_http
async def test_beats_keep_an_attempt_alive_and_their_end_ends_it(api: Api) -> None:
    _, first = await taken(api, heartbeat_timeout_secs=0.6)
    beaten = first

    async def old_enough() -> bool:
        nonlocal beaten
        await api.beat(first["id"], {"at": "last"})
        beaten = await api.activity(first["id"])
        return bool(beaten["last_heartbeat"] - first["started_at"] > 1.0)

    await until(old_enough)
    assert (beaten["status"], beaten["attempt"]) == ("RUNNING", 1)
    second = await api.take("work")
    assert second["attempt"] == 2
    assert second["heartbeat_details"] == '{"at":"last"}'
    assert 0 <= second["started_at"] - beaten["last_heartbeat"] - 0.65 < LATE_SECS


@over_http
async def test_the_last_lost_heartbeat_is_a_final_failure(api: Api) -> None:
    run, task = await taken(api, heartbeat_timeout_secs=0.1, max_attempts=1)
    history = await _news(api, run)
    assert (history["event_type"], history["payload"]["error"]) == (
        "ActivityFailed",
        "heartbeat timeout",
    )
    record = await api.activity(task["id"])
    assert (record["status"], record["error"]) == ("FAILED", "heartbeat timeout")
    await api.complete(task["id"], status=409)


@over_http
async def test_an_attempt_may_not_run_longer_than_start_to_close(api: Api) -> None:
    run, first = await taken(api, start_to_close_secs=0.3, max_attempts=2)
    await api.beat(first["id"])  # does not help
    second = await api.take("work")
    assert second["attempt"] == 2
    assert 0 <= second["started_at"] - first["started_at"] - 0.35 < LATE_SECS
    event = await _news(api, run)
    assert event["payload"]["error"] == "start_to_close timeout"
    assert event["payload"]["final_attempt"] == 2


@over_http
async def test_a_lost_attempt_after_a_cancel_request_is_final(api: Api) -> None:
    run, task = await taken(api, heartbeat_timeout_secs=1.0, max_attempts=5)
    await api.cancel(run)
    await api.advance(run, commands.wait("never"))
    event = await _news(api, run)
    assert event["event_type"] == "ActivityFailed"
    assert (await api.activity(task["id"]))["status"] == "FAILED"


@over_http
async def test_without_a_heartbeat_time_out_silence_is_fine(api: Api) -> None:
    _, silent = await taken(api)
    _, beating = await taken(api, heartbeat_timeout_secs=0.2)
    again = await api.take("work")  # by now the silent one would be lost as well
    assert again["id"] == beating["id"]
    assert (await api.activity(silent["id"]))["attempt"] == 1


async def _news(api: Api, run: str) -> Json:
    """The newest event of the run's next workflow task."""
    return (await api.claim(run))["history"][-1]
