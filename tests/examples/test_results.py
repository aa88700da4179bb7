"""The workflows of the examples, imported and run with other inputs than they show."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest

import assay
from assay import blocking
from examples.agent_loop import Memory, agent
from examples.approval import Decision, Expense, approval, pay, remind
from examples.blocking_script import Report, fetch, summarize
from examples.hello import greet, hello
from examples.order_saga import Order, Outcome, charge, deliver, fulfil, release, reserve

RESULT_SECS = 15.0
EXPENSE = Expense("Ann", 7.5)


def test_hello(tmp_path: Path) -> None:
    async def story() -> str:
        async with assay.open(tmp_path / "a.db", workflows=[hello], activities=[greet]) as app:
            run = await app.workflows.start(hello, "hello-1", "Ann")
            return await run.result(RESULT_SECS)

    assert asyncio.run(story()) == "Hello, Ann!"


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (Decision("Bob", approved=True), "7.50 EUR are paid to Ann"),
        (Decision("Bob", approved=False), "Bob refused"),
        (None, "nobody cared"),
    ],
)
def test_approval(
    decision: Decision | None, result: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("examples.approval.REMIND_SECS", 0.05 if decision is None else 30)
    monkeypatch.setattr("examples.approval.COOLING_OFF_SECS", 0.05)

    async def story() -> str:
        activities = [remind, pay]
        async with assay.open(
            tmp_path / "a.db", workflows=[approval], activities=activities
        ) as app:
            run = await app.workflows.start(approval, input=EXPENSE)
            if decision is not None:
                await run.signal("decision", decision)
            return await run.result(RESULT_SECS)

    assert asyncio.run(story()) == result


@pytest.mark.parametrize(
    ("order", "outcome", "stage"),
    [
        (Order("ann", ["a"], 1), Outcome("delivered", ["parcel from shelf-a"]), "delivering"),
        (Order("ann", ["a"], 2000), Outcome("undone", why="2000.00 EUR are too much"), "paying"),
    ],
)
def test_order(order: Order, outcome: Outcome, stage: str, tmp_path: Path) -> None:
    async def story() -> Outcome:
        async with assay.open(
            tmp_path / "a.db", workflows=[fulfil, deliver], activities=[reserve, release, charge]
        ) as app:
            run = await app.workflows.start(fulfil, "order-1", order)
            result = await run.result(RESULT_SECS)
            [found] = await app.workflows.list(search_attrs={"customer": "ann", "stage": stage})
            assert found["id"] == "order-1"
            return result

    assert asyncio.run(story()) == outcome


def test_report(tmp_path: Path) -> None:
    with blocking.open(tmp_path / "a.db", workflows=[summarize], activities=[fetch]) as app:
        run = app.workflows.start(summarize, input=Report(date(2027, 1, 1), ["Ulm"]))
        assert run.result(RESULT_SECS) == {"Ulm": 3}


def test_agent(tmp_path: Path) -> None:
    async def story() -> str:
        async with assay.open(tmp_path / "a.db", workflows=[agent]) as app:
            run = await app.workflows.start(agent, "agent-1", Memory("How?", ["a note"] * 5))
            result = await run.result(RESULT_SECS)
            assert len(await app.workflows.list()) == 1
            return result

    assert asyncio.run(story()) == "How? Because of FACT 7."
