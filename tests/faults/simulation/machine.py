"""One engine on the store: its clock, its connection to the database, its crashes.

It does what the runner of the product does, one step of a batch at a time, each step an event of
the schedule. Between a step and its outcome anything may happen, to this engine and to others.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.engine import limits
from assay.engine.engine import Engine
from assay.engine.limits import BREATH, HORIZON, SWEEP_EVERY
from assay.engine.requests import CommitStep, LoadStep, SettleStep, Step
from assay.errors import StoreUnavailable
from assay.model.task import Claim
from assay.store.port import Batch, CommitOutcome, Committed, Failed, Loaded, Look, Ready, Unknown
from tests.faults.simulation.memory import Memory
from tests.faults.simulation.promptness import Promptness
from tests.faults.simulation.schedule import MILLI, SECOND, Action
from tests.faults.simulation.sessions import Sessions

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

SETTLE_TRIES = 4


class Watched(Engine):
    """An engine whose undone claims are noted."""

    released: set[int]
    memory: Memory

    def undo(self, claim: Claim) -> None:
        """The claim may end from now on."""
        self.released.add(claim.token)
        super().undo(claim)

    def forget_all(self) -> None:
        """What there was to know has to be read anew."""
        super().forget_all()
        self.memory.forgot()


class Machine:
    """An engine that runs, fails and starts again."""

    def __init__(self, world: "World", name: str, skew: int) -> None:
        self.world = world
        self.name = name
        self.skew = skew
        self.up = False
        self.life = 0
        self.engine: Watched
        self.memory: Memory
        self.sessions: Sessions
        self.tokens: dict[int, int | None] = {}
        self.callers: dict[object, Action] = {}
        self._kicked = False
        self._wake_at = 0
        self._flying: Batch | None = None
        self._at_once = False

    def clock(self) -> int:
        """What this machine's clock shows."""
        return self.world.schedule.clock + self.skew

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new engine with a new number takes up what is open."""
        world = self.world
        self.engine = Watched(
            instance=world.store.enlist(), exclusive=world.exclusive, rules=world.rules
        )
        self.engine.released = world.rows.released
        self.memory = Memory(
            self.engine,
            world.store,
            world.rows,
            Promptness(world.rows, world.schedules, world.schedule.now, exclusive=world.exclusive),
            exclusive=world.exclusive,
        )
        self.engine.memory = self.memory
        self.sessions = Sessions(self)
        floor = world.store._rows("clock_floor")[0][0]
        assert floor is None or isinstance(floor, int)
        self.engine.advance(max(self.clock(), floor or 0))
        self.up, self._kicked, self._wake_at, self._flying = True, False, 0, None
        self._recover()
        self._sweep()

    def crash(self) -> None:
        """The process is gone. A commit that was under way arrives, or never does."""
        self.up = False
        self.life += 1
        batch, self._flying = self._flying, None
        if batch is not None and self.world.dice.random() < 0.5:
            if self.world.exclusive:
                self.world.commit(batch)
            else:
                last = f"{self.name} last words"
                self.world.schedule.soon(last, lambda: self._last_words(batch), SECOND)
        for lose in list(self.callers.values()):
            lose()
        self.callers.clear()

    def _last_words(self, batch: Batch) -> None:
        self.world.commit(batch)

    # -- the loop --------------------------------------------------------------------------------

    def kick(self) -> None:
        """There may be something to do."""
        if self.up and not self._kicked:
            self._kicked = True
            self._after(self.world.dice.randrange(20, 2 * MILLI), "wakes", self._begin)

    def _begin(self) -> None:
        self._kicked = False
        if self.engine.is_busy:
            return
        step = self.engine.begin(self.clock())
        if step is not None:
            self._take(step)
        else:
            self._rest()

    def _take(self, step: Step | None) -> None:
        match step:
            case None:
                self._after_batch()
            case LoadStep():
                self._at_once = step.lock
                self._soon(f"loads {len(step.keys)}+{len(step.looks)}", lambda: self._read(step))
            case CommitStep(batch):
                self._flying = batch
                self._soon(f"commits {batch.no}", lambda: self._write(batch))
            case SettleStep(instance, no):
                self._soon(f"settles {no}", lambda: self._settle(instance, no, SETTLE_TRIES))

    def _read(self, step: LoadStep) -> None:
        world = self.world
        if world.faults.strike(world.faults.profile.load_failed):
            self._excuse()
            self._soon("cannot load", self._unreadable)
            return
        rows = world.store.load_now(step.keys)
        found = world.store.ready_now(step.looks, limits.WINDOW_TASKS)
        ready = list(zip(step.looks, found, strict=True))
        seen = self.memory.read(rows)
        self._soon("loaded", lambda: self._loaded(rows, ready, seen))

    def _loaded(
        self, rows: Loaded, ready: list[tuple[Look, list[Ready]]], seen: dict[int, int]
    ) -> None:
        self.memory.loaded(seen)
        self._take(self.engine.loaded(rows, ready))

    def _unreadable(self) -> None:
        self._at_once = False
        self.engine.give_up_batch(StoreUnavailable("the connection is gone"))
        self._after_batch()

    def _write(self, batch: Batch) -> None:
        world, profile = self.world, self.world.faults.profile
        self._flying = None
        if world.faults.strike(profile.commit_failed):
            outcome: CommitOutcome = Failed("no room")
        elif world.faults.strike(profile.commit_unknown):
            outcome = Unknown("the connection is gone")
            if world.dice.random() < 0.5:
                self._commit(batch)
            elif not world.exclusive and world.dice.random() < 0.5:
                self._soon("last words", lambda: self._late(batch), SECOND)
        else:
            outcome = self._commit(batch)
        self._soon(f"hears {type(outcome).__name__}", lambda: self._heard(outcome))

    def _commit(self, batch: Batch) -> CommitOutcome:
        outcome, tokens = self.world.commit(batch)
        if isinstance(outcome, Committed):
            self.tokens = tokens
            self.memory.wrote(batch.decision)
        return outcome

    def _late(self, batch: Batch) -> None:
        self._commit(batch)

    def _heard(self, outcome: CommitOutcome) -> None:
        self._at_once = False
        self._take(self.engine.committed(outcome))

    def _settle(self, instance: int, no: int, tries: int) -> None:
        world = self.world
        self._excuse()
        if world.faults.strike(world.faults.profile.settle_failed):
            if tries or world.exclusive:
                again = max(0, tries - 1)
                self._soon("asks again", lambda: self._settle(instance, no, again), SECOND)
                return
            self._settled(None)
            return
        answer = world.store.settle_now(instance, no)
        world.settled.add((instance, no)) if not answer else None
        self._soon(f"settled {answer}", lambda: self._settled(answer))

    def _settled(self, answer: bool | None) -> None:
        self.engine.settled(committed=answer)
        self._after_batch()

    def _after_batch(self) -> None:
        engine = self.engine
        looks, engine.committed_looks = list(engine.committed_looks), {}
        ended, engine.committed_ends = engine.committed_ends, []
        claims, engine.committed_claims = engine.committed_claims, []
        if looks or ended or claims:
            self.world.hint(self, looks, ended, claims)
        if engine.amnesia:
            self._recover()
        self.memory.check()
        if engine.out_of_breath:
            self._excuse()
            engine.out_of_breath = False
            self._kicked = True
            self._after(BREATH, "breathes again", self._begin)
            return
        self._rest()

    def _rest(self) -> None:
        if self.engine.has_work:
            self.kick()
            return
        self.memory.check_rest()
        wake_at = self.engine.next_wake()
        if wake_at is None:
            return
        delay = max(0, wake_at - self.clock())
        moment = self.world.schedule.now + delay
        if not self.world.schedule.now < self._wake_at <= moment:
            self._wake_at = moment
            self._after(delay, "has something due", self.kick)

    # -- the safety net --------------------------------------------------------------------------

    def _recover(self) -> None:
        world = self.world
        if world.faults.strike(world.faults.profile.load_failed):
            self._excuse()
            self.engine.amnesia = True
            return
        until = self.clock() + HORIZON
        self.engine.amnesia = False
        found = [*world.store.claims_now(), *world.store.deadlines_now(until)]
        self.engine.recover(found, world.store.waiting_starts_now())
        self.memory.swept(until)

    def _sweep(self) -> None:
        world = self.world
        self._after(SWEEP_EVERY, "sweeps", self._sweep)
        self.memory.check_waiting(world.schedule.now, self.clock())
        if self.engine.amnesia:
            self._recover()
        if world.faults.strike(world.faults.profile.load_failed):
            self._excuse()
            return
        until = self.clock() + HORIZON
        self.engine.recover(world.store.deadlines_now(until))
        self.memory.swept(until)
        if not self.world.exclusive:
            self.engine.hint(None)
        self.kick()

    def excuse(self) -> None:
        """Something went wrong: what is due may be late."""
        if self.up:
            self._excuse()

    def _excuse(self) -> None:
        self.memory.excuse(self.world.schedule.now)

    # -- events ----------------------------------------------------------------------------------

    def _soon(self, label: str, action: Action, longest: int = 4 * MILLI) -> None:
        if self._at_once:
            action()
            return
        self.world.schedule.soon(f"{self.name} {label}", self._living(action), longest)

    def _after(self, delay: int, label: str, action: Action) -> None:
        self.world.schedule.after(delay, f"{self.name} {label}", self._living(action))

    def _living(self, action: Action) -> Callable[[], None]:
        life = self.life

        def act() -> None:
            if self.life == life:
                action()

        return act
