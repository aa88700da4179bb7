"""The sessions of an instance: how they begin, who is forgotten, what becomes of their tasks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from assay.core.decide import Rules
from assay.engine import exchange as module
from assay.engine.clock import wall_clock
from assay.engine.exchange import Asked, Exchanges, Taking, Told
from assay.engine.runner import Runner
from assay.engine.wants import Grant
from assay.errors import Conflict, EngineStopped, NotFound
from assay.model.commands import Command, ScheduleActivity, WaitForSignal
from assay.model.ids import claim_token
from assay.model.operations import (
    CompleteActivity,
    Fence,
    Operation,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
)
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.store.sqlite.store import SqliteStore

KEPT_SECS = 0.3
STORY_SECS = 10.0
W, A = TaskKind
PAY = ScheduleActivity(1, "pay", "default", None, RetryPolicy())


class Stage:
    """A running engine and its sessions."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.exchanges = Exchanges(runner)

    async def say(
        self,
        *operations: Operation,
        session: str = "w1",
        runs: int | None = None,
        work: int | None = None,
        seen: tuple[int, int] = (0, 0),
        **said: Any,
    ) -> Told:
        """One exchange; what it takes of the two kinds, and what it has seen of them."""
        offers: Sequence[tuple[TaskKind, int | None, int]]
        offers = ((W, runs, seen[0]), (A, work, seen[1]))
        takings = [
            Taking(kind, said.get("queue", "default"), room, count)
            for kind, room, count in offers
            if room is not None
        ]
        said.pop("queue", None)
        return await self.exchanges.exchange(Asked(session, operations, takings, **said))

    async def start(self, *ids: str) -> None:
        for id in ids:
            await self.runner.perform(Start("order", id))

    async def status(self, id: str) -> str:
        [view] = await self.runner.store.reading.run_views([id])
        return view.run.status


def on_stage(story: Callable[[Stage], Awaitable[None]]) -> Callable[[pytest.MonkeyPatch], None]:
    def test(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "SESSION_KEPT_SECS", KEPT_SECS)

        async def tell() -> None:
            runner = Runner(SqliteStore(":memory:"), wall_clock, Rules(lease=30 * MICROS))
            await runner.start()
            stage = Stage(runner)
            try:
                async with asyncio.timeout(STORY_SECS):
                    await story(stage)
            finally:
                stage.exchanges.stop()
                await runner.stop()

        asyncio.run(tell())

    test.__doc__, test.__name__ = story.__doc__, getattr(story, "__name__", "")
    return test


def ids(told: Told) -> list[str]:
    """Which runs it brings."""
    return [grant.row.id for grant in told.parcel.grants if isinstance(grant.row, Run)]


def submitted(grant: Grant, *commands: Command, keeps: bool = False) -> SubmitCommands:
    assert isinstance(grant.row, Run)
    token = claim_token(grant.claim.token)
    return SubmitCommands(grant.row.id, grant.claim.worker_id, commands, token, keeps)


# -- how they begin ------------------------------------------------------------------------------


@on_stage
async def test_the_first_request_of_a_session_is_fresh_and_not_held(stage: Stage) -> None:
    assert (await stage.say(hold_secs=60)).fresh
    assert not (await stage.say()).fresh
    assert (await stage.say(session="w2", hold_secs=60)).fresh


@on_stage
async def test_operations_are_performed_in_order_and_each_alone(stage: Stage) -> None:
    told = await stage.say(
        Start("order", "a"), Signal("none", "go"), Signal("a", "go"), Start("order", "a")
    )
    kinds = [type(outcome).__name__ for outcome in told.outcomes]
    assert kinds == ["Started", "NotFound", "Done", "Conflict"]
    assert isinstance(told.outcomes[1], NotFound)
    assert isinstance(told.outcomes[3], Conflict)


