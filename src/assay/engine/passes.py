"""One pass of each kind of background work, at a given time (contract §22).

An engine whose `background` is off does nothing by itself: deadlines pass and nobody looks. A pass
looks at what the store holds to be due by then, has it decided, and says how much was done. What is
due is found in the tables alone, so that a pass comes out the same whatever memory knows.
"""

from collections.abc import Iterable

from assay.engine.limits import DEADLINES_PER_BATCH
from assay.engine.runner import Runner
from assay.errors import AssayError
from assay.model.operations import Done, Due, DueKind
from assay.store.port import Deadline


class Passes:
    """The passes over one engine."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def timers(self, now: int) -> int:
        """Timers fire."""
        return await self._fire(now, await self._due(now), DueKind.TIMER)

    async def schedules(self, now: int) -> int:
        """Schedules come due, and starts that waited are made."""
        return await self._fire(now, await self._due(now), DueKind.SCHEDULE)

    async def run_timeouts_and_delays(self, now: int) -> int:
        """Runs end whose time is over; how many. Those whose delay is over go to who waits for one.

        A delay that is over writes nothing by itself, so it does not count.
        """
        ended = await self._fire(now, await self._due(now), DueKind.RUN)
        self._runner.wake()
        return ended

    async def workers(self, now: int) -> int:
        """Ids of workers that were silent for long are bound no longer."""
        return await self._runner.presence.forget(now)

    async def leases(self, now: int) -> int:
        """Leases on workflow tasks expire, and cancel requests reach what they have not yet."""
        return await self._fire(now, await self._claimed(now), DueKind.RUN)

    async def activity_timeouts(self, now: int) -> int:
        """Attempts fail that were not heard of for too long."""
        return await self._fire(now, await self._claimed(now), DueKind.ACTIVITY)

    async def pruning(self, now: int) -> int:
        """The event stream forgets what is too old or too much."""
        return await self._runner.prune_stream(now)

    async def _due(self, now: int) -> list[Deadline]:
        return await self._runner.store.deadlines(now)

    async def _claimed(self, now: int) -> list[Deadline]:
        return [each for each in await self._runner.store.claims() if each.at <= now]

    async def _fire(self, now: int, found: Iterable[Deadline], kind: DueKind) -> int:
        self._runner.engine.advance(now)
        dues = [Due(kind, each.no) for each in found if each.kind is kind]
        done = 0
        for start in range(0, len(dues), DEADLINES_PER_BATCH):
            outcomes = await self._runner.exchange(tuple(dues[start : start + DEADLINES_PER_BATCH]))
            for outcome in outcomes:
                if isinstance(outcome, AssayError):
                    raise outcome
                done += isinstance(outcome, Done)
        return done
