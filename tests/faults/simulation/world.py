"""Everything together: one seed, one story, from its first start to the end of its last run."""

from collections import Counter
from functools import partial
from random import Random

from msgspec.json import encode

from assay.core.decide import Rules
from assay.model.states import RunStatus
from assay.store.port import Batch, CommitOutcome, Committed, Deadline, Look, Refused, Stale
from assay.store.sqlite.store import SqliteStore
from tests.faults.simulation.chains import Chains
from tests.faults.simulation.clients import Clients
from tests.faults.simulation.endings import check_endings
from tests.faults.simulation.faults import PROFILES, Faults, small_bounds
from tests.faults.simulation.frames import Frames
from tests.faults.simulation.keepers import Keeper
from tests.faults.simulation.ledger import UNSTORABLE, Ledger
from tests.faults.simulation.machine import Machine
from tests.faults.simulation.network import Network
from tests.faults.simulation.projections import Projections
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.schedule import SECOND, Schedule
from tests.faults.simulation.schedules import Schedules
from tests.faults.simulation.told import check_told
from tests.faults.simulation.trace import Broken, Trace
from tests.faults.simulation.workers import Worker

STORY = 18 * SECOND
LONGEST = 1_500 * SECOND
CREWS = (
    (Worker, Worker, Keeper, Keeper, Keeper),
    (Worker, Worker, Worker, Keeper, Keeper),
    (Worker, Worker, Worker, Worker),
)
"""Who works: those that poll take of every queue and every tenant, so two of them at the least."""
LEASE = 4 * SECOND
MODES = ("shared", "exclusive")


