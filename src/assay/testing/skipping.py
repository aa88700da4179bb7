"""Time is skipped while a test waits for it and nothing runs.

Something runs as long as the loop has anything to do, the engine is not at rest, or a claim is
open: a workflow task or an activity is in somebody's hand, or on its way there. Once all is quiet
the clock is moved to the next moment that anything is due, no further.

What is due in the engine comes before what the test has planned for the same moment, and all that
follows from one thing has happened before the next begins: so a test comes out alike each time.
"""

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from inspect import isawaitable
from itertools import count

from assay.engine.runner import Runner
from assay.model.note import Kind
from assay.sdk.faults import WorkflowMisuse
from assay.store.stream import FrameRow
from assay.testing.clock import VirtualClock
from assay.testing.faults import NothingDue
from assay.testing.quiet import Quiet
from assay.testing.waiting import Wait

GRACE_SECS = 0.05  # of the host: so long work in hand may take before time is moved on under it
TOLD_SECS = 5.0  # of the host: then the log says what time is held up by
FRAMES_AT_ONCE = 500
BLOCKED = f'"{Kind.WORKFLOW_BLOCKED}"'
log = logging.getLogger("assay.testing")


class Plan:
    """Something that is to happen at a moment."""

    __slots__ = ("at", "call", "is_dropped")

    def __init__(self, at: int, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.is_dropped = False


class Visit:
    """A planned piece of the test under way: it holds time up, unless it waits for time itself."""

    __slots__ = ("is_over", "waits")

    def __init__(self) -> None:
        self.waits = 0
        self.is_over = False


_visit: ContextVar[Visit | None] = ContextVar("assay_testing_visit", default=None)


class Skipper:
    """Moves the clock of one engine."""

    def __init__(
        self, runner: Runner, clock: VirtualClock, *, patience_secs: float, may_block: bool
    ) -> None:
        self.quiet = Quiet()
        self.explain: Callable[[], Awaitable[str]]
        self.on_move: Callable[[], None] = lambda: None
        self._runner = runner
        self._clock = clock
        self._patience_secs = patience_secs
        self._may_block = may_block
        self._plans: list[tuple[int, int, Plan]] = []
        self._order = count()
        self._waits: dict[Wait, None] = {}
        self._visits: dict[asyncio.Task[None], Visit] = {}
        self._holds = 0
        self._fault: BaseException | None = None
        self._read_to = 0
        self._changes = 0
        self._told: tuple[int, int] | None = None
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        clock.on_rest = self._news.set

    # -- for the environment ---------------------------------------------------------------------

    def start(self) -> None:
        """From now on."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Time stands still from now on."""
        tasks = [*self._visits, *([] if self._task is None else [self._task])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def check(self) -> None:
        """Raise what a planned call raised that nobody has heard of."""
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    def plan(self, at: int, call: Callable[[], None]) -> Plan:
        """Have something done at that moment."""
        plan = Plan(at, call)
        heapq.heappush(self._plans, (at, next(self._order), plan))
        self._has_changed()
        return plan

    def visit(self, call: Callable[[], object]) -> None:
        """Begin a piece of the test; time waits for it."""
        visit = Visit()
        task = asyncio.get_running_loop().create_task(_go(visit, call))
        self._visits[task] = visit
        task.add_done_callback(self._visited)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Time is not skipped meanwhile."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._has_changed()

    @contextmanager
    def wait(self, *, forced: bool = False) -> Iterator[Wait]:
        """Whoever waits in here wants time to be skipped; `forced`: whatever is in hand."""
        visit = _visit.get()
        if visit is not None and visit.is_over:  # what it has begun lives on, and is the test's
            visit = None
        wait = Wait(forced=forced, counts=visit is None)
        self.check()
        self._waits[wait] = None
        if visit is not None:
            visit.waits += 1
        self._has_changed()
        try:
            with wait:
                yield wait
        finally:
            del self._waits[wait]
            if visit is not None:
                visit.waits -= 1
            self._has_changed()

    async def wait_until(self, at: int, *, forced: bool = False) -> None:
        """Until it is so late."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        plan = self.plan(at, lambda: _resolve(future))
        try:
            with self.wait(forced=forced):
                await future
        finally:
            plan.is_dropped = True

    # -- moving the clock ------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                while await self._go_on():
                    pass
            except Exception as fault:  # whoever waits for time must hear of it
                log.exception("time cannot be skipped")
                self._fail(fault)

    async def _go_on(self) -> bool:
        """One thing happens; False: nothing does before there are news."""
        if not (self._is_wanted and await self._is_quiet() and self._is_wanted):
            return False
        if await self._hear():
            return False
        due, plan = self._clock.next_due, self._next_plan()
        if plan is not None and (due is None or plan.at < due):
            moment = plan.at
        elif due is not None:
            moment, plan = due, None
        else:
            await self._despair()
            return False
        if moment > self._clock.now and self._holds and not self._is_forced:
            await self._tell()
            return False
        self._move_to(moment)
        if plan is not None:
            heapq.heappop(self._plans)
            plan.call()
        return True

    def _move_to(self, moment: int) -> None:
        if moment > self._clock.now:
            self._clock.move_to(moment)
            self.on_move()
            self._clock.is_resting = False
            self._runner.wake()

    @property
    def _is_wanted(self) -> bool:
        if any(visit.waits == 0 for visit in self._visits.values()):
            return False
        return any(wait.counts for wait in self._waits)

    @property
    def _is_forced(self) -> bool:
        return any(wait.forced for wait in self._waits)

    def _next_plan(self) -> Plan | None:
        while self._plans and self._plans[0][2].is_dropped:
            heapq.heappop(self._plans)
        return self._plans[0][2] if self._plans else None

    # -- whether anything runs -------------------------------------------------------------------

    async def _is_quiet(self) -> bool:
        """Nobody on this loop has anything to do, and no task is in hand."""
        if self._clock.is_resting:
            await self.quiet.comes()
        if not self._clock.is_resting:
            return False  # it will tell when it rests again
        if not await self._runner.store.claims():
            return True
        if self._is_forced:
            return not await self._changes_within(GRACE_SECS)
        await self._tell()
        return False

    async def _tell(self) -> None:
        """Say, once, what time is held up by."""
        if self._told != self._state and not await self._changes_within(TOLD_SECS):
            held = "the test holds it; " if self._holds else ""
            log.warning("time stands still: %s%s", held, await self.explain())
            self._told = self._state

    @property
    def _state(self) -> tuple[int, int]:
        return self._runner.engine.batches, self._changes

    def _has_changed(self) -> None:
        self._changes += 1
        self._news.set()

    async def _changes_within(self, secs: float) -> bool:
        """Whether anything happens; an engine that merely looks around has done nothing."""
        loop, before = asyncio.get_running_loop(), self._state
        give_up = loop.time() + secs
        while self._state == before and loop.time() < give_up:
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(give_up):
                    await self._news.wait()
        self._news.set()
        return self._state != before

    # -- when it cannot go on --------------------------------------------------------------------

    async def _hear(self) -> bool:
        """Whether a run is blocked: whoever waits for it would wait for ever."""
        found: WorkflowMisuse | None = None
        while rows := await self._runner.store.stream.page(self._read_to, FRAMES_AT_ONCE):
            self._read_to = rows[-1].last
            for row in rows:
                if BLOCKED in row.text:
                    found = found or _misuse(row)
        if found is None or self._may_block:
            return False
        self._fail(found)
        return True

    async def _despair(self) -> None:
        """Nothing is due. Perhaps something comes from outside yet."""
        if not await self._changes_within(self._patience_secs):
            self._fail(NothingDue(f"nothing is due any more: {await self.explain()}"))

    def _visited(self, task: asyncio.Task[None]) -> None:
        self._visits.pop(task).is_over = True
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fail(fault)
        self._has_changed()

    def _fail(self, fault: BaseException) -> None:
        """Whoever waits for time is told; if nobody does, whoever does so next."""
        if not self._waits:
            self._fault = self._fault or fault
        for wait in self._waits:
            wait.fail(fault)


async def _go(visit: Visit, call: Callable[[], object]) -> None:
    _visit.set(visit)
    outcome = call()
    if isawaitable(outcome):
        await outcome


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _misuse(row: FrameRow) -> WorkflowMisuse | None:
    for frame in row.frames():
        if frame.kind == Kind.WORKFLOW_BLOCKED:
            return WorkflowMisuse(
                f"workflow {frame.workflow_id!r} cannot go on: {frame.details['error']}"
            )
    return None
