"""Any sequence of operations, allowed or not, does to an engine what the contract's tables say."""

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from assay.errors import AssayError
from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    WaitForSignal,
)
from assay.model.ids import claim_token
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    Fence,
    HeartbeatActivity,
    Operation,
    RenewLeases,
    Retry,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.retry import RetryPolicy
from assay.model.task import TaskKind
from assay.model.time import MICROS
from tests.properties.activity_model import WholeContract
from tests.properties.contract_model import Refused
from tests.properties.engine_driver import Driver, picture
from tests.properties.stories import Story, Work

NOW = 1_790_000_000 * MICROS
ids = st.sampled_from(["a", "a", "b", "c"])
workers = st.sampled_from(["v", "w"])
seqs = st.integers(1, 3)
names = st.sampled_from(["x", "x", "x", "y"])
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 2),
    initial_interval_secs=st.just(1.0),
    backoff_coefficient=st.just(2.0),
    start_to_close_secs=st.just(20.0),
)
progress = st.one_of(
    st.builds(ScheduleActivity, seqs, names, st.just("queue"), st.none(), policies),
    st.builds(ScheduleActivity, seqs, names, st.just("queue"), st.none(), policies),
    st.builds(ScheduleTimer, st.integers(1, 2), st.sampled_from([0.0, 2.0, 25.0])),
    st.builds(WaitForSignal, st.sampled_from(["p", "q"]), st.one_of(st.none(), st.just(1))),
    st.builds(StartChild, st.just("story"), ids, st.just("queue"), st.none()),
)
ends: st.SearchStrategy[Command] = st.sampled_from(
    [CompleteWorkflow("1"), FailWorkflow("no"), FailWorkflow("no"), CancelWorkflow(None)]
)
batches = st.builds(
    lambda some, end: (*some, *end), st.lists(progress, max_size=4), st.lists(ends, max_size=1)
)
going_on = st.lists(progress, max_size=4).map(tuple)
leases = st.sampled_from(["right", "right", "right", "none", "wrong"])
fences = st.sampled_from(["right", "right", "none", "worker", "attempt", "token"])


Report = Callable[[int, Fence], Operation]


def complete(no: int, fence: Fence) -> Operation:
    return CompleteActivity(no, "1", fence)


def fail(no: int, fence: Fence) -> Operation:
    return FailActivity(no, "no", fence)


def beat(no: int, fence: Fence) -> Operation:
    return HeartbeatActivity(no, None, fence)