class World:
    """The store, everybody on it, and what is known of them."""

    def __init__(self, seed: int, mode: str, *, loud: bool = False) -> None:
        self.seed = seed
        self.mode = mode
        self.exclusive = mode == "exclusive"
        self.dice = Random(f"{mode} {seed}")
        self.trace = Trace(loud=loud)
        self.schedule = Schedule(self.dice, self.trace)
        self.faults = Faults(PROFILES[seed % len(PROFILES)], self.dice)
        self.rules = Rules(lease=LEASE)
        self.store = SqliteStore(":memory:")
        self.store.open_now()
        self.rows = Rows(self.store._connection)
        self.chains = Chains(self.rows)
        self.schedules = Schedules(self.rows)
        self.projections = Projections(self.rows)
        self.checks = (
            self.chains,
            self.schedules,
            self.projections,
            Frames(self.rows, self.chains),
        )
        self.ledger = Ledger(self.rows, self.chains, lambda: self.schedule.clock)
        self.network = Network(self)
        self.settled: set[tuple[int, int]] = set()
        self.healed: set[str] = set()
        self.answers_under_way: Counter[str] = Counter()
        """To whom answers of exchanges are on their way: they may overtake each other."""
        self.hired = 0
        self.over = False
        self.machines = [
            Machine(self, name, self.dice.randrange(self.faults.profile.skew + 1))
            for name in ("A",)
            if self.exclusive
        ] or [
            Machine(self, name, self.dice.randrange(self.faults.profile.skew + 1))
            for name in ("A", "B")
        ]
        self.clients = Clients(self, STORY)

    # -- the story -------------------------------------------------------------------------------

    def play(self) -> None:
        """The whole story; then everything is looked at once more."""
        for machine in self.machines:
            machine.start()
            self._plan_crash(machine)
        for kind in CREWS[self.seed // 3 % len(CREWS)]:
            self.hire(kind)
        if self.faults.profile.leap_secs:
            self.schedule.after(
                self.faults.pause(self.faults.profile.leap_secs), "leap", self._leap
            )
        self.clients.act()
        self.schedule.run(self.clients.ends_at)
        self.faults.end()
        self.trace.note("-- all is well from here on")
        self.schedule.run(self.schedule.now + 5 * SECOND)
        self._finish()
        self.schedule.run(self.schedule.now + LONGEST, lambda: self.over)
        self.schedule.run(self.schedule.now + 3 * SECOND)
        self.check()

    def is_over(self) -> bool:
        """Nobody has anything left to do."""
        runs = self.rows.runs.values()
        return not self.rows.schedules and not any(
            run.is_open or self.is_curable(run.id) for run in runs
        )

    def is_curable(self, workflow_id: str) -> bool:
        """An operator retry lets it end well."""
        run = self.rows.run(workflow_id)
        if run is None or run.status != RunStatus.FAILED or workflow_id not in self.healed:
            return False
        if run.cancel_seq is not None:  # what was scheduled before the request has one attempt only
            return False
        activities = self.rows.activities.values()
        return any(each.run_no == run.no and each.status == "FAILED" for each in activities)

    def _finish(self) -> None:
        """Give everybody what they still wait for."""
        self.over = self.is_over()
        self.clients.planner.finish()
        self.clients.open_gates()
        self.clients.heal()
        self.schedule.after(SECOND, "finishes", self._finish)

    def hire(self, kind: type[Worker | Keeper]) -> None:
        """One more worker."""
        self.hired += 1
        kind(self, f"w{self.hired}").begin()

    def _plan_crash(self, machine: Machine) -> None:
        secs = self.faults.profile.crash_secs
        if secs:
            pause = self.faults.pause(secs)
            self.schedule.after(pause, f"{machine.name} crashes", lambda: self._crash(machine))

    def _crash(self, machine: Machine) -> None:
        if self.faults.over:
            return
        self._plan_crash(machine)
        if machine.up:
            machine.crash()
            pause = self.dice.randrange(SECOND)
            self.schedule.after(pause, f"{machine.name} starts", machine.start)

    def _leap(self) -> None:
        if self.faults.over:
            return
        self.schedule.leap += self.dice.randrange(10 * SECOND)
        for machine in self.machines:
            machine.excuse()
        self.schedule.after(self.faults.pause(self.faults.profile.leap_secs), "leap", self._leap)

    # -- the store -------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> tuple[CommitOutcome, dict[int, int | None]]:
        """Commit, and look at what it did; the claims before it come back too."""
        if any(UNSTORABLE in (event.payload or "") for event in batch.decision.events):
            return Refused("this cannot be stored"), {}
        graves = self.rows.to_be_buried(batch.decision)
        outcome = self.store.commit_now(batch)
        name = type(outcome).__name__
        self.trace.note(f"    {batch.instance}/{batch.no} {name}", encode(batch.decision))
        if not isinstance(outcome, Committed):
            if isinstance(outcome, Stale) and self.exclusive:
                raise Broken("an exclusive engine decided on rows that had moved")
            return outcome, {}
        self.trace.commits += 1
        if (batch.instance, batch.no) in self.settled:
            raise Broken("a batch is in that had been settled as never to come")
        for event in batch.decision.events:
            if event.seq == 1:
                self.trace.note(f"    run {event.run_no}: {event.payload}")
        for event in batch.decision.events:
            self.trace.note(f"    {event.run_no}.{event.seq} {event.type} {event.payload}")
        step, tokens = self.rows.committed(batch.decision, graves)
        for check in self.checks:
            check.check(step)
        return outcome, tokens

    def hint(
        self, source: Machine, looks: list[Look], ended: list[int], claims: list[Deadline]
    ) -> None:
        """Tell the other machines, some time soon, or never."""
        for machine in self.machines:
            if machine is source or self.faults.strike(self.faults.profile.hint_lost):
                continue
            label = f"{machine.name} hears of work"
            self.schedule.soon(label, partial(deliver, machine, looks, ended, claims), SECOND // 5)

    # -- the end ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Nothing is lost, nothing is stuck, everything ended as it should."""
        if not self.is_over():
            left = [run for run in self.rows.runs.values() if run.is_open]
            left_over = left or self.rows.schedules or self.healed
            raise Broken(f"these never end: {left_over}")
        self.projections.check_all()
        check_told(self.ledger, self.rows)
        check_endings(self)


def deliver(machine: Machine, looks: list[Look], ended: list[int], claims: list[Deadline]) -> None:
    """A hint arrives."""
    if machine.up:
        machine.engine.hint(looks)
        machine.engine.ended_elsewhere(ended)
        machine.engine.recover(claims)
        machine.kick()


def simulate(seed: int, mode: str, *, loud: bool = False) -> Trace:
    """Play one story. A broken one says how to play it again."""
    world = World(seed, mode, loud=loud)
    try:
        if seed % 3 == 2:
            with small_bounds():
                world.play()
        else:
            world.play()
    except Exception as error:
        tail = "\n".join(world.trace.tail)
        again = f"python -m tests.faults.simulation {mode} {seed}"
        raise Broken(f"{tail}\n{error}\nagain with: {again}") from error
    finally:
        world.store.close_now()
    return world.trace
