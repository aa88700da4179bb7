"""One pass of each kind of background work, on an engine that does nothing by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from assay.core.decide import Rules
from assay.engine.limits import WORKERS_KEPT_FOR
from assay.engine.passes import Passes
from assay.engine.runner import Runner
from assay.engine.seeds import Seeds
from assay.model.commands import ScheduleActivity, ScheduleTimer
from assay.model.operations import (
    CompleteActivity,
    CreateSchedule,
    Signal,
    Start,
    SubmitCommands,
)
from assay.model.retry import RetryPolicy
from assay.model.schedule import OverlapPolicy
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.model.worker import Introduction
from assay.store.open import open_store

LEASE = 30 * MICROS
TOLD = Introduction("main", "me", "default", None, None, 10, 20)
LONG_AGO = 1_000_000_000 * MICROS  # the engine goes by what it is given, not by the host's clock


class Stage:
    """A running engine, its passes, and a clock that stands still until it is moved."""

    def __init__(self, runner: Runner, moment: list[int]) -> None:
        self.runner = runner
        self.passes = Passes(runner)
        self._moment = moment

    @property
    def now(self) -> int:
        return self._moment[0]

    def later(self, secs: float) -> int:
        self._moment[0] += round(secs * MICROS)
        return self._moment[0]

    async def events(self, id: str = "wf") -> list[str]:
        reading = self.runner.store.reading
        lines = await reading.events(id, cursor=None, limit=None, descending=False)
        return [line.type for line in lines]

    async def status(self, id: str = "wf") -> str:
        [view] = await self.runner.store.reading.run_views([id])
        return view.run.status

    async def claim(self) -> None:
        grant = await self.runner.poll(TaskKind.WORKFLOW, "default", "w")
        assert grant is not None


Story = Callable[[Stage], Awaitable[None]]


@pytest.fixture
def play(backend: str) -> Callable[[Story], None]:
    """Play a story on an engine without background work."""

    async def on_stage(story: Story) -> None:
        moment = [LONG_AGO]
        store = open_store(backend)
        rules = Rules(lease=LEASE)
        runner = Runner(store, lambda: moment[0], rules, Seeds(b"passes"), background=False)
        await runner.start()
        try:
            async with asyncio.timeout(30):
                await story(Stage(runner, moment))
        finally:
            await runner.stop()

    return lambda story: asyncio.run(on_stage(story))


def test_timers_fire_in_their_pass_and_only_then(play: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        perform = stage.runner.perform
        await perform(Start("order", "wf"))
        await stage.claim()
        timers = (ScheduleTimer(1, 10), ScheduleTimer(2, 10), ScheduleTimer(3, 60))
        await perform(SubmitCommands("wf", "w", timers))
        assert await stage.passes.timers(stage.later(9)) == 0
        stage.later(1)
        await perform(Signal("wf", "go"))
        assert "TimerFired" not in await stage.events()
        assert await stage.passes.timers(stage.now) == 2
        assert await stage.passes.timers(stage.now) == 0
        assert (await stage.events()).count("TimerFired") == 2

    play(story)


def test_a_pass_may_be_run_at_a_time_that_the_clock_does_not_show_yet(
    play: Callable[[Story], None],
) -> None:
    async def story(stage: Stage) -> None:
        await stage.runner.perform(Start("order", "wf", timeout_secs=5))
        assert await stage.passes.run_timeouts_and_delays(stage.now + 4 * MICROS) == 0
        assert await stage.passes.run_timeouts_and_delays(stage.now + 5 * MICROS) == 1
        assert await stage.status() == "TIMED_OUT"
        assert await stage.passes.run_timeouts_and_delays(stage.now + 5 * MICROS) == 0

    play(story)


def test_a_run_whose_delay_is_over_goes_to_who_waits_in_the_pass(
    play: Callable[[Story], None],
) -> None:
    async def story(stage: Stage) -> None:
        poll, over = stage.runner.poll, stage.passes.run_timeouts_and_delays
        await stage.runner.perform(Start("order", "wf", delay_secs=10))
        held = asyncio.create_task(poll(TaskKind.WORKFLOW, "default", "w", 20))
        await asyncio.sleep(0.02)
        for secs in (0, 9.999):
            assert await over(stage.now + round(secs * MICROS)) == 0
            await asyncio.sleep(0.02)
            assert not held.done()
        assert await over(stage.now + 10 * MICROS) == 0
        assert await held is not None

    play(story)


def test_a_worker_is_forgotten_in_its_pass_once_its_id_need_not_be_bound_any_more(
    play: Callable[[Story], None],
) -> None:
    async def story(stage: Stage) -> None:
        runner, passes = stage.runner, stage.passes
        silent, alive = await runner.register(TOLD), await runner.register(TOLD)
        stage.later(WORKERS_KEPT_FOR / MICROS)
        await runner.heartbeat(alive)  # in memory only: the pass must not overlook it
        assert await passes.workers(stage.now) == 0
        assert await runner.presence.namespace_of(silent) == "main"
        assert await passes.workers(stage.now + 1) == 1
        assert await passes.workers(stage.now + 1) == 0
        assert await runner.presence.namespace_of(silent) is None
        assert await runner.presence.namespace_of(alive) == "main"

    play(story)


def test_leases_expire_in_their_pass(play: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        await stage.runner.perform(Start("order", "wf"))
        await stage.claim()
        assert await stage.passes.leases(stage.later(29)) == 0
        assert await stage.runner.poll(TaskKind.WORKFLOW, "default", "v") is None
        assert await stage.passes.leases(stage.later(1)) == 1
        assert await stage.runner.poll(TaskKind.WORKFLOW, "default", "v") is not None

    play(story)


def test_attempts_fail_in_their_pass(play: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        await stage.runner.perform(Start("order", "wf"))
        await stage.claim()
        policy = RetryPolicy(max_attempts=1, start_to_close_secs=7)
        work = ScheduleActivity(1, "pay", "default", None, policy)
        await stage.runner.perform(SubmitCommands("wf", "w", (work,)))
        grant = await stage.runner.poll(TaskKind.ACTIVITY, "default", "w")
        assert grant is not None
        assert await stage.passes.activity_timeouts(stage.later(6)) == 0
        assert await stage.passes.activity_timeouts(stage.later(1)) == 1
        assert (await stage.events())[-1] == "ActivityFailed"
        with pytest.raises(Exception, match="is FAILED, not RUNNING"):
            await stage.runner.perform(CompleteActivity(grant.claim.no))

    play(story)


def test_schedules_fire_in_their_pass_once_for_all_they_missed(
    play: Callable[[Story], None],
) -> None:
    async def story(stage: Stage) -> None:
        schedule = CreateSchedule(
            "main", "tick", "order", "*/10 * * * * *", "", None, "default", OverlapPolicy.ALLOW_ALL
        )
        await stage.runner.perform(schedule)
        assert await stage.passes.schedules(stage.now) == 0
        assert await stage.passes.schedules(stage.later(35)) == 1
        assert await stage.passes.schedules(stage.now) == 0
        assert await stage.status("tick-1000000010") == "PENDING"
        assert await stage.passes.schedules(stage.later(5)) == 1
        assert await stage.status("tick-1000000040") == "PENDING"

    play(story)
