"""Clients and operators: they start, signal, cancel, terminate, retry, and repeat when in doubt."""

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.engine.requests import Answer
from assay.model.operations import Cancel, Operation, Retry, Signal, Start, Terminate
from assay.model.states import RunStatus
from tests.faults.simulation.contexts import QUEUES
from tests.faults.simulation.ledger import UNSTORABLE
from tests.faults.simulation.rows import RunRow
from tests.faults.simulation.schedule import MILLI, SECOND
from tests.faults.simulation.workers import is_doubtful
from tests.support.http import Json

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

KINDS = (
    "steps",
    "steps",
    "fan",
    "slow",
    "gate",
    "choice",
    "family",
    "guardian",
    "claimant",
    "hopeless",
    "sick",
    "sick",
    "sick",
    "hasty",
    "nap",
    "quitter",
    "tribe",
    "tribe",
)


class Clients:
    """All that comes from outside, in the order of the dice."""

    def __init__(self, world: "World", story: int) -> None:
        self.world = world
        self.ends_at = world.schedule.now + story
        self.ids: list[str] = []
        self._said = 0

    def act(self) -> None:
        """Do something, and again after a while."""
        world, dice = self.world, self.world.dice
        if world.schedule.now >= self.ends_at:
            return
        roll = dice.random()
        if not self.ids or roll < 0.35:
            self._start()
        elif roll < 0.65:
            self._signal(dice.choice(self._open() or self.ids))
        elif roll < 0.75:
            for _ in range(dice.choice((1, 1, 2))):
                self._ask(Cancel(dice.choice(self.ids[-3:]), self._unique("stop")))
        elif roll < 0.79:
            self._ask(Terminate(dice.choice(self.ids), self._unique("enough")))
        elif roll < 0.81:
            self._ask(Signal("nobody", "go", self._unique("")), Cancel("nobody"))
        elif roll < 0.86:
            self._burst(dice.choice(self._open() or self.ids))
        else:
            self.heal()
        world.schedule.after(dice.randrange(MILLI, 1200 * MILLI), "client acts", self.act)

    def heal(self) -> None:
        """An operator mends what makes a run fail, and has it tried again."""
        world = self.world
        failed = [run for run in world.rows.runs.values() if run.status == RunStatus.FAILED]
        sick = [run for run in failed if run.parent_no is None and self._kind(run) == "sick"]
        if world.faults.over:
            sick = [run for run in sick if world.is_curable(run.id)]
        if not sick:
            return
        run = world.dice.choice(sick)
        if world.dice.random() < 0.7:
            world.healed.add(run.id)
        self._ask(Retry(run.id, "ann", self._unique("mended")))

    def open_gates(self) -> None:
        """Signal everybody who waits without a time limit."""
        for run in self.world.rows.runs.values():
            if run.is_open and self._kind(run) == "gate":
                self._ask(self._go(run.id))

    def _kind(self, run: RunRow) -> str:
        return self.world.kinds[run.id]

    def _open(self) -> list[str]:
        return [run.id for run in self.world.rows.runs.values() if run.is_open]

    def _unique(self, word: str) -> str:
        self._said += 1
        return f"{word} {self._said}"

    def _start(self) -> None:
        dice = self.world.dice
        kind = dice.choice(KINDS)
        workflow_id = f"{kind}-{len(self.ids)}"
        if self.ids and dice.random() < 0.1:
            workflow_id = dice.choice(self.ids)
            kind = workflow_id.split("-")[0]
        input: Json = {
            "n": dice.randrange(1, 4),
            "fails": dice.randrange(3),
            "depth": dice.randrange(1, 4),
            "eager": dice.random() < 0.5,
            "id": f"claimed-{dice.randrange(3)}",
        }
        self.ids.append(workflow_id)
        operation = Start(kind, workflow_id, "main", json.dumps(input), dice.choice(QUEUES))
        if dice.random() < 0.05:
            self._ask(replace(operation, id=None))
            self.ids.pop()
            return
        self._ask(operation, repeatable=True)
        if dice.random() < 0.1:
            self._ask(operation, repeatable=True)

    def _signal(self, workflow_id: str) -> None:
        dice = self.world.dice
        operations: list[Operation] = [self._go(workflow_id)]
        if dice.random() < 0.2:
            operations.append(self._go(dice.choice(self.ids)))
        self._ask(*operations)
        if dice.random() < 0.1:
            self._ask(Signal(workflow_id, "odd", UNSTORABLE))

    def _burst(self, workflow_id: str) -> None:
        """Many at once about one run, through all machines."""
        for _ in range(self.world.dice.randrange(2, 7)):
            self._ask(self._go(workflow_id))
            if self.world.dice.random() < 0.1:
                self._ask(Cancel(workflow_id, self._unique("stop")))

    def _go(self, workflow_id: str) -> Signal:
        self._said += 1
        return Signal(workflow_id, "go", str(self._said))

    def _ask(self, *operations: Operation, repeatable: bool = False, tries: int = 3) -> None:
        """What may be repeated is repeated while nobody knows whether it happened."""

        def then(answer: Answer | None) -> None:
            if repeatable and tries and is_doubtful(answer):
                again = lambda: self._ask(*operations, repeatable=True, tries=tries - 1)  # noqa: E731 - it says when
                self.world.schedule.soon("client asks again", again, SECOND)

        machine = self.world.machines[self._said % len(self.world.machines)]
        self.world.network.call(machine, operations, then, repeatable=repeatable)
