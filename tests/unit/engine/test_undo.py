"""Grants that reach nobody are undone: polls that left while their task was on its way."""

import asyncio
from typing import Any

import pytest

from assay.core.decide import Rules
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.engine.wants import Grant
from assay.model.commands import ScheduleActivity
from assay.model.operations import Start, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.model.states import ActivityStatus
from assay.model.task import TaskKind
from assay.store.port import Failed
from assay.store.sqlite.store import SqliteStore
from tests.unit.engine.bench import LEASE, RUNS, WORK, Bench, says

WORK_TO_DO = ScheduleActivity(1, "pay", "default", None, RetryPolicy())


def test_who_left_while_the_commit_was_under_way_gets_nothing_and_the_claim_is_undone() -> None:
    bench = Bench()
    bench.start("wf")
    ready_at = bench.stored("wf").ready_at
    bench.later(1)
    poll = bench.want()
    step = bench.to_commit()
    assert not bench.engine.wants.withdraw(poll.want)
    poll.want.gone = True
    bench.drive(step)
    assert bench.engine.has_work
    bench.run()
    assert poll.waits
    run = bench.stored("wf")
    assert (run.ready_at, run.claim_token) == (ready_at, None)
    assert bench.poll(worker="w2").run.id == "wf"


def test_an_undone_task_goes_to_who_waits_in_the_same_commit() -> None:
    bench = Bench()
    bench.step("wf", WORK_TO_DO)
    gone, next_one = bench.want(WORK), bench.want(WORK, "w2")
    step = bench.to_commit()
    gone.want.gone = True
    bench.drive(step)
    commits = len(bench.commits)
    bench.run()
    assert (next_one.activity.claimed_by, next_one.activity.attempt) == ("w2", 1)
    assert len(bench.commits) == commits + 1


@pytest.mark.parametrize("look", [RUNS, WORK])
def test_an_answer_that_was_not_written_is_undone_by_its_claim(look: Any) -> None:
    bench = Bench()
    bench.start("wf")
    if look is WORK:
        bench.poll()
        bench.do(SubmitCommands("wf", "w1", (WORK_TO_DO,)))
    first = bench.poll(look)
    assert first.grant is not None
    bench.engine.undo(first.grant.claim)
    bench.engine.undo(first.grant.claim)
    bench.run()
    second = bench.poll(look, "w2")
    assert second.grant is not None
    bench.engine.undo(first.grant.claim)
    bench.run()
    assert second.grant.row.claimed_by == "w2"
    assert bench.poll(look, "w3").grant is None


def test_who_left_during_a_commit_that_failed_is_not_granted_again() -> None:
    bench = Bench()
    bench.start("wf")
    gone, next_one = bench.want(), bench.want(worker="w2")
    bench.tell.append(says(Failed("no room")))
    step = bench.to_commit()
    gone.want.gone = True
    bench.drive(step)
    bench.run()
    assert gone.waits or gone.grant is None
    assert next_one.run.claimed_by == "w2"


# The runner's polls


async def running() -> Runner:
    runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=LEASE))
    await runner.start()
    return runner


async def work(runner: Runner) -> Grant | None:
    return await runner.poll(TaskKind.ACTIVITY, "default", "w2")


def test_a_poll_cancelled_at_any_turn_leaves_its_task_to_the_next() -> None:
    async def scenario(turns: int) -> None:
        runner = await running()
        await runner.perform(Start("order", "wf"))
        await runner.poll(TaskKind.WORKFLOW, "default", "w1")
        await runner.perform(SubmitCommands("wf", "w1", (WORK_TO_DO,)))
        poll = asyncio.create_task(runner.poll(TaskKind.ACTIVITY, "default", "w1", 10))
        for _ in range(turns):
            await asyncio.sleep(0)
        poll.cancel()
        (first,) = await asyncio.gather(poll, return_exceptions=True)
        if isinstance(first, Grant):
            runner.undo(first.claim)
        second = await work(runner)
        assert second is not None
        assert (second.claim.worker_id, getattr(second.row, "attempt", None)) == ("w2", 1)
        await runner.stop()

    for turns in range(10):
        asyncio.run(scenario(turns))


def test_an_answer_to_one_that_was_cancelled_a_moment_before_is_undone() -> None:
    async def scenario() -> None:
        runner = await running()
        await runner.perform(Start("order", "wf"))
        await runner.poll(TaskKind.WORKFLOW, "default", "w1")
        await runner.perform(SubmitCommands("wf", "w1", (WORK_TO_DO,)))
        answer: list[asyncio.Task[Grant | None]] = []
        committed = runner.engine.committed

        def cancel_then_commit(outcome: Any) -> Any:
            if answer:
                answer.pop().cancel()
            return committed(outcome)

        runner.engine.committed = cancel_then_commit  # type: ignore[method-assign] # the moment before
        poll = asyncio.create_task(runner.poll(TaskKind.ACTIVITY, "default", "w1", 10))
        answer.append(poll)
        with pytest.raises(asyncio.CancelledError):
            await poll
        second = await work(runner)
        assert second is not None
        assert getattr(second.row, "status", None) is ActivityStatus.RUNNING
        await runner.stop()

    asyncio.run(scenario())


def test_a_held_poll_answers_empty_when_its_time_is_up() -> None:
    async def scenario() -> None:
        runner = await running()
        assert await runner.poll(TaskKind.WORKFLOW, "default", "w1", 0.01) is None
        await runner.perform(Start("order", "wf"))
        assert await runner.poll(TaskKind.WORKFLOW, "default", "w1", 10) is not None
        await runner.stop()

    asyncio.run(scenario())
