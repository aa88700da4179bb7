"""One engine on a store in memory, stepped by hand; how loads and commits come out can be told."""

from collections import deque
from collections.abc import Callable

from assay.core.decide import Rules
from assay.core.view import Key, Need
from assay.engine.engine import Engine
from assay.engine.limits import WINDOW_TASKS
from assay.engine.requests import CommitStep, LoadStep, Request, SettleStep, Step
from assay.engine.wants import Grant, Want
from assay.errors import AssayError
from assay.model.activity import Activity
from assay.model.commands import Command
from assay.model.operations import Operation, Outcome, Start, SubmitCommands
from assay.model.run import Run
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.store.port import Batch, CommitOutcome, Look
from assay.store.sqlite.store import SqliteStore

LEASE = 30 * MICROS
NOW = 1_790_000_000 * MICROS
RUNS = Look(TaskKind.WORKFLOW, None, "default")
WORK = Look(TaskKind.ACTIVITY, None, "default")

Told = Callable[[Batch], CommitOutcome | None]


class Caller:
    """Somebody who asked for something: what they were answered, which must be once."""

    def __init__(self) -> None:
        self.answers: list[Outcome | AssayError] = []
        self.times = 0

    def __call__(self, answers: "list[Outcome | AssayError]") -> None:
        self.times += 1
        self.answers += answers

    @property
    def outcome(self) -> Outcome | AssayError:
        assert self.times == 1, f"answered {self.times} times"
        (answer,) = self.answers
        return answer


class Poll:
    """A poll with what it was answered: nothing yet, no task, or a grant."""

    def __init__(self, look: Look, worker: str, *, held: bool) -> None:
        self.grants: list[Grant | AssayError | None] = []
        self.want = Want(look, worker, held=held, answer=self.grants.append)

    @property
    def waits(self) -> bool:
        return not self.grants

    @property
    def grant(self) -> Grant | None:
        grant = self.answer
        assert not isinstance(grant, AssayError)
        return grant

    @property
    def answer(self) -> Grant | AssayError | None:
        assert len(self.grants) == 1, f"answered {len(self.grants)} times"
        return self.grants[0]

    @property
    def run(self) -> Run:
        assert self.grant is not None
        assert isinstance(self.grant.row, Run)
        return self.grant.row

    @property
    def activity(self) -> Activity:
        assert self.grant is not None
        assert isinstance(self.grant.row, Activity)
        return self.grant.row


class Bench:
    """Engine, store and clock; `run` goes on until there is nothing to do at this moment."""

    def __init__(self, store: SqliteStore | None = None, *, exclusive: bool = True) -> None:
        self.now = NOW
        self.store = store or SqliteStore(":memory:")
        instance = self.store.open_now() if store is None else store.enlist()
        rules = Rules(lease=LEASE)
        self.engine = Engine(instance=instance, exclusive=exclusive, rules=rules)
        self.tell: deque[Told] = deque()
        self.loads: list[LoadStep] = []
        self.commits: list[Batch] = []

    # -- doing -----------------------------------------------------------------------------------

    def run(self, most: int = 50) -> int:
        """Batch after batch; how many. More than `most` is an engine that spins."""
        batches = 0
        while (step := self.engine.begin(self.now)) is not None:
            self.drive(step)
            batches += 1
            assert batches <= most, "the engine spins"
        return batches

    def drive(self, step: Step | None) -> None:
        """One batch to its end."""
        while step is not None:
            step = self.take(step)

    def take(self, step: Step) -> Step | None:
        match step:
            case LoadStep(keys, looks):
                self.loads.append(step)
                found = self.store.ready_now(looks, WINDOW_TASKS)
                rows = self.store.load_now(keys)
                return self.engine.loaded(rows, list(zip(looks, found, strict=True)))
            case CommitStep(batch):
                self.commits.append(batch)
                told = self.tell.popleft()(batch) if self.tell else None
                return self.engine.committed(told or self.store.commit_now(batch))
            case SettleStep(instance, no):
                self.engine.settled(committed=self.store.settle_now(instance, no))
                return None

    def to_commit(self) -> CommitStep:
        """The next batch up to its commit, which the caller makes happen."""
        step = self.engine.begin(self.now)
        while isinstance(step, LoadStep):
            step = self.take(step)
        assert isinstance(step, CommitStep)
        return step

    def submit(self, *operations: Operation) -> Caller:
        caller = Caller()
        self.engine.submit(Request(operations, lambda answers: caller(list(answers))))
        return caller

    def do(self, operation: Operation) -> Outcome:
        caller = self.submit(operation)
        self.run()
        if isinstance(caller.outcome, AssayError):
            raise caller.outcome
        return caller.outcome

    def want(self, look: Look = RUNS, worker: str = "w1", *, held: bool = True) -> Poll:
        poll = Poll(look, worker, held=held)
        self.engine.want(poll.want)
        return poll

    def poll(self, look: Look = RUNS, worker: str = "w1", *, held: bool = False) -> Poll:
        poll = self.want(look, worker, held=held)
        self.run()
        return poll

    def start(self, *ids: str) -> None:
        for id in ids:
            self.do(Start("order", id))

    def step(self, id: str, *commands: Command) -> None:
        """Start a run, claim it and answer."""
        self.start(id)
        assert self.poll().run.id == id
        self.do(SubmitCommands(id, "w1", commands))

    def later(self, secs: float) -> None:
        self.now += round(secs * MICROS)

    # -- looking ---------------------------------------------------------------------------------

    def stored(self, id: str) -> Run:
        """The run as the store holds it."""
        (run,) = self.store.load_now([Key(Need.RUN_BY_ID, id)]).runs
        return run


def says(outcome: CommitOutcome) -> Told:
    """The commit comes out like this, and nothing is written."""
    return lambda _: outcome
