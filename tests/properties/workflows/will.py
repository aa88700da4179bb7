"""What happens next in a world: thrown with dice, or in a calm world always the next best."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from assay.core.waits import waits_of
from assay.model.commands import ScheduleActivity
from assay.model.ids import claim_token
from assay.model.operations import AddActivity, Cancel, Operation, Retry, Signal
from assay.model.retry import RetryPolicy
from assay.model.states import RunStatus
from assay.model.time import MICROS
from assay.sdk.worker.live_run import LiveRun
from tests.properties.workflows.interpreter import WORK
from tests.properties.workflows.programs import Program, signals
from tests.properties.workflows.seats import Seat
from tests.properties.workflows.world import World, Wrong, error_of
from tests.unit.engine.bench import NOW

MOVES = 4_000
LONGEST = 3600 * MICROS
SOON = 12 * MICROS
Move = Callable[[], None]


class Will:
    """Moves a world until everything in it has ended."""

    def __init__(self, world: World, program: Program, dice: Random, *, calm: bool) -> None:
        self.cancelled = False
        self.sent: dict[str, list[str]] = {}
        self._world = world
        self._dice = dice
        self._calm = calm
        self._troubles = 0 if calm else dice.choice((0, 1, 3, 8))
        self._outside: list[Move] = []
        for at, name in enumerate(signals(program)):
            self._outside.append(partial(self._signal, name, at))
        if not calm:
            self._invent()
        self._added = 0
        self._retries = 0

    def run(self) -> None:
        """From the first move to the last."""
        world = self._world
        for _ in range(MOVES):
            if world.is_over and not self._is_to_heal:
                return
            moves = self._moves()
            if not moves:
                self._look_round()
            self._choose([*moves, *self._passing(moves)])()
            world.turn()
            if world.bench.now - NOW > LONGEST:
                raise Wrong(f"it does not end: {self._open()}")
        raise Wrong(f"it goes on for ever: {self._open()}")

    # -- what can happen --------------------------------------------------------------------------

    def _moves(self) -> list[tuple[float, Move]]:
        world = self._world
        moves: list[tuple[float, Move]] = []
        for seat in world.present:
            moves += self._moves_of(seat)
        for attempt in world.attempts:
            moves.append((3, partial(world.finish, attempt)))
        if world.pauses:
            moves.append((3, lambda: world.end_pause(self._any(world.pauses))))
        if self._is_to_heal:
            moves.append((1, self._heal))
        elif self._outside:
            moves.append((1.5, self._next_outside))
        if self._troubles:
            moves += self._trouble()
        elif not world.present and not any(seat.alive for seat in world.seats):
            moves.append((1, world.join))
        return moves

    def _moves_of(self, seat: Seat) -> list[tuple[float, Move]]:
        world = self._world
        moves: list[tuple[float, Move]] = []
        if seat.wire.out:
            moves.append((6, partial(self._carry, seat)))
        if seat.replies:
            moves.append((6, lambda: seat.hear(seat.replies.pop(self._early(seat.replies)))))
        if seat.coming:
            moves.append((6, partial(world.fetch, seat)))
        if seat.tasks:
            at = world.bench.now / MICROS
            moves.append((6, lambda: seat.take(seat.tasks.pop(self._early(seat.tasks)), at)))
        if seat.threads:
            moves.append((3, lambda: seat.finish_thread(self._any(seat.threads))))
        if seat.lost:
            moves.append((1, partial(self._give_again, seat)))
        return moves

    def _trouble(self) -> list[tuple[float, Move]]:
        world, dice = self._world, self._dice
        moves: list[tuple[float, Move]] = [(0.2, self._troubling(world.join))]
        alive = [seat for seat in world.seats if seat.alive]
        moves += [(0.2, self._troubling(partial(world.kill, seat))) for seat in alive]
        for seat in world.present:
            secs = dice.choice((0.5, 2.0, 20.0, 40.0))
            moves.append((0.2, self._troubling(partial(world.freeze, seat, secs))))
            if seat.coming:
                moves.append((0.5, self._troubling(partial(self._lose, seat))))
            if seat.runs.claimed:
                moves.append((0.3, self._troubling(partial(self._double, seat))))
        return moves

    def _passing(self, moves: list[tuple[float, Move]]) -> list[tuple[float, Move]]:
        at = self._world.next_at()
        if at is None:
            if not moves:
                raise Wrong(f"it hangs: {self._open()}")
            return []
        if moves and at > self._world.bench.now + SOON:
            return []
        return [(0.7 if moves else 1.0, lambda: self._world.let_pass(at))]

    def _choose(self, moves: list[tuple[float, Move]]) -> Move:
        if self._calm:
            return moves[0][1]
        return self._dice.choices([each for _, each in moves], [weight for weight, _ in moves])[0]

    # -- moves ------------------------------------------------------------------------------------

    def _carry(self, seat: Seat) -> None:
        dice, waiting = self._dice, len(seat.wire.out)
        count = waiting if self._calm else dice.randint(1, waiting)
        lost = ""
        if self._troubles and dice.random() < 0.1:
            self._troubles -= 1
            lost = dice.choice(("request", "answer"))
        self._world.carry(seat, count, request_lost=lost == "request", answer_lost=lost == "answer")

    def _any(self, several: Sequence[object]) -> int:
        return 0 if self._calm else self._dice.randrange(len(several))

    def _early(self, several: Sequence[object]) -> int:
        """Mostly the first; sometimes one overtakes another."""
        if len(several) > 1 and not self._calm and self._dice.random() < 0.2:
            return 1
        return 0

    def _lose(self, seat: Seat) -> None:
        seat.lost.append(seat.coming.pop(self._dice.randrange(len(seat.coming))))

    def _give_again(self, seat: Seat) -> None:
        claim = seat.lost.pop().claim
        self._world.give_again(seat, claim.no, claim.token)

    def _double(self, seat: Seat) -> None:
        live = self._dice.choice(seat.runs.claimed)
        token = self._world.runs[live.no].claim_token
        if token is not None and self._world.runs[live.no].claimed_by == seat.id:
            self._world.give_again(seat, live.no, token)

    def _troubling(self, move: Move) -> Move:
        def trouble() -> None:
            self._troubles -= 1
            move()

        return trouble

    # -- from outside -----------------------------------------------------------------------------

    def _invent(self) -> None:
        if self._dice.random() < 0.35:
            self._outside.append(self._cancel)
            if self._dice.random() < 0.3:
                self._outside.append(self._cancel)
        if self._dice.random() < 0.15:
            self._outside.append(self._add)
        self._dice.shuffle(self._outside)

    def _next_outside(self) -> None:
        for seat in self._world.present:
            for live in seat.runs._live.values():
                self._same_waits(live)
        self._outside.pop(0)()

    def _on_the_last(self, operation: Callable[[str], Operation]) -> bool:
        (answer,) = self._world.perform(operation(self._world.chain[-1].id))
        return error_of(answer) is None

    def _signal(self, name: str, at: int) -> None:
        token = f"{name}-{at}"
        if self._on_the_last(lambda id: Signal(id, name, f'"{token}"', token)):
            self.sent.setdefault(name, []).append(token)

    def _cancel(self) -> None:
        if self._on_the_last(lambda id: Cancel(id, "no more")):
            self.cancelled = True

    def _add(self) -> None:
        self._added += 1
        activity = ScheduleActivity(1000 + self._added, WORK, "default", None, RetryPolicy())
        self._on_the_last(lambda id: AddActivity(id, activity))

    @property
    def _is_to_heal(self) -> bool:
        """It has failed for its sick activity."""
        last = self._world.chain[-1]
        return last.status is RunStatus.FAILED and "activity 'sick'" in (last.error or "")

    def _heal(self) -> None:
        """It is set going again."""
        self._retries += 1
        if self._retries > 3:
            raise Wrong("a healed run fails again")
        self._world.healed = True
        if not self._on_the_last(lambda id: Retry(id, "me", "because")):
            raise Wrong("it cannot be healed")

    # -- what must be -----------------------------------------------------------------------------

    def _look_round(self) -> None:
        """Nothing is under way but time: nobody holds or overlooks anything."""
        world = self._world
        for seat in world.present:
            assert seat.is_idle
            names = [live.id for live in seat.runs._taken.values()]
            if names and world.loop.next_at() is None:
                raise Wrong(f"{seat.id} holds {names} and does nothing with it")
            if seat.runs._fetching:
                raise Wrong(f"{seat.id} fetches {seat.runs._fetching} for ever")
        awake = {seat.id for seat in world.present}
        for run in world.runs.values():
            if run.claim_until is not None and run.claimed_by in awake:
                if world.loop.next_at() is None:
                    raise Wrong(f"{run.id} is held by {run.claimed_by}, which does nothing")
            if awake and run.is_open and run.claim_until is None and run.ready_at is not None:
                if run.ready_at + 1.1 * MICROS < world.bench.now:
                    raise Wrong(f"{run.id} has news, and nobody takes it")

    def _same_waits(self, live: LiveRun) -> None:
        """The engine can tell what a run waits for, once it has been told."""
        run = self._world.runs[live.no]
        if run.ready_at is not None or run.claim_token is not None or run.kept_token is None:
            return
        if claim_token(run.kept_token) != live.lease or live.is_saying or live.outbox:
            return
        told = {(wait.signal, wait.timer_seq) for wait in waits_of(run)}
        for wait in live.replay.waits_asked:
            if not wait.done() and (wait.asked_for, wait.timer_seq) not in told:
                raise Wrong(f"{run.id} waits for {wait.asked_for}, and nobody knows: {told}")

    def _open(self) -> str:
        world = self._world
        said = [
            f"{run.id} {run.status} ({len(world.events[run.no])} events, "
            f"last {world.events[run.no][-1].type})"
            for run in world.runs.values()
            if run.is_open
        ]
        return "; ".join(said)
