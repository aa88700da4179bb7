"""Those who plan: they make, change, pause and delete schedules, and tenants beside `main`."""

import json
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from assay.model.operations import (
    CreateNamespace,
    CreateSchedule,
    DeleteNamespace,
    DeleteSchedule,
    Operation,
    PatchSchedule,
    PauseSchedule,
    ResumeSchedule,
)
from assay.model.schedule import OverlapPolicy
from tests.faults.simulation.contexts import QUEUES

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

SIDE = "side"
NAMES = ("tick", "tock")
CRONS = ("*/2 * * * * *", "*/3 * * * * *", "*/5 * * * * *", "1,4,5,17,18,30,44,59 * * * * *")
KINDS = ("wink", "wink", "nap", "siesta", "siesta", "steps", "gate", "stepper")
INPUT = json.dumps({"n": 1, "fails": 1, "depth": 1, "eager": False, "id": "claimed-0"})


class Planner:
    """Schedules and namespaces, in the order of the dice."""

    def __init__(self, world: "World", ask: Callable[..., None]) -> None:
        self.world = world
        self._ask = ask

    def act(self) -> None:
        """Do something with a tenant or a schedule."""
        dice, rows = self.world.dice, self.world.rows
        if dice.random() < 0.25:
            has = SIDE in rows.namespaces
            change = DeleteNamespace(SIDE) if has else CreateNamespace(SIDE)
            self._ask(*([change] if dice.random() < 0.8 else [CreateNamespace(SIDE), change]))
            return
        namespace, name = dice.choice(("main", "main", SIDE)), dice.choice(NAMES)
        if rows.schedule(namespace, name) is None or dice.random() < 0.1:
            self._ask(_create(dice, namespace, name))
            return
        operation: Operation = dice.choice(
            (
                _patch(dice, namespace, name),
                _patch(dice, namespace, name),
                PauseSchedule(namespace, name),
                ResumeSchedule(namespace, name),
                ResumeSchedule(namespace, name),
                DeleteSchedule(namespace, name),
            )
        )
        self._ask(operation)

    def finish(self) -> None:
        """Delete all schedules: what they started can come to its end."""
        for schedule in self.world.rows.schedules.values():
            self._ask(DeleteSchedule(schedule.namespace, schedule.name))


def _create(dice: Random, namespace: str, name: str) -> CreateSchedule:
    overlap = dice.choice(tuple(OverlapPolicy))
    cron, kind, queue = dice.choice(CRONS), dice.choice(KINDS), dice.choice(QUEUES)
    return CreateSchedule(namespace, name, kind, cron, "UTC", INPUT, queue, overlap)


def _patch(dice: Random, namespace: str, name: str) -> PatchSchedule:
    if dice.random() < 0.5:
        return PatchSchedule(namespace, name, overlap=dice.choice(tuple(OverlapPolicy)))
    return PatchSchedule(namespace, name, cron=dice.choice(CRONS), queue=dice.choice(QUEUES))
