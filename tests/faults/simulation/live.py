"""A run that a worker keeps alive: what it has seen of it, held against the rows."""

from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    RecordStep,
)
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.sessions import Given
from tests.faults.simulation.trace import Broken
from tests.support.runs import Event

ENDS = (CompleteWorkflow, FailWorkflow, CancelWorkflow, ContinueAsNew)


class Live:
    """One run. `claimed`: its task is in hand; `step`: what runs while its claim is held on.

    Its code knows the events up to `fed`, and the steps in `made`, whoever else has heard of them.
    """

    def __init__(self, task: Given) -> None:
        assert task.run is not None
        self.no = task.run.no
        self.id = task.run.id
        self.type = task.run.type
        self.token = task.claim.token
        self.history: list[Event] = []
        self.claimed = False
        self.saying = False
        self.must_say = False
        self.step: RecordStep | None = None
        self.made: set[tuple[int, int]] = set()
        self.fed = 0

    @property
    def last_seq(self) -> int:
        """The latest event it has seen."""
        return self.history[-1].seq if self.history else 0

    def goes_on(self, task: Given, *, may_have_missed: bool) -> bool:
        """Whether what is new follows what was seen; who has missed something may see a gap."""
        assert task.since is not None
        if self.token != task.since.token:
            return False
        if self.last_seq > task.since.seq:
            raise Broken(f"{self.id} is told again what comes after {task.since.seq}: {task}")
        if self.last_seq < task.since.seq and not may_have_missed:
            raise Broken(f"{self.id} was told up to {self.last_seq}, now after {task.since.seq}")
        return self.last_seq == task.since.seq

    def learn(self, task: Given, rows: Rows) -> None:
        """What is new; all of it together must be the history up to the claim."""
        assert task.run is not None
        self.token = task.claim.token
        self.history = self.history + task.entries
        whole = rows.history(self.no)
        stored = [event for event in whole if event.seq <= task.run.claim_seq]
        taken_back = any(event.type == "ActivityRetryRequested" for event in whole[len(stored) :])
        if self.no in rows.runs and not taken_back and self.history != stored:
            raise Broken(f"{self.id} has seen {self.history}, stored are {stored}: {task}")


def ends(commands: tuple[Command, ...]) -> bool:
    """Whether nothing comes after these."""
    return any(isinstance(each, ENDS) for each in commands)


def split(
    commands: tuple[Command, ...], made: set[tuple[int, int]]
) -> tuple[tuple[Command, ...], RecordStep | None]:
    """The step these end with, apart from the others; one that was made is made once."""
    if commands and isinstance(commands[-1], RecordStep):
        step = commands[-1]
        return commands[:-1], None if (step.seq, step.attempt) in made else step
    return commands, None
