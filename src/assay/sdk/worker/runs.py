"""Workflow tasks: a run's news are fed to its live copy, and what its code asks for goes out.

The copy stays (the least recently used goes first), so that the next task need bring only what is
new. Inline steps run here; while one does, the claim is held on, and news come under it.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from functools import partial
from typing import Any, Protocol

from assay.model.task import TaskKind
from assay.sdk.context import replay_of
from assay.sdk.convert import Codec
from assay.sdk.exchange.pump import Pump
from assay.sdk.faults import PayloadError, WorkflowMisuse
from assay.sdk.replay.asked import Asked
from assay.sdk.replay.outgoing import outgoing
from assay.sdk.worker.batches import one_batch
from assay.sdk.worker.live_run import LiveRun
from assay.sdk.worker.options import WorkerOptions
from assay.sdk.worker.registry import Registry
from assay.sdk.worker.steps import run_step
from assay.sdk.worker.threads import Work
from assay.wire.commands import CommandBody
from assay.wire.commands.endings import FailWorkflow
from assay.wire.exchange.answer import Entry, RunTask
from assay.wire.exchange.operations import HandBack, Outcome, ShowMismatch, SubmitCommands

HOLD_OPEN_SECS = 0.05  # a step that takes longer does not keep its run from hearing news
OK = 200
BAD = (400, 422)
TOO_LARGE = 413
log = logging.getLogger("assay.sdk")


class Owner(Protocol):
    """The worker these runs belong to."""

    options: WorkerOptions
    registry: Registry
    codec: Codec
    pump: Pump

    def run_in_thread(self, kind: TaskKind, work: Work) -> "asyncio.Future[Any]":
        """A plain function, beside the loop."""


class Runs:
    """All live runs of a worker."""

    def __init__(self, owner: Owner, room: int, kept: int, seed: int | None = None) -> None:
        self.room = room
        self.seen = 0
        self.engine_time = 0.0
        self._owner = owner
        self._kept = kept
        self._live: OrderedDict[int, LiveRun] = OrderedDict()
        self._taken: dict[int, LiveRun] = {}  # those whose claim is in hand
        self._fetching: dict[int, RunTask] = {}
        self._dice = random.Random(seed)  # noqa: S311 - spreads repeated attempts

    @property
    def free(self) -> int:
        """How many more tasks it takes."""
        return self.room - len(self._taken) - len(self._fetching)

    @property
    def claimed(self) -> list[LiveRun]:
        """Runs whose claim is in hand."""
        return list(self._taken.values())  # in one go: other threads ask too

    @property
    def claims(self) -> list[str]:
        """Their leases, and those of tasks whose history is on its way."""
        fetched = [task.lease for task in list(self._fetching.values())]
        return [*(live.lease for live in self.claimed), *fetched]

    @property
    def claimed_ids(self) -> list[str]:
        """The ids under which leases are renewed."""
        fetched = [task.id for task in list(self._fetching.values())]
        return [*(live.id for live in self.claimed), *fetched]

    def take(self, task: RunTask) -> None:
        """A task has come. Called from a plain callback: no asyncio task may be under way."""
        if not task.free:
            self.seen += 1
        live, fetched = self._live.get(task.no), self._fetching.get(task.no)
        if fetched is not None and fetched.lease == task.lease:
            return  # its history is on its way
        if live is not None and _is_known(live, task):
            return  # sent again, and here already
        if task.free and not _is_awaited(live, task):
            return  # that claim has been given back; what it has not seen comes with the next one
        if task.more or (task.since is not None and not _fits(live, task)):
            self._fetch(task)
            return
        if task.since is None:
            live = self._begin(task)
        if live is not None:
            self._go_on(live, task, task.history)

    def stop(self) -> None:
        """Claims go back, live copies go."""
        for live in list(self._live.values()):
            self._hand_back(live)
            live.let_go()
        self._live.clear()
        self._taken.clear()

    # -- tasks -----------------------------------------------------------------------------------

    def _begin(self, task: RunTask) -> LiveRun | None:
        """A run this worker has no copy of: all its history is here."""
        self._make_way(task)
        workflow = self._owner.registry.workflows.get(task.type)
        if workflow is None:
            self._turn_away(task)
            return None
        live = LiveRun(task.no, task.id, replay_of(workflow, task.id, self._owner.codec))
        self._live[task.no] = live
        return live

    def _make_way(self, task: RunTask) -> None:
        """Answers may overtake each other: two claims are here, and one of them is over."""
        live, fetched = self._live.get(task.no), self._fetching.pop(task.no, None)
        if live is not None and live.lease != task.lease:
            self._hand_back(live)
        if fetched is not None and fetched.lease != task.lease:
            self._owner.pump.tell(HandBack(kind=TaskKind.WORKFLOW, no=task.no, token=fetched.lease))
        self._drop(task.no)

    def _turn_away(self, task: RunTask) -> None:
        """A type this worker does not know."""
        error = f"no workflow handler registered for type: {task.type}"
        log.warning("%s: %s", task.id, error)
        if self._owner.options.fails_unknown:
            failed = [FailWorkflow(error=error)]
            said = SubmitCommands(id=task.id, lease=task.lease, commands=list(failed))
            self._owner.pump.tell(said)
            return
        known = ", ".join(sorted(self._owner.registry.workflows)) or "none"
        why = f"{error}; this program has {known}"
        self._owner.pump.tell(ShowMismatch(id=task.id, lease=task.lease, error=why))

    def _go_on(self, live: LiveRun, task: RunTask, history: list[Entry]) -> None:
        live.lease = task.lease
        if live.is_claimed or not task.free:  # else the claim was given back while these news came
            live.is_claimed = True
            self._taken[live.no] = live
        self._live.move_to_end(live.no)
        live.replay.advance([entry for entry in history if entry.seq > live.replay.given])
        self._say(live)

    def _fetch(self, task: RunTask) -> None:
        """Only a part of the history is here, and not the part that is missing."""
        self._make_way(task)
        self._fetching[task.no] = task
        loop = asyncio.get_running_loop()
        loop.create_task(self._fetch_all(task)).add_done_callback(_log_fault)

    async def _fetch_all(self, task: RunTask) -> None:
        entries: list[Entry] = []
        try:
            while True:
                after = entries[-1].seq if entries else 0
                part = await self._owner.pump.history(task.no, after)
                entries += part.entries
                if not part.more:
                    break
        except BaseException:
            if self._fetching.get(task.no) is task:
                del self._fetching[task.no]
            raise
        asyncio.get_running_loop().call_soon(self._fetched, task, entries)

    def _fetched(self, task: RunTask, entries: list[Entry]) -> None:
        if self._fetching.get(task.no) is task:
            del self._fetching[task.no]
            live = self._begin(task)
            if live is not None:
                live.is_claimed = True
                self._go_on(live, task, entries)
        self._owner.pump.go()

    # -- what goes out ---------------------------------------------------------------------------

    def _say(self, live: LiveRun) -> None:
        """The code has gone as far as it can: say what it asks for, or that it cannot be."""
        if live.replay.fault is not None:
            self._block(live, str(live.replay.fault))
            return
        try:
            said, live.snapshot = outgoing(live.replay, self.engine_time, live.snapshot)
        except (PayloadError, WorkflowMisuse) as misfit:
            self._block(live, str(misfit))
            return
        live.outbox += said.commands
        for asked in said.steps:
            self._run_step(live, asked)
        if said.ends:
            for task in live.steps:
                task.cancel()
            live.steps.clear()
        if live.outbox or not live.steps:
            self._flush(live)
        elif live.hold_open is None:
            loop = asyncio.get_running_loop()
            live.hold_open = loop.call_later(HOLD_OPEN_SECS, self._hold_open, live)

    def _hold_open(self, live: LiveRun) -> None:
        live.hold_open = None
        if live.is_claimed and self._live.get(live.no) is live:
            self._flush(live)

    def _flush(self, live: LiveRun) -> None:
        """One batch; a second one waits for the outcome of the first."""
        if live.is_saying or not live.is_claimed:
            live.must_say = live.is_saying
            return
        live.must_say = False
        if live.hold_open is not None:
            live.hold_open.cancel()
            live.hold_open = None
        commands, live.outbox = one_batch(live.outbox)
        holds = bool(live.steps or live.outbox)
        ends = live.replay.is_over and not live.outbox
        submission = SubmitCommands(
            id=live.id,
            lease=live.lease,
            commands=commands,
            keeps=not ends and self._kept > 0,
            holds=holds,
            seen=live.replay.given,
        )
        live.is_saying = True
        if not holds:
            self._release(live)
        if ends:
            self._live.pop(live.no, None)
        future = self._owner.pump.say(submission)
        future.add_done_callback(lambda done: self._said(live, done, ends=ends))

    def _said(self, live: LiveRun, done: "asyncio.Future[Outcome]", *, ends: bool) -> None:
        live.is_saying = False
        outcome = None if done.cancelled() or done.exception() else done.result()
        if outcome is None or outcome.status != OK:
            if outcome is not None:
                self._refused(live, outcome)
            self._hand_back(live)
            self._drop(live.no, live)
            self._release(live)
        elif ends:
            live.let_go()
        elif self._live.get(live.no) is not live:
            self._hand_back(live)  # another claim has come in between
        elif live.outbox or live.must_say:
            self._flush(live)
        self._shrink()
        self._owner.pump.go()

    def _refused(self, live: LiveRun, outcome: Outcome) -> None:
        """The task is lost, unless what the code asks for is its own fault."""
        log.info("the batch of %s is refused: %s", live.id, outcome.error)
        if outcome.status in BAD:
            why = f"the engine refuses what the code asks for: {outcome.error}"
            self._owner.pump.tell(ShowMismatch(id=live.id, lease=live.lease, error=why))
        if outcome.status == TOO_LARGE:
            error = "what the workflow asks for at once is larger than the engine takes (2 MiB)"
            command = FailWorkflow(error=error)
            self._owner.pump.tell(SubmitCommands(id=live.id, lease=live.lease, commands=[command]))

    def _block(self, live: LiveRun, why: str) -> None:
        """No command goes out; the engine shows the reason, and offers the run again later."""
        log.error("workflow %s cannot go on: %s", live.id, why)
        self._drop(live.no, live)
        self._release(live)
        self._owner.pump.tell(ShowMismatch(id=live.id, lease=live.lease, error=why))

    def _hand_back(self, live: LiveRun) -> None:
        if live.is_claimed and not live.is_saying:
            back = HandBack(kind=TaskKind.WORKFLOW, no=live.no, token=live.lease)
            self._owner.pump.tell(back)
            self._release(live)

    # -- steps -----------------------------------------------------------------------------------

    def _run_step(self, live: LiveRun, asked: Asked) -> None:
        in_thread = partial(self._owner.run_in_thread, TaskKind.WORKFLOW)
        task = asyncio.get_running_loop().create_task(
            run_step(asked, self._owner.codec, in_thread, self._dice)
        )
        live.steps.add(task)
        task.add_done_callback(lambda done: self._step_done(live, done))

    def _step_done(self, live: LiveRun, done: "asyncio.Task[CommandBody]") -> None:
        if done not in live.steps:
            return
        live.steps.discard(done)
        if self._live.get(live.no) is not live or done.cancelled():
            return
        live.outbox.append(done.result())
        asyncio.get_running_loop().call_soon(self._flush, live)

    # -- what is kept ----------------------------------------------------------------------------

    def _release(self, live: LiveRun) -> None:
        live.is_claimed = False
        self._taken.pop(live.no, None)

    def _drop(self, no: int, only: LiveRun | None = None) -> None:
        live = self._live.get(no)
        if live is not None and (only is None or live is only):
            del self._live[no]
            self._taken.pop(no, None)
            live.let_go()
        elif only is not None:
            only.let_go()

    def _shrink(self) -> None:
        """The least recently used go, but none that is being worked on."""
        excess = len(self._live) - self._kept
        if excess <= 0:
            return
        for live in [each for each in self._live.values() if not each.is_claimed][:excess]:
            if not live.is_saying:
                self._drop(live.no)


def _fits(live: LiveRun | None, task: RunTask) -> bool:
    """Whether what is new follows what the live copy has seen."""
    if live is None or live.lease != task.since:
        return False
    return not task.history or task.history[0].seq <= live.replay.given + 1


def _is_awaited(live: LiveRun | None, task: RunTask) -> bool:
    """Whether news under a claim held on come to a copy that has it, or has just given it back."""
    if live is None or live.lease != task.lease:
        return False
    return live.is_claimed or _fits(live, task)


def _is_known(live: LiveRun, task: RunTask) -> bool:
    """The same task once more: an answer was thought lost and was not."""
    return not task.free and live.lease == task.lease and (live.is_claimed or live.is_saying)


def _log_fault(done: "asyncio.Task[None]") -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("a history could not be read: %s", done.exception())