@on_stage
async def test_what_a_commit_makes_ready_comes_with_its_outcomes(stage: Stage) -> None:
    """One commit, one answer: the worker that schedules a piece of work has it at once."""
    await stage.start("wf")
    [grant] = (await stage.say(runs=1)).parcel.grants or (
        await stage.say(runs=1, hold_secs=5)
    ).parcel.grants
    batches = stage.runner.engine.batches
    told = await stage.say(submitted(grant, PAY), runs=1, work=1, seen=(1, 0))
    assert [given.claim.kind for given in told.parcel.grants] == [A]
    assert stage.runner.engine.batches == batches + 1


@on_stage
async def test_another_queue_is_taken_instead_of_the_one_before(stage: Stage) -> None:
    await stage.say(runs=3)
    waiting = asyncio.create_task(stage.say(runs=3, queue="other", hold_secs=0.3))
    await asyncio.sleep(0.05)
    await stage.start("wf")
    assert ids(await waiting) == []
    assert len(stage.runner.engine.wants) == 0


@on_stage
async def test_a_stopped_engine_says_so(stage: Stage) -> None:
    stage.runner.engine.stop()
    with pytest.raises(EngineStopped):
        await stage.say()


@on_stage
async def test_who_is_held_is_let_go_when_the_engine_stops(stage: Stage) -> None:
    await stage.say()
    waiting = [asyncio.create_task(stage.say(runs=1, hold_secs=60)) for _ in range(3)]
    await asyncio.sleep(0.05)
    stage.exchanges.stop()
    assert [ids(told) for told in await asyncio.gather(*waiting)] == [[], [], []]


# -- who is forgotten ----------------------------------------------------------------------------


async def lost(stage: Stage) -> Grant:
    """A task that was claimed for w1, which never comes for it."""
    await stage.say()
    waiting = asyncio.create_task(stage.say(runs=1, hold_secs=60))
    await asyncio.sleep(0.02)
    await stage.start("wf")
    told = await waiting
    told.session.put_back(told.parcel)
    return told.parcel.grants[0]


@on_stage
async def test_tasks_of_who_does_not_come_back_go_to_others(stage: Stage) -> None:
    await lost(stage)
    poll = await stage.runner.poll(W, "default", "p", STORY_SECS)
    assert poll is not None
    assert poll.row.claimed_by == "p"
    assert not stage.runner.engine.index.kept.is_watched("w1")
    assert (await stage.say()).fresh


@on_stage
async def test_who_comes_back_in_time_has_them(stage: Stage) -> None:
    grant = await lost(stage)
    await asyncio.sleep(KEPT_SECS / 2)
    told = await stage.say(runs=0, seen=(0, 0))
    assert not told.fresh
    assert [given.claim for given in told.parcel.grants] == [grant.claim]
    await asyncio.sleep(2 * KEPT_SECS)
    assert (await stage.runner.poll(W, "default", "p")) is None, "it is nobody else's"


@on_stage
async def test_who_is_there_is_not_forgotten_however_long_it_is_held(stage: Stage) -> None:
    await stage.say()
    waiting = asyncio.create_task(stage.say(runs=1, hold_secs=STORY_SECS))
    await asyncio.sleep(3 * KEPT_SECS)
    await stage.start("wf")
    assert ids(await waiting) == ["wf"]


@on_stage
async def test_each_is_forgotten_in_its_time(stage: Stage) -> None:
    await stage.say(session="a")
    await asyncio.sleep(0.7 * KEPT_SECS)
    await stage.say(session="b")
    await asyncio.sleep(0.6 * KEPT_SECS)
    assert [(await stage.say(session=name)).fresh for name in "ab"] == [True, False]
    await asyncio.sleep(2 * KEPT_SECS)
    assert not stage.exchanges._sessions


