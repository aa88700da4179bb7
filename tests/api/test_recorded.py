"""What a batch records for the next replay (contract 6): side effects and cancelled timers."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json
from tests.support.tasks import task_history


@over_http
async def test_side_effects_are_recorded_once_and_wake_the_run(api: Api) -> None:
    api.patience = 1
    run = await api.start()
    await api.advance(run, commands.side_effect(1, {"n": 1}))
    await api.advance(run, commands.side_effect(1, {"n": 2}), commands.side_effect(2, None))
    await api.advance(run, commands.side_effect(2, 5))
    assert await api.poll_run() is None
    recorded = [event.payload for event in await api.events(run, "SideEffectRecorded")]
    assert [(item["side_effect_seq"], item["value"]) for item in recorded] == [
        (1, {"n": 1}),
        (2, None),
    ]


@over_http
async def test_a_cancelled_timer_never_fires(api: Api) -> None:
    api.patience = 1
    run = await api.start()
    await api.advance(run, commands.timer(1, 0.1), commands.cancel_timer(1), commands.timer(2, 0.3))
    await api.advance(run, commands.cancel_timer(2), commands.cancel_timer(9))
    assert await api.kinds(run) == [
        "WorkflowStarted",
        "TimerScheduled",
        "TimerCancelled",
        "TimerScheduled",
        "TimerFired",
    ]


@over_http
async def test_side_effects_recorded_after_a_failure_are_void_once_retried(api: Api) -> None:
    api.patience = 1
    run = await api.start()
    await api.advance(run, commands.side_effect(1, "kept"))
    options: Json = {"task_queue": api.queue, "max_attempts": 1}
    await api.advance(run, commands.activity(1, **options))
    await api.fail((await api.take())["id"])
    await api.advance(run, commands.side_effect(2, "void"), commands.fail())
    await api.retry(run)
    await api.complete((await api.take())["id"])
    polled = task_history(await api.claim(run))
    values = [event.payload["value"] for event in polled if event.type == "SideEffectRecorded"]
    assert values == ["kept"]
    await api.submit(run, commands.side_effect(2, "new"))
    values = [event.payload["value"] for event in await api.events(run, "SideEffectRecorded")]
    assert values == ["kept", "void", "new"]


@pytest.mark.parametrize("kind", ["RecordSideEffect", "CancelTimer"])
@over_http
async def test_a_number_is_required(api: Api, kind: str) -> None:
    run = await api.start()
    await api.claim(run)
    await api.submit(run, {"type": kind}, status=422)
    await api.submit(run, {"type": kind, "seq": 0}, status=400)
