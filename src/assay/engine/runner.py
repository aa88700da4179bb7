"""Drives the machine with a real store and a real clock: one loop, one batch at a time.

Nobody polls: the loop sleeps until something comes in or the next deadline is there. A sweep every
second is the safety net under everything that was only hinted at.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import asdict

from assay.core.decide import Rules
from assay.engine.chores import Routine, do_for_ever
from assay.engine.clock import Clock, Pace, Passing, SteadyClock
from assay.engine.endings import Endings
from assay.engine.engine import Engine
from assay.engine.limits import (
    BATCH_ROWS_KEPT,
    BATCHES_BETWEEN_PRUNES,
    BREATH,
    BREATH_LONGEST,
    PRUNE_EVERY,
    SETTLE_SECS,
    SWEEP_EVERY,
    WINDOW_TASKS,
    WORKERS_FORGOTTEN_EVERY,
)
from assay.engine.outage import Outage
from assay.engine.presence import Presence
from assay.engine.pruning import prune_stream
from assay.engine.questions import Questions
from assay.engine.requests import Answer, CommitStep, LoadStep, Request, SettleStep, Step
from assay.engine.seeds import Seeds
from assay.engine.wants import Grant, Want, WantState
from assay.errors import AssayError, EngineStopped, StoreFault, StoreUnavailable
from assay.model.operations import Operation, Outcome, RegisterWorker, RenewLeases
from assay.model.task import Claim, TaskKind
from assay.model.time import MICROS
from assay.model.worker import Introduction, Worker
from assay.store.port import Deadline, Look, Store
from assay.store.views import RunView

__all__ = ["Rules", "Runner"]

BEGIN = LoadStep((), (), lock=False)
log = logging.getLogger("assay.engine")


class Runner:
    """A running engine: what server, tests and embedding programs talk to."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rules: Rules,
        seeds: Seeds | None = None,
        *,
        background: bool = True,
        pace: Pace | None = None,
    ) -> None:
        self.store = store
        self._host_clock = clock
        self.clock = SteadyClock(clock)
        self.rules = rules
        # Without, nothing happens by itself: what is due is done by passes (passes.py).
        self._background = background
        self._pace = pace or Passing()
        self._worker_ids = (seeds or Seeds()).stream("worker ids")
        self.engine: Engine
        self.presence = Presence(store)
        self.questions = Questions(store, self.presence, self.clock)
        self.endings = Endings()
        self.ready = False
        self.on_failure: Callable[[], None] = lambda: None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sweep: asyncio.Task[None] | None = None
        self._chores: list[asyncio.Task[None]] = []
        self._swept_batch = 0
        self._breath = BREATH
        self._unreadable = Outage(
            log, "the database cannot be read", "the database can be read again"
        )
        self._unknown_due = Outage(log, "what is due cannot be read", "what is due is read again")
        self._unswept = Outage(
            log, "the sweep found the database gone", "the sweep finds the database again"
        )

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the store, take up what is open, and begin to work."""
        if self._background:  # without, time is what the caller says it is
            self.store.compare_clock(self._host_clock)
        instance = await self.store.open()
        try:
            await self._take_up(instance)
        except BaseException:
            await self.store.close()
            raise

    async def _take_up(self, instance: int) -> None:
        self.clock.offset = self.store.clock_offset
        self.clock.raise_floor(await self.store.clock_floor())
        self.engine = Engine(instance=instance, exclusive=self.store.exclusive, rules=self.rules)
        self.engine.index.horizon = self._pace.horizon
        self.store.on_hint(self._hinted)
        self.store.on_ended(self._ended_elsewhere)
        self.store.on_soon(self._over_soon)
        if self._background:
            await self._recover()
        self.engine.keeps_time = self._background
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._has_ended)
        if self._background:
            self._sweep = asyncio.create_task(self._sweep_for_ever())
            self._chores = [
                asyncio.create_task(do_for_ever(routine, self.store, self.clock))
                for routine in (
                    Routine("prune_stream", PRUNE_EVERY, self.prune_stream),
                    Routine("forget_workers", WORKERS_FORGOTTEN_EVERY, self.presence.forget),
                )
            ]
        self.ready = True

    async def stop(self) -> None:
        """Held polls answer empty, what has come in is finished, the store is given up."""
        self.ready = False
        self.engine.stop()
        self.endings.close()
        self._wake.set()
        if self._sweep is not None:
            self._sweep.cancel()
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        if self._task is not None:
            await self._task
        await self.store.close()

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        """An engine that ended without being asked to is of no use to anybody."""
        if not task.cancelled() and not self.engine.stopped:
            log.critical("the engine has ended", exc_info=task.exception())
            self.engine.stop()
            self.on_failure()

    # -- what callers do -------------------------------------------------------------------------

    async def perform(self, operation: Operation) -> Outcome:
        """One operation, durable when this returns; a refusal is raised."""
        outcome = (await self.exchange((operation,)))[0]
        if isinstance(outcome, AssayError):
            raise outcome
        return outcome

    async def exchange(self, operations: tuple[Operation, ...]) -> Answer:
        """Several operations, one outcome for each, decided in order in one commit."""
        if self.engine.stopped:
            raise EngineStopped
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.engine.submit(Request(operations, _setter(future)))
        self._wake.set()
        return await future

    async def register(self, introduction: Introduction) -> str:
        """A worker introduces itself; the id it is to use from now on."""
        now = self.clock()
        worker_id = f"w-{self._worker_ids.getrandbits(64):016x}"
        worker = Worker(id=worker_id, registered_at=now, last_seen=now, **asdict(introduction))
        await self.perform(RegisterWorker(worker))
        self.presence.register(worker_id, worker.namespace)
        return worker_id

    async def heartbeat(self, worker_id: str, held_runs: tuple[str, ...] = ()) -> None:
        """A worker is alive; the leases of the runs it names are renewed."""
        await self.presence.namespace_of(worker_id)
        self.presence.seen(worker_id, self.clock())
        if held_runs:
            await self.perform(RenewLeases(worker_id, held_runs))

    async def poll(
        self, kind: TaskKind, queue: str, worker_id: str, hold_secs: float = 0
    ) -> Grant | None:
        """A task of that queue, at once or within the time; None if there is none.

        Cancelling this call (the client has hung up) undoes what was claimed meanwhile.
        """
        namespace = await self.presence.namespace_of(worker_id)
        self.presence.seen(worker_id, self.clock())
        future: asyncio.Future[Grant | None] = asyncio.get_running_loop().create_future()
        look = Look(kind, namespace, queue)

        def answer(grant: Grant | AssayError | None) -> None:
            if isinstance(grant, AssayError):
                if not future.done():
                    future.set_exception(grant)
            elif not future.done():
                future.set_result(grant)
            elif grant is not None:
                # The caller was cancelled a moment ago and has not run since: nobody can take it.
                self.undo(grant.claim)

        want = Want(look, worker_id, held=hold_secs > 0, answer=answer)
        self.engine.want(want)
        self._wake.set()
        timer = None
        if hold_secs > 0:
            timer = asyncio.get_running_loop().call_later(hold_secs, self._time_is_up, want)
        try:
            return await future
        except asyncio.CancelledError:
            self._abandon(want, future)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def result(self, workflow_id: str, hold_secs: float) -> RunView | None:
        """The last run of a chain of successors, ended or as it stands when the time is up.

        None: there is no such run, or a link of the chain was deleted, before or meanwhile.
        """
        loop = asyncio.get_running_loop()
        give_up = loop.time() + hold_secs
        reading, first_no = self.store.reading, None
        while True:
            with self.endings.listening() as heard:
                link = await reading.last_link(workflow_id, first_no)
                if link is None or link.cut:
                    return None
                first_no = link.first_no
                views = await reading.run_views([link.id])
            view = next((each for each in views if each.run.no == link.no), None)
            if view is None or view.run.successor_no is not None:
                continue  # the chain has moved between the two looks
            left = give_up - loop.time()
            if not view.run.is_open or left <= 0 or self.endings.closed:
                return view
            if link.no not in heard:
                await self.endings.wait(link.no, left)

    async def prune_stream(self, now: int) -> int:
        """Forget the events that are not kept any more at that time; how many went."""
        return await prune_stream(self.store, now)

    def wake(self) -> None:
        """Something has come in."""
        self._wake.set()

    def undo(self, claim: Claim) -> None:
        """The answer with this claim was not written."""
        self.engine.undo(claim)
        self._wake.set()

    def _time_is_up(self, want: Want) -> None:
        if self.engine.wants.withdraw(want):
            want.answer(None)

    def _abandon(self, want: Want, future: "asyncio.Future[Grant | None]") -> None:
        if want.state is WantState.GRANTED:
            want.gone = True
        elif want.state is WantState.WAITING:
            self.engine.wants.withdraw(want)
        elif future.done() and not future.cancelled() and future.exception() is None:
            grant = future.result()
            if grant is not None:
                self.undo(grant.claim)

    # -- the loop --------------------------------------------------------------------------------

    async def _run(self) -> None:
        engine = self.engine
        while True:
            self._wake.clear()
            if await self._one_batch():
                await self._after_commit()
                # One turn of the loop: those just answered come back with what they do next,
                # and all of it shares the next commit.
                await asyncio.sleep(0)
                continue
            if engine.stopped and not engine.has_work:
                return
            if not engine.has_work:
                await self._sleep()

    async def _one_batch(self) -> bool:
        """Make up a batch and carry it through to its end; False if there is nothing to do."""
        step: Step | None = BEGIN
        while step is not None:
            try:
                if step is BEGIN:
                    step = self.engine.begin(self.clock())
                    if step is None:
                        return False
                step = await self._take(step)
            except StoreFault as fault:
                self._unreadable.note(fault)
                self.engine.give_up_batch(StoreUnavailable(str(fault)))
                return True
            except Exception:
                # A defect of ours must not end the engine, nor hurt what came in beside it.
                log.exception("a batch could not be decided")
                step = self.engine.after_defect(AssayError("the engine failed at this request"))
        return True

    async def _take(self, step: Step) -> Step | None:
        match step:
            case LoadStep(keys, looks, lock, in_order):
                rows = await self.store.load(keys, lock=lock)
                found = await self.store.ready(looks, WINDOW_TASKS, in_order) if looks else []
                return self.engine.loaded(rows, list(zip(looks, found, strict=True)))
            case CommitStep(batch):
                return self.engine.committed(await self.store.commit(batch))
            case SettleStep(instance, no):
                self.engine.settled(committed=await self._settle(instance, no))
                return None

    async def _settle(self, instance: int, no: int) -> bool | None:
        """Ask until somebody knows, or it has taken too long to keep callers waiting."""
        log.warning("the connection was lost in a commit; asking whether it is in")
        loop = asyncio.get_running_loop()
        give_up = loop.time() + SETTLE_SECS
        while loop.time() < give_up and not self.engine.stopped:
            try:
                return await self.store.settle(instance, no)
            except StoreFault:
                await asyncio.sleep(0.1)
        return None

    async def _after_commit(self) -> None:
        engine = self.engine
        if engine.out_of_breath:
            engine.out_of_breath = False
            breath, self._breath = self._breath, min(2 * self._breath, BREATH_LONGEST)
            await asyncio.sleep(breath / MICROS)
        else:
            self._breath = BREATH
            self._unreadable.is_over()
        if engine.committed_looks or engine.committed_ends or engine.committed_claims:
            looks, engine.committed_looks = list(engine.committed_looks), {}
            ended, engine.committed_ends = engine.committed_ends, []
            claims, engine.committed_claims = engine.committed_claims, []
            self.store.hint(looks, ended, claims)
            self.endings.tell(ended)
        if engine.amnesia:
            await self._recover()

    async def _sleep(self) -> None:
        await self._pace.rest(self._wake, self.engine.next_wake(), self.clock)

    # -- the safety net --------------------------------------------------------------------------

    async def _recover(self) -> None:
        """All claims and near deadlines, after a start or a lost connection."""
        try:
            claims = await self.store.claims()
            near = await self.store.deadlines(self.clock() + self._pace.horizon)
            starts = await self.store.waiting_starts()
        except StoreFault as fault:
            self._unknown_due.note(fault)
            self.engine.amnesia = True
            return
        self._unknown_due.is_over()
        self.engine.amnesia = False
        self.engine.recover([*claims, *near], starts)

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY / MICROS)
            try:
                await self._sweep_once()
                self._unswept.is_over()
            except StoreFault as fault:
                self._unswept.note(fault)
            except Exception:
                log.exception("the sweep failed; it goes on")

    async def _sweep_once(self) -> None:
        self.clock.offset = self.store.clock_offset
        if self.engine.amnesia or self.store.lost_peer:
            self.store.lost_peer = False
            await self._recover()
        self.engine.recover(await self.store.deadlines(self.clock() + self._pace.horizon))
        await self.presence.write_behind()
        if not self.store.exclusive:
            self.engine.hint(None)
            if awaited := [*self.endings.awaited(), *self.engine.watched]:
                self._ended_elsewhere(await self.store.reading.ended(awaited))
        if self.engine.batches - self._swept_batch >= BATCHES_BETWEEN_PRUNES:
            self._swept_batch = self.engine.batches
            await self.store.prune_batches(
                self.engine.instance, self.engine.batches - BATCH_ROWS_KEPT
            )
        self._wake.set()

    def _ended_elsewhere(self, nos: list[int]) -> None:
        self.endings.tell(nos)
        if self.engine.ended_elsewhere(nos):
            self._wake.set()

    def _over_soon(self, claims: list[Deadline]) -> None:
        self.engine.recover(claims)
        self._wake.set()

    def _hinted(self, looks: list[Look] | None) -> None:
        self.engine.hint(looks)
        if looks is None:
            self.endings.tell(self.endings.awaited())
        self._wake.set()


Value = TypeVar("Value")


def _setter(future: "asyncio.Future[Value]") -> Callable[[Value], None]:
    """Resolve a future unless its caller has gone."""

    def set_result(value: Value) -> None:
        if not future.done():
            future.set_result(value)

    return set_result
