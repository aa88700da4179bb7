"""The world a program runs in: a real engine, real runs of workers, and the ways between them.

Nothing happens here by itself; `will.py` says what happens next.
"""

import asyncio
import json
import math
from collections.abc import Coroutine
from typing import Any

import msgspec
from msgspec import Struct

from assay.engine.requests import Request
from assay.engine.wants import Grant, Want
from assay.errors import AssayError, Refusal
from assay.model.activity import Activity
from assay.model.events import Event
from assay.model.ids import claim_token
from assay.model.operations import (
    CompleteActivity,
    FailActivity,
    Fence,
    Operation,
    RenewLeases,
    Start,
)
from assay.model.run import Run
from assay.model.task import Claim, TaskKind
from assay.model.time import MICROS
from assay.sdk.definition import WorkflowDefinition
from assay.sdk.worker.registry import Registry
from assay.server.problems import status_of
from assay.server.routes import exchange as route
from assay.store.port import Look
from assay.wire.exchange.answer import History, RunTask
from assay.wire.exchange.operations import BadBatch, Outcome, ShowMismatch
from assay.wire.exchange.request import Position
from tests.properties.workflows.ideal import work
from tests.properties.workflows.interpreter import LEAF, SICK, definition, leaf
from tests.properties.workflows.programs import Program
from tests.properties.workflows.seats import HandLoop, Letter, Reply, Seat
from tests.unit.engine.bench import NOW, Bench

MAIN = "wf"
WORK_LOOK = Look(TaskKind.ACTIVITY, "main", "default")
BEAT_EVERY = 10 * MICROS
FORGOTTEN_AFTER = 15 * MICROS
_read_task = msgspec.json.Decoder(RunTask).decode
_read_history = msgspec.json.Decoder(History).decode


class Wrong(AssertionError):
    """Something that must not be."""


class Attempt(Struct):
    """An activity in somebody's hands."""

    claim: Claim
    row: Activity
    no: int
    fails: int


