"""Inline steps (contract 6, 20.5): outcomes once each, and the time until the next attempt."""

from __future__ import annotations

import time

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json
from tests.support.tasks import task_history

LATE_SECS = 1.5


@pytest.mark.parametrize(
    ("command", "kind", "outcome"),
    [
        (commands.step(1, {"paid": 5}), "StepCompleted", {"attempt": 1, "result": {"paid": 5}}),
        (commands.step(1, attempt=3.0), "StepCompleted", {"attempt": 3, "result": None}),
        (commands.step(1, error="no"), "StepFailed", {"attempt": 1, "error": "no"}),
        (commands.step(1, error="", final=True), "StepFailed", {"attempt": 1, "error": ""}),
        (
            commands.step_failed(1, 2, 0.25),
            "StepAttemptFailed",
            {"attempt": 2, "error": "broke", "retry_in_secs": 0.25},
        ),
    ],
)
@over_http
async def test_each_outcome_is_an_event(api: Api, command: Json, kind: str, outcome: Json) -> None:
    run = await api.start()
    await api.advance(run, command)
    [*_, event] = await api.history(run)
    assert event.type == kind
    assert event.payload == {"step_seq": 1, "name": "charge", **outcome}
    history = task_history(await api.claim(run))
    assert history[-1] == event


@over_http
async def test_a_final_outcome_is_recorded_once_and_so_is_each_attempt(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.step_failed(1, 1), commands.step_failed(1, 1))
    await api.advance(run, commands.step(1, "of attempt 1"), commands.step_failed(1, 2))
    await api.advance(run, commands.step(1, "first", attempt=3))
    await api.advance(
        run,
        commands.step(1, "second", attempt=4),
        commands.step_failed(1, 5),
        commands.step(1, attempt=6, error="no"),
    )
    assert await api.poll_run() is None
    assert (await api.kinds(run))[1:] == ["StepAttemptFailed", "StepAttemptFailed", "StepCompleted"]


@over_http
async def test_the_run_is_offered_when_the_next_attempt_may_begin(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.step_failed(1, 1, 0.5))
    assert await api.poll_run() is None
    asked_at = time.time()
    task = await api.claim(run)
    [*_, failed] = task_history(task)
    assert failed.type == "StepAttemptFailed"
    assert failed.timestamp + 0.5 <= time.time() + 0.05
    assert time.time() - asked_at < 0.5 + LATE_SECS
    await api.submit(run, commands.step_failed(1, 2, 0.1))
    await api.advance(run, commands.step(1, "done", attempt=3))
    await api.advance(run, commands.complete())
    kinds = await api.kinds(run)
    assert "TimerFired" not in kinds
    assert kinds.count("StepAttemptFailed") == 2


@over_http
async def test_news_offers_the_run_before_that(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.step_failed(1, 1, 600))
    await api.signal(run, "go")
    await api.claim(run, wait=0)


@over_http
async def test_steps_are_not_timers(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.step_failed(1, 1, 600), commands.timer(1, 600))
    await api.signal(run, "go")
    await api.advance(run, commands.cancel_timer(1), commands.step_failed(2, 1, 0))
    assert (await api.kinds(run)).count("TimerCancelled") == 1
    await api.claim(run, wait=0)


@over_http
async def test_steps_after_a_failure_are_void_once_retried(api: Api) -> None:
    run = await api.start()
    options: Json = {"task_queue": api.queue, "max_attempts": 1}
    await api.advance(run, commands.step(1, "kept"), commands.activity(1, **options))
    await api.claim(run)
    await api.submit(run)
    await api.fail((await api.take())["id"])
    await api.advance(
        run, commands.step(2, "void"), commands.step_failed(3, 1, 600), commands.patch("void")
    )
    await api.advance(run, commands.upsert({"a": "kept"}, 1), commands.fail())
    await api.retry(run)
    await api.complete((await api.take())["id"])
    polled = task_history(await api.claim(run))
    assert [
        event.type for event in polled if event.type.startswith(("Step", "Patch", "Search"))
    ] == ["StepCompleted"]
    await api.submit(
        run,
        commands.step(1, "again"),
        commands.step(2, "new"),
        commands.step_failed(3, 1, 600),
        commands.patch("void"),
        commands.upsert({"b": 1}, 1),
    )
    results = [event.payload["result"] for event in await api.events(run, "StepCompleted")]
    assert results == ["kept", "void", "new"]
    for kind in ("StepAttemptFailed", "PatchRecorded", "SearchAttributesUpserted"):
        assert len(await api.events(run, kind)) == 2
    attributes = (await api.describe(run))["search_attributes"]
    assert '"a":"kept"' in attributes
    assert '"b":1' in attributes


WRONG: list[tuple[Json, int]] = [
    ({"type": "RecordStep", "name": "x"}, 422),
    ({"type": "RecordStep", "seq": 1}, 422),
    (commands.step(1, final=False), 422),
    (commands.step(1, attempt="one"), 422),
    (commands.step(1, error=5), 422),
    (commands.step(1, final="no"), 422),
    (commands.step(0), 400),
    (commands.step(1, attempt=0), 400),
    (commands.step(1, name=" "), 400),
    (commands.step_failed(1, 1, 1e11), 400),
    ({"type": "RecordPatch"}, 422),
    (commands.patch(""), 400),
    (commands.patch("x" * 1001), 400),
]


@pytest.mark.parametrize(("command", "status"), WRONG)
@over_http
async def test_malformed(api: Api, command: Json, status: int) -> None:
    run = await api.start()
    await api.claim(run)
    answer = await api.submit(run, commands.step(5), command, status=status)
    assert "1" in answer.error
    assert await api.kinds(run) == ["WorkflowStarted"]
