"""Clients and operators: they start, signal, cancel, continue, delete, and repeat when in doubt."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.engine.requests import Answer
from assay.model.commands import ScheduleActivity
from assay.model.operations import (
    AddActivity,
    Cancel,
    ContinueRun,
    DeleteRun,
    Operation,
    Retry,
    Signal,
    Start,
    Terminate,
)
from assay.model.retry import RetryPolicy
from assay.model.states import RunStatus
from tests.faults.simulation.contexts import QUEUES
from tests.faults.simulation.ledger import UNSTORABLE
from tests.faults.simulation.planner import SIDE, Planner
from tests.faults.simulation.schedule import MILLI, SECOND
from tests.faults.simulation.workers import is_doubtful
from tests.support.http import Json

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

KINDS = (
    *("steps", "steps", "fan", "slow", "gate", "choice", "family", "guardian", "claimant"),
    *("hopeless", "sick", "sick", "sick", "hasty", "nap", "quitter", "tribe", "tribe"),
    *("diary", "diary", "stepper", "stepper", "stepper", "tagger", "tagger", "impatient"),
    *("relay", "relay", "pilgrim", "shepherd", "shepherd"),
)
WAITING = ("gate", "relay")
"""Kinds that wait for signals without a time limit."""
ADDED = RetryPolicy(60, 0.2, 1.1, 8.0)


class Clients:
    """All that comes from outside, in the order of the dice."""

    def __init__(self, world: "World", story: int) -> None:
        self.world = world
        self.ends_at = world.schedule.now + story
        self.ids: list[str] = []
        self.planner = Planner(world, self._ask)
        self._said = 0
        self._requests: list[Signal] = []
        self._acts: list[tuple[float, Callable[[], None]]] = [
            (0.26, self._start),
            (0.22, self._signal),
            (0.07, self._cancel),
            (0.03, self._terminate),
            (0.02, self._ask_nobody),
            (0.04, self._burst),
            (0.10, self.heal),
            (0.05, self._repeat),
            (0.04, self._continue),
            (0.05, self._delete),
            (0.03, self._add_activity),
            (0.09, self.planner.act),
        ]

    def act(self) -> None:
        """Do something, and again after a while."""
        world, dice = self.world, self.world.dice
        if world.schedule.now >= self.ends_at:
            return
        weights = [weight for weight, _ in self._acts]
        [(_, act)] = dice.choices(self._acts, weights)
        (act if self.ids else self._start)()
        world.schedule.after(dice.randrange(MILLI, SECOND), "client acts", self.act)

    # -- what operators do when it is needed -----------------------------------------------------

    def heal(self) -> None:
        """An operator mends what makes a run fail, and has it tried again."""
        world = self.world
        failed = [run for run in world.rows.runs.values() if run.status == RunStatus.FAILED]
        sick = [run for run in failed if run.parent_no is None and run.type == "sick"]
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
            if run.is_open and run.type in WAITING:
                self._ask(self._go(run.id))

    # -- what clients do -------------------------------------------------------------------------

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
        operation = self._specially(operation)
        if dice.random() < 0.05:
            self._ask(replace(operation, id=None))
            self.ids.pop()
            return
        self._ask(operation, repeatable=True)
        if dice.random() < 0.1:
            self._ask(operation, repeatable=True)

    def _specially(self, operation: Start) -> Start:
        """With some of what a start may also say."""
        dice = self.world.dice
        if dice.random() < 0.1:
            operation = replace(operation, timeout_secs=round(dice.uniform(0.3, 12), 3))
        if dice.random() < 0.12:
            operation = replace(operation, delay_secs=round(dice.uniform(0.2, 4), 3))
        if dice.random() < 0.15:
            operation = replace(operation, use_existing=True)
        if dice.random() < 0.2:
            attributes = {"own": dice.randrange(3), "at": None, "assay_engine_version": "mine"}
            operation = replace(operation, search_attributes=json.dumps(attributes))
        if dice.random() < 0.1:
            operation = replace(operation, namespace=SIDE)
        return operation

    def _signal(self) -> None:
        dice = self.world.dice
        workflow_id = dice.choice(self._open() or self.ids)
        operations: list[Operation] = [self._go(workflow_id)]
        if dice.random() < 0.2:
            operations.append(self._go(dice.choice(self.ids)))
        self._ask(*operations)
        if dice.random() < 0.1:
            self._ask(Signal(workflow_id, "odd", UNSTORABLE))

    def _repeat(self) -> None:
        """A signal with an id of ours, or one of those of long ago again."""
        dice = self.world.dice
        signal = self._go(dice.choice(self._open() or self.ids))
        if self._requests and dice.random() < 0.6:
            signal = dice.choice(self._requests)
        else:
            signal = replace(signal, request_id=f"request {self._said}")
            self._requests.append(signal)
        for _ in range(dice.choice((1, 1, 2))):
            self._said += 1
            self._ask(signal, repeatable=True)

    def _cancel(self) -> None:
        dice, runs = self.world.dice, self.world.rows.runs
        for _ in range(dice.choice((1, 1, 2))):
            self._ask(Cancel(dice.choice(self.ids[-3:]), self._unique("stop")))
        below = [run for run in runs.values() if run.is_open and run.parent_no in runs]
        if below and dice.random() < 0.5:  # a child first, and then perhaps who is above it
            child = dice.choice(below)
            self._ask(Cancel(child.id, self._unique("stop")))
            if dice.random() < 0.7:
                self._ask(Cancel(runs[child.parent_no or 0].id, self._unique("stop")))

    def _terminate(self) -> None:
        self._ask(Terminate(self.world.dice.choice(self.ids), self._unique("enough")))

    def _ask_nobody(self) -> None:
        self._ask(Signal("nobody", "go", self._unique("")), Cancel("nobody"), DeleteRun("nobody"))

    def _burst(self) -> None:
        """Many at once about one run, through all machines."""
        workflow_id = self.world.dice.choice(self._open() or self.ids)
        for _ in range(self.world.dice.randrange(2, 7)):
            self._ask(self._go(workflow_id))
            if self.world.dice.random() < 0.1:
                self._ask(Cancel(workflow_id, self._unique("stop")))

    def _continue(self) -> None:
        """An operator has a run go on as a new one, whether it has ended or not."""
        world, dice = self.world, self.world.dice
        run = dice.choice(list(world.rows.runs.values()) or [None])
        if run is None:
            return
        input = json.dumps(world.rows.history(run.no)[0].payload)
        new_id = None
        if dice.random() < 0.4:
            new_id = f"{run.type}-{len(self.ids)}" if dice.random() < 0.8 else run.id
            self.ids.append(new_id)
        self._ask(ContinueRun(run.id, input, new_id))

    def _delete(self) -> None:
        """Several at a time; some have not ended and stay."""
        world, dice = self.world, self.world.dice
        ended = [run.id for run in world.rows.runs.values() if not run.is_open]
        for _ in range(dice.randrange(1, 4)):
            self._ask(DeleteRun(dice.choice((ended if dice.random() < 0.9 else None) or self.ids)))

    def _add_activity(self) -> None:
        """Beside what the run's own code asks for; sometimes twice, sometimes by another name."""
        dice = self.world.dice
        seq = 1000 + dice.randrange(3)
        work = json.dumps({"value": seq, "fails": dice.randrange(2)})
        name = "add" if dice.random() < 0.8 else "slow"
        activity = ScheduleActivity(seq, name, dice.choice(QUEUES), work, ADDED)
        workflow_id = dice.choice(self._open() or self.ids)
        for _ in range(dice.choice((1, 1, 2))):
            self._said += 1
            self._ask(AddActivity(workflow_id, activity), repeatable=True)

    # -- how -------------------------------------------------------------------------------------

    def _open(self) -> list[str]:
        return [run.id for run in self.world.rows.runs.values() if run.is_open]

    def _unique(self, word: str) -> str:
        self._said += 1
        return f"{word} {self._said}"

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