class World:
    """Engine, workers, clock."""

    def __init__(self, program: Program, *, kept: int) -> None:
        self.bench = Bench()
        self.engine = self.bench.engine
        self.engine.index.horizon = 1 << 60  # no sweep is needed to find what is far away
        self.loop = HandLoop(lambda: (self.bench.now - NOW) / MICROS)
        self.registry = Registry()
        self.registry.workflows = {
            "program": definition(program, self),
            LEAF: WorkflowDefinition(LEAF, leaf),
        }
        self.kept = kept
        self.seats: list[Seat] = []
        self.gone: list[tuple[int, Seat]] = []
        self.runs: dict[int, Run] = {}
        self.events: dict[int, list[Event]] = {}
        self.voided: dict[tuple[int, int], int] = {}
        self.attempts: list[Attempt] = []
        self.pauses: list[asyncio.Future[None]] = []
        self.healed = False
        self.cuts: list[tuple[str, int]] = []
        self._tokens = 0
        self._joined = 0
        self._learned = 0
        self._steps: dict[tuple[str, int], int] = {}
        self._hands = Want(WORK_LOOK, "hands", held=True, answer=self._handed, several=True)
        self.join()
        self.perform(Start("program", MAIN, input='{"round":1,"taken":[]}'))

    def close(self) -> None:
        """Let everything go."""
        for seat in self.seats:
            if seat.alive:
                seat.die()
        self.loop.close()
        self.bench.store.close_now()

    # -- what the code of programs asks for -------------------------------------------------------

    def cut_short(self, workflow_id: str, no: int) -> None:
        self.cuts.append((workflow_id, no))

    def token(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}"

    def step(self, workflow_id: str, no: int, fails: int, *, is_async: bool) -> Any:
        def tried() -> str:
            times = self._steps[workflow_id, no] = self._steps.get((workflow_id, no), 0) + 1
            if times <= fails:
                raise RuntimeError(f"step {no} does not work")
            return work(no)

        async def try_it() -> str:
            pause: asyncio.Future[None] = self.loop.create_future()
            self.pauses.append(pause)
            await pause
            return tried()

        return try_it if is_async else tried

    def end_pause(self, at: int) -> None:
        """A step that waits on the worker's loop goes on."""
        pause = self.pauses.pop(at)
        if not pause.done():
            pause.set_result(None)
        self.loop.settle()

    # -- the engine -------------------------------------------------------------------------------

    def perform(self, *operations: Operation) -> list[Any]:
        """Operations that come together: what each was answered."""
        answers: list[Any] = []
        for operation in operations:
            self.engine.submit(Request((operation,), answers.extend))
        self.turn()
        return answers

    def turn(self) -> None:
        """The engine does what there is to do, and hands out tasks."""
        for seat in self.present:
            self.engine.index.kept.watch(seat.id)
            self.engine.want_several(seat.want, max(seat.room, 0))
        self.engine.want_several(self._hands, 100)
        self.bench.run(200)
        for batch in self.bench.commits[self._learned :]:
            for change in batch.decision.runs:
                if change.after is not None:
                    self.runs[change.after.no] = change.after
            for event in batch.decision.events:
                self.events.setdefault(event.run_no, []).append(event)
            for voided in batch.decision.voided:
                self.voided.update({(voided.run_no, seq): voided.by for seq in voided.seqs})
        self._learned = len(self.bench.commits)

    @property
    def chain(self) -> list[Run]:
        """The program's run and its successors."""
        run = next(run for run in self.runs.values() if run.id == MAIN)
        found = [run]
        while run.successor_no is not None:
            run = self.runs[run.successor_no]
            found.append(run)
        return found

    @property
    def is_over(self) -> bool:
        return not any(run.is_open for run in self.runs.values())

    # -- workers ----------------------------------------------------------------------------------

    @property
    def present(self) -> list[Seat]:
        """Workers that are there and awake."""
        return [seat for seat in self.seats if seat.alive and seat.frozen_until <= self.bench.now]

    def join(self) -> None:
        """One more worker."""
        self._joined += 1
        self.seats.append(Seat(f"w{self._joined}", self.loop, self.registry, self.kept))

    def kill(self, seat: Seat) -> None:
        """It ends without a word."""
        seat.die()
        self.leave(seat)

    def freeze(self, seat: Seat, secs: float) -> None:
        """It does nothing for a while."""
        seat.frozen_until = self.bench.now + round(secs * MICROS)
        self.leave(seat)

    def leave(self, seat: Seat) -> None:
        """Its requests are gone, and after a while it is forgotten."""
        self.engine.wants.retire(seat.want)
        self.gone.append((self.bench.now + FORGOTTEN_AFTER, seat))

    def carry(self, seat: Seat, count: int, *, request_lost: bool, answer_lost: bool) -> None:
        """So much of what it has to say reaches the engine, and an answer sets out."""
        letters = [seat.wire.out.popleft() for _ in range(count)]
        outcomes = [] if request_lost else self._answered(seat, letters)
        if request_lost or answer_lost:
            seat.wire.out.extendleft(reversed(letters))
        else:
            seat.replies.append(Reply(letters, outcomes, self.bench.now / MICROS))

    def fetch(self, seat: Seat) -> None:
        """What it was granted is written down, and sets out."""
        grants, seat.coming = seat.coming, []
        texts = at_once(route._runs(self.bench.store.reading, grants))
        seat.tasks.append([_read_task(text) for text in texts])

    def give_again(self, seat: Seat, no: int, token: int) -> None:
        """It may have missed that task."""
        run = self.runs[no]
        if run.claim_token == token and run.claim_until is not None:
            seat.coming.append(Grant(Claim(TaskKind.WORKFLOW, no, token, seat.id), run))

    def _answered(self, seat: Seat, letters: list[Letter]) -> list[Any]:
        operations: list[Operation] = []
        refused: dict[int, Outcome] = {}
        histories: dict[int, Any] = {}
        for at, letter in enumerate(letters):
            if letter.position is not None:
                text = at_once(route._history(self.bench.store.reading, Position(*letter.position)))
                histories[at] = _read_history(text)
                continue
            operation = letter.operation
            if isinstance(operation, ShowMismatch):
                raise Wrong(f"{operation.id}: {operation.error}")
            try:
                operations.append(operation.of(seat.id))
            except BadBatch as bad:
                raise Wrong(f"a bad batch: {bad}") from None
            except Refusal as refusal:
                refused[at] = Outcome(status_of(refusal), str(refusal))
        performed = iter(self.perform(*operations) if operations else ())
        return [
            histories[at] if at in histories else refused.get(at) or route._said(next(performed))
            for at in range(len(letters))
        ]

    # -- activities -------------------------------------------------------------------------------

    def _handed(self, grant: Any) -> None:
        if isinstance(grant, Grant):
            view = grant.view
            if view is None:
                (view,) = at_once(self.bench.store.reading.activity_views([grant.claim.no]))
            assert isinstance(grant.row, Activity)
            said = json.loads(view.input or "{}")
            self.attempts.append(
                Attempt(grant.claim, grant.row, said.get("no", 0), said.get("fails", 0))
            )

    def finish(self, attempt: Attempt) -> None:
        """Somebody has done it, or failed."""
        self.attempts.remove(attempt)
        row, claim = attempt.row, attempt.claim
        fence = Fence(claim.worker_id, row.attempt, claim_token(claim.token))
        works = self.healed if row.name == SICK else row.attempt > attempt.fails
        if works:
            self.perform(CompleteActivity(row.no, json.dumps(work(attempt.no)), fence))
        else:
            self.perform(FailActivity(row.no, f"attempt {row.attempt} of {attempt.no}", fence))

    # -- time -------------------------------------------------------------------------------------

    def next_at(self) -> int | None:
        """When time alone changes something."""
        timer = self.loop.next_at()
        moments = [
            self.engine.next_wake(),
            None if timer is None else NOW + math.ceil(timer * MICROS) + 1,
            *(seat.frozen_until for seat in self.seats if seat.frozen_until > self.bench.now),
            *(at for at, _ in self.gone),
        ]
        return min((at for at in moments if at is not None), default=None)

    def let_pass(self, until: int) -> None:
        """Time goes on; workers that are awake say that they are alive."""
        while self.bench.now < until:
            self.bench.now = min(until, self.bench.now + BEAT_EVERY)
            beats = [
                RenewLeases(seat.id, tuple(seat.runs.claimed_ids))
                for seat in self.present
                if seat.runs.claimed_ids
            ]
            self._forget()
            self.perform(*beats)
            self.loop.settle()
        self.turn()

    def _forget(self) -> None:
        for at, seat in [each for each in self.gone if each[0] <= self.bench.now]:
            self.gone.remove((at, seat))
            if seat in self.present:
                continue
            self.engine.index.kept.unwatch(seat.id)
            for grant in seat.coming:
                self.engine.undo(grant.claim)
            seat.coming.clear()


def at_once(reading: Coroutine[Any, Any, Any]) -> Any:
    """What a store in memory answers without waiting for anything."""
    try:
        reading.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")


def error_of(answer: Any) -> AssayError | None:
    """Why it was refused."""
    return answer if isinstance(answer, AssayError) else None
