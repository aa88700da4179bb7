"""A defect of ours in deciding: its batch is told, everything else goes on."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from assay.core.decide import Rules, decide
from assay.engine import batch as batching
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.errors import AssayError
from assay.model.commands import ScheduleTimer
from assay.model.operations import (
    DONE,
    Due,
    DueKind,
    Operation,
    Signal,
    Start,
    Started,
    SubmitCommands,
)
from assay.model.task import TaskKind
from assay.store.sqlite.store import SqliteStore
from tests.unit.engine.bench import LEASE


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Deciding a signal called `defect`, or any timer, goes wrong."""

    def broken(draft: Any, operation: Operation, rules: Rules) -> object:
        if isinstance(operation, Signal) and operation.name == "defect":
            raise ZeroDivisionError
        if isinstance(operation, Due) and operation.kind is DueKind.TIMER:
            raise ZeroDivisionError
        return decide(draft, operation, rules)

    monkeypatch.setattr(batching, "decide", broken)
    caplog.set_level(logging.CRITICAL, "assay.engine")


def run(scenario: Callable[[Runner], Any]) -> None:
    async def whole() -> None:
        runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=LEASE))
        await runner.start()
        async with asyncio.timeout(5):
            await scenario(runner)
        await runner.stop()

    asyncio.run(whole())


def test_a_defect_found_after_loading_fails_only_its_batch(defect: None) -> None:
    async def scenario(runner: Runner) -> None:
        await runner.perform(Start("order", "wf"))
        runner.engine.forget_all()
        answers = await runner.exchange(
            (Signal("wf", "a"), Signal("unknown", "b"), Signal("wf", "defect"))
        )
        assert [str(answer) for answer in answers] == ["the engine failed at this request"] * 3
        assert await runner.perform(Signal("wf", "fine")) == DONE

    run(scenario)


def test_a_defect_with_all_rows_at_hand_fails_only_its_batch(defect: None) -> None:
    async def scenario(runner: Runner) -> None:
        await runner.perform(Start("order", "wf"))
        with pytest.raises(AssayError, match="the engine failed at this request"):
            await runner.perform(Signal("wf", "defect"))
        assert await runner.perform(Signal("wf", "fine")) == DONE

    run(scenario)


def test_who_waited_beside_a_defect_waits_on_and_is_served(defect: None) -> None:
    async def scenario(runner: Runner) -> None:
        await runner.perform(Start("order", "wf", queue="other"))
        poll = asyncio.create_task(runner.poll(TaskKind.WORKFLOW, "default", "w1", 5))
        await asyncio.sleep(0)
        runner.engine.forget_all()
        (answer,) = await runner.exchange((Signal("wf", "defect"),))
        assert isinstance(answer, AssayError)
        assert isinstance(await runner.perform(Start("order", "new")), Started)
        assert await poll is not None

    run(scenario)


def test_a_defect_at_a_deadline_does_not_fail_what_comes_in_beside_it(defect: None) -> None:
    async def scenario(runner: Runner) -> None:
        await runner.perform(Start("order", "wf"))
        await runner.poll(TaskKind.WORKFLOW, "default", "w1")
        await runner.perform(SubmitCommands("wf", "w1", (ScheduleTimer(1, 0),)))
        await asyncio.sleep(0)
        answers = [(await runner.exchange((Signal("wf", "fine"),)))[0] for _ in range(4)]
        assert answers[1:] == [DONE] * 3

    run(scenario)