@on_stage
async def test_ends_are_not_awaited_for_who_has_gone(stage: Stage) -> None:
    await stage.start("a", "b")
    await stage.say(awaited=["a"])
    await stage.runner.perform(Terminate("b"))
    await asyncio.sleep(2 * KEPT_SECS)
    assert not stage.runner.engine.watched
    assert not stage.runner.endings.awaited()
    await stage.runner.perform(Terminate("a"))
    assert (await stage.say()).parcel.endings == []


# -- what is kept, and what was lost -------------------------------------------------------------


@on_stage
async def test_who_leaves_is_waited_for_only_as_long_as_its_runs_are(stage: Stage) -> None:
    await stage.start("wf")
    await stage.say(runs=1)
    [grant] = (await stage.say(runs=1, hold_secs=5)).parcel.grants
    await stage.say(submitted(grant, WaitForSignal("go", None), keeps=True), runs=0, seen=(1, 0))
    await stage.runner.perform(Signal("wf", "go"))
    assert (await stage.runner.poll(W, "default", "p")) is None
    told = await stage.say(runs=1, seen=(1, 0), hold_secs=5)
    assert ids(told) == ["wf"]
    since = told.parcel.grants[0].since
    assert since is not None
    assert since.token == grant.claim.token


@on_stage
async def test_open_claims_that_are_not_listed_are_given_again(stage: Stage) -> None:
    await stage.start("a", "b")
    await stage.say(runs=2)
    first = (await stage.say(runs=2, hold_secs=5)).parcel.grants
    tokens = [grant.claim.token for grant in first]
    told = await stage.say(runs=0, seen=(2, 0), held=frozenset(tokens[:1]))
    [again] = told.parcel.grants
    assert (again.claim, again.since, again.events) == (first[1].claim, None, None)
    told = await stage.say(runs=0, seen=(3, 0), held=frozenset(tokens))
    assert told.parcel.grants == []


@on_stage
async def test_what_waits_here_is_not_given_twice(stage: Stage) -> None:
    grant = await lost(stage)
    told = await stage.say(runs=1, held=frozenset())
    assert [given.claim for given in told.parcel.grants] == [grant.claim]


@on_stage
async def test_what_is_given_again_takes_up_room(stage: Stage) -> None:
    await stage.start("a", "b", "c")
    await stage.say(runs=2)
    await stage.say(runs=2, hold_secs=5)  # lost
    told = await stage.say(runs=2, held=frozenset(), hold_secs=5)
    assert ids(told) == ["a", "b"]
    told = await stage.say(runs=3, seen=(2, 0), hold_secs=5)
    assert ids(told) == ["c"]


@on_stage
async def test_a_report_beside_the_list_is_heard_first(stage: Stage) -> None:
    await stage.start("wf")
    await stage.say(runs=1)
    [grant] = (await stage.say(runs=1, hold_secs=5)).parcel.grants
    told = await stage.say(submitted(grant, PAY), runs=0, work=1, seen=(1, 0))
    [attempt] = (
        told.parcel.grants or (await stage.say(work=1, seen=(1, 0), hold_secs=5)).parcel.grants
    )
    fence = Fence(token=claim_token(attempt.claim.token))
    done = CompleteActivity(attempt.claim.no, "1", fence)
    told = await stage.say(done, runs=0, work=1, seen=(1, 1), held=frozenset())
    assert [type(outcome).__name__ for outcome in told.outcomes] == ["Reported"]
    assert told.parcel.grants == []


@on_stage
async def test_a_request_that_is_cancelled_leaves_everything_to_the_next(stage: Stage) -> None:
    await stage.say(runs=1)
    waiting = asyncio.create_task(stage.say(runs=1, hold_secs=60))
    await asyncio.sleep(0.02)
    starting = asyncio.create_task(stage.start("wf"))
    while not stage.exchanges._sessions["w1"]._grants and not waiting.done():
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await starting
    told = waiting.result() if not waiting.cancelled() else await stage.say(runs=1, hold_secs=5)
    assert ids(told) == ["wf"]
    assert await stage.status("wf") == "RUNNING"