class Comparison(RuleBasedStateMachine):
    """The engine and the model, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = Driver(NOW)
        self.model = WholeContract(NOW)

    def teardown(self) -> None:
        self.engine.close()

    def both(self, operation: Operation, act: Callable[[], object]) -> None:
        """The same outcome on both sides."""
        answer = self.engine.do(operation)
        refusal = answer.code if isinstance(answer, AssayError) else None
        expected: str | None = None
        try:
            act()
        except Refused as refused:
            expected = str(refused)
        assert refusal == expected, (operation, answer)
        self.model.pass_time(self.model.now)

    @invariant()
    def look_alike(self) -> None:
        assert self.engine.picture() == picture(self.model)

    # -- clients ---------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.start("a")
        self.start("b")

    @rule(id=ids)
    def start(self, id: str) -> None:
        self.both(Start("story", id, queue="queue"), lambda: self.model.start(id))

    @rule(id=ids, name=st.sampled_from(["p", "q"]))
    def signal(self, id: str, name: str) -> None:
        self.both(Signal(id, name), lambda: self.model.signal(id, name))

    @rule(id=ids, gently=st.sampled_from([True, True, False]))
    def stop(self, id: str, gently: bool) -> None:
        if gently:
            self.both(Cancel(id), lambda: self.model.cancel(id))
        else:
            self.both(Terminate(id), lambda: self.model.terminate(id))

    @rule(id=ids)
    def retry(self, id: str) -> None:
        self.both(Retry(id, "ann", "mended"), lambda: self.model.retry(id))

    @rule(worker=workers, again=st.booleans())
    def spoil(self, worker: str, again: bool) -> None:
        """An activity fails, then a run; an operator may try it anew."""
        work = self.claim_work(worker)
        if work is not None:
            self.report(work.run, work.seq, "right", fail, self.model.fail)
        run = self.claim(worker)
        if run is not None:
            self.answer(run.id, worker, run.token, (FailWorkflow("no"),))
            if again:
                self.retry(run.id)

    # -- workflow tasks --------------------------------------------------------------------------

    @rule(worker=workers)
    def poll(self, worker: str) -> None:
        self.claim(worker)

    def claim(self, worker: str) -> Story | None:
        expected = self.model.claimable()
        grant = self.engine.poll(TaskKind.WORKFLOW, worker)
        assert (grant is None) == (expected is None)
        if grant is None or expected is None:
            return None
        assert grant.row.no == self.engine.run_number(expected.id)
        self.model.claim(expected, worker, grant.claim.token)
        return expected

    @rule(worker=workers, commands=batches)
    def take_a_turn(self, worker: str, commands: tuple[Command, ...]) -> None:
        """What a sound worker does: poll, and answer."""
        self.turn(worker, commands)

    @rule(worker=workers, commands=going_on)
    def take_a_turn_and_go_on(self, worker: str, commands: tuple[Command, ...]) -> None:
        self.turn(worker, commands)

    def turn(self, worker: str, commands: tuple[Command, ...]) -> None:
        run = self.claim(worker)
        if run is not None:
            self.answer(run.id, worker, run.token, commands)

    @rule(id=ids, worker=workers, lease=leases, commands=batches)
    def submit(self, id: str, worker: str, lease: str, commands: tuple[Command, ...]) -> None:
        run = self.model.runs.get(id)
        token = None if run is None else run.token
        fence = {"right": token, "none": None, "wrong": 7}[lease]
        self.answer(id, worker, fence, commands)

    def answer(
        self, id: str, worker: str, token: int | None, commands: tuple[Command, ...]
    ) -> None:
        lease = None if token is None else claim_token(token)
        operation = SubmitCommands(id, worker, commands, lease)
        self.both(operation, lambda: self.model.submit(id, worker, token, commands))

    @rule(id=ids, right=st.booleans())
    def undo(self, id: str, right: bool) -> None:
        run = self.model.runs.get(id)
        if run is not None:
            token = run.token if right and run.token is not None else 7
            operation = UndoWorkflowClaim(self.engine.run_number(id), token)
            self.both(operation, lambda: self.model.undo(run, token))

    @rule(id=ids, worker=workers)
    def renew(self, id: str, worker: str) -> None:
        run = self.model.runs.get(id)
        if run is not None:
            self.both(RenewLeases(worker, (id,)), lambda: self.model.renew(run, worker))

    # -- activity tasks --------------------------------------------------------------------------

    @rule(worker=workers)
    def poll_work(self, worker: str) -> None:
        self.claim_work(worker)

    @rule(worker=workers, well=st.booleans())
    def work_once(self, worker: str, well: bool) -> None:
        """What a sound worker does: poll, and report."""
        work = self.claim_work(worker)
        if work is not None:
            make, act = (complete, self.model.complete) if well else (fail, self.model.fail)
            self.report(work.run, work.seq, "right", make, act)

    def claim_work(self, worker: str) -> Work | None:
        expected = self.model.claimable_work()
        grant = self.engine.poll(TaskKind.ACTIVITY, worker)
        assert (grant is None) == (expected is None)
        if grant is not None and expected is not None:
            assert grant.row.no == self.engine.number(expected.run, expected.seq)
            self.model.claim_work(expected, worker, grant.claim.token)
        return expected

    @rule(which=st.integers(0, 20), fence=fences, how=st.sampled_from(["complete", "fail", "beat"]))
    def report_anything(self, which: int, fence: str, how: str) -> None:
        acts: dict[str, tuple[Report, Callable[[Work], object]]] = {
            "complete": (complete, self.model.complete),
            "fail": (fail, self.model.fail),
            "beat": (beat, lambda _: None),
        }
        works = self.model.all_work()
        work = works[which % len(works)] if works else None
        id, seq = ("a", 9) if work is None else (work.run, work.seq)
        self.report(id, seq, fence, *acts[how])

    def report(
        self,
        id: str,
        seq: int,
        fence: str,
        make: Report,
        act: Callable[[Work], object],
    ) -> None:
        run = self.model.runs.get(id)
        work = None if run is None else run.work.get(seq)
        claim = ("v", 1, 7) if work is None else (work.worker, work.attempt, work.token)
        worker, attempt, token = {
            "right": claim,
            "none": (None, None, None),
            "worker": ("x", None, None),
            "attempt": (None, claim[1] + 1, None),
            "token": (None, None, 7),
        }[fence]
        shown = Fence(worker, attempt, None if token is None else claim_token(token))
        operation = make(self.engine.number(id, seq), shown)
        held = self.model.held_work
        self.both(operation, lambda: act(held(work, worker, attempt, token)))

    @rule(which=st.integers(0, 20))
    def undo_work(self, which: int) -> None:
        works = self.model.all_work()
        if works:
            work = works[which % len(works)]
            token = work.token or 7
            operation = UndoActivityClaim(self.engine.number(work.run, work.seq), token)
            self.both(operation, lambda: self.model.undo_work(work, token))

    # -- time ------------------------------------------------------------------------------------

    @rule(secs=st.sampled_from([0.5, 1.0, 3.0, 10.0, 31.0]))
    def pass_time(self, secs: float) -> None:
        now = self.model.now + round(secs * MICROS)
        self.engine.pass_time(now)
        self.model.pass_time(now)


TestComparison = Comparison.TestCase
TestComparison.settings = settings(
    max_examples=200, stateful_step_count=60, deadline=None, database=None, print_blob=True
)
