"""Any sequence of operations, legal or not: the engine does what the model of the contract does.

ASSAY_EXAMPLES=2000 makes more of it than the ordinary run.
"""

import copy
import os
import random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from assay.core.decide import Rules
from assay.core.view import Key, Need, WholeRun
from assay.engine.engine import Engine
from assay.engine.limits import HORIZON
from assay.errors import AssayError
from assay.model.commands import Command
from assay.model.ids import claim_token
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    Fence,
    HeartbeatActivity,
    RejectCommands,
    RenewLeases,
    Retry,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.run import Run
from assay.model.time import MICROS
from tests.properties.batches import apply, commands, endings, ids, names, rarely, seqs, workers
from tests.properties.bursts import burst
from tests.properties.flows import LEASE
from tests.properties.healing import retry
from tests.properties.histories import history_is_sound
from tests.properties.model import World
from tests.unit.engine.bench import NOW, RUNS, WORK, Bench

WRONG = [None, None, None, "worker", "attempt", "token"]
reports = st.sampled_from([CompleteActivity, FailActivity, HeartbeatActivity, UndoActivityClaim])


class States(RuleBasedStateMachine):
    """One engine beside the model; every rule does the same to both."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.world = World()
        self.unsaid: set[str] = set()  # runs whose mark the contract leaves open just now
        self.start("a")

    def teardown(self) -> None:
        self.bench.store.close_now()

    def does(self, operation: object, *, counts: bool) -> None:
        """The engine takes it if and only if the model does."""
        caller = self.bench.submit(operation)  # type: ignore[arg-type] # any operation
        self.bench.run()
        self.world.advance(0)
        assert isinstance(caller.outcome, AssayError) != counts, caller.outcome

    # -- clients ---------------------------------------------------------------------------------

    @rule(id=st.sampled_from(["a", "b", "c"]))
    def start(self, id: str) -> None:
        self.does(Start("order", id), counts=self.world.open(id))

    @rule(id=ids, name=names)
    def signal(self, id: str, name: str) -> None:
        self.does(Signal(id, name), counts=self.world.signal(id, name))

    @rule(id=ids, really=rarely)
    def cancel(self, id: str, really: bool) -> None:
        if really:
            self.does(Cancel(id), counts=self.world.cancel(id))

    @rule(id=ids, really=rarely)
    def terminate(self, id: str, really: bool) -> None:
        if really:
            self.does(Terminate(id), counts=self.world.terminate(id))

    @rule(id=ids)
    def retry(self, id: str) -> None:
        self.does(Retry(id, "ann", "healed"), counts=retry(self.world, id))

    # -- workers of workflows --------------------------------------------------------------------

    @rule(worker=workers)
    def poll(self, worker: str) -> None:
        poll = self.bench.poll(RUNS, worker)
        id = self.world.next_flow()
        assert (None if poll.grant is None else poll.run.id) == id
        if id is not None:
            self.world.claim(id, worker)

    @rule(worker=workers, batch=commands, ending=endings)
    def step(self, worker: str, batch: list[Command], ending: Command | None) -> None:
        """Whoever is next is claimed and answered at once."""
        id = self.world.next_flow()
        self.poll(worker)
        if id is not None:
            self._submit(id, worker, batch, ending, fence=None)

    @rule(id=ids, worker=workers, batch=commands, ending=endings, right=st.booleans())
    def submit_any(
        self, id: str, worker: str, batch: list[Command], ending: Command | None, right: bool
    ) -> None:
        self._submit(id, worker, batch, ending, fence=None if right else "c0")

    def answer(
        self, id: str, batch: list[Command], ending: Command | None, *, fenced: bool
    ) -> None:
        """Whoever holds the run answers, perhaps late."""
        token = self._whole(id)[0].claim_token or 0
        fence = claim_token(token) if fenced else None
        self._submit(id, self.world.flows[id].worker or "", batch, ending, fence=fence)

    def _submit(
        self, id: str, worker: str, batch: list[Command], end: Command | None, *, fence: str | None
    ) -> None:
        whole = (*batch, end) if end is not None else tuple(batch)
        counts = fence != "c0" and self.world.may_report(id, worker)
        if counts:
            before = copy.deepcopy(self.world)
            flow = self.world.flows[id]
            self._answer(id, fenced=fence is not None)
            flow.shown = flow.seen if fence else flow.unanswered.get(worker, flow.seen)
            counts = apply(self.world, id, whole)
            if not counts:
                self.world = before
                self.world.block(id)
            elif flow.is_open:
                flow.unanswered.pop(worker, None)
                self.world.release(flow)
        self.does(SubmitCommands(id, worker, whole, fence), counts=counts)

    def _answer(self, id: str, *, fenced: bool) -> None:
        """News since the claim is offered at once. The mark of a lease that expired is not news,
        and a batch without fence may answer a claim before this one: both leave it open."""
        flow = self.world.flows[id]
        if flow.ready is not None and len(flow.history) > flow.seen:
            flow.ready = min(flow.ready, self.world.now)
        elif flow.lapsed and (flow.until is None or not fenced):
            self.unsaid.add(id)

    @rule(id=ids, worker=workers)
    def reject(self, id: str, worker: str) -> None:
        counts = self.world.may_report(id, worker)
        if counts:
            self.world.flows[id].blocked = "refused"
        self.does(RejectCommands(id, worker, "unreadable"), counts=counts)

    @rule(id=ids, late=st.booleans())
    def undo(self, id: str, late: bool) -> None:
        if id not in self.world.flows:
            return
        run = self._whole(id)[0]
        if run.claim_token is not None and not late:
            self.world.unclaim(id)
        self.does(UndoWorkflowClaim(run.no, 0 if late else run.claim_token or 0), counts=True)

    @rule(worker=workers, named=st.lists(ids, max_size=3))
    def renew(self, worker: str, named: list[str]) -> None:
        for id in named:
            flow = self.world.flows.get(id)
            if flow is not None and flow.until is not None and flow.worker == worker:
                flow.until = self.world.now + LEASE
        self.does(RenewLeases(worker, tuple(named)), counts=True)

    # -- workers of activities -------------------------------------------------------------------

    @rule(worker=workers)
    def poll_work(self, worker: str) -> None:
        poll = self.bench.poll(WORK, worker)
        found = self.world.next_work()
        assert (poll.grant is None) == (found is None)
        if found is not None:
            assert poll.activity.run_no == self._whole(found[0])[0].no
            assert poll.activity.seq == found[1]
            self.world.begin(*found, worker)

    @rule(worker=workers, how=st.sampled_from([CompleteActivity, FailActivity, FailActivity]))
    def work(self, worker: str, how: type) -> None:
        """Whatever is next is claimed and reported at once."""
        found = self.world.next_work()
        self.poll_work(worker)
        if found is not None:
            self.report(*found, how, wrong=None)

    @rule(id=ids, seq=seqs, how=reports, wrong=st.sampled_from(WRONG))
    def report_any(self, id: str, seq: int, how: type, wrong: str | None) -> None:
        if id in self.world.flows and seq in self.world.flows[id].works:
            self.report(id, seq, how, wrong=wrong)

    def report(self, id: str, seq: int, how: type, *, wrong: str | None) -> None:
        work = self.world.flows[id].works[seq]
        runs = work.status == "RUNNING"
        row = next(row for row in self._whole(id)[1].activities if row.seq == seq)
        counts = runs and wrong is None
        fence = Fence(
            worker_id="nobody" if wrong == "worker" else None,
            attempt=work.attempt + (wrong == "attempt"),
            token="c0" if wrong == "token" else None,
        )
        if how is UndoActivityClaim:
            if counts:
                self.world.undo_work(id, seq)
            token = row.claim_token if counts else 0
            self.does(UndoActivityClaim(row.no, token or 0), counts=True)
            return
        if counts and how is HeartbeatActivity:
            self.world.beat(work)
        elif counts and how is CompleteActivity:
            self.world.finish(id, seq, "COMPLETED")
        elif counts:
            self.world.fail(id, seq)
        self.does(how(row.no, "1", fence), counts=counts)

    # -- time and memory -------------------------------------------------------------------------

    @rule(secs=st.one_of(st.integers(1, 3), st.integers(1, 90)))
    def pass_time(self, secs: int) -> None:
        for _ in range(secs):
            self.bench.later(1)
            self._sweep()
            self.bench.run()
            self.world.advance(1)

    @initialize(seed=st.integers(0, 2**32))
    def grow_old(self, seed: int) -> None:
        burst(self, random.Random(seed))

    @rule(seed=st.integers(0, 2**32))
    def go_on(self, seed: int) -> None:
        """A stretch of mostly legal life."""
        burst(self, random.Random(seed))

    @rule(restart=st.booleans())
    def forget(self, restart: bool) -> None:
        """The engine loses its memory, or another takes its place: nobody can tell."""
        bench = self.bench
        if restart:
            rules = Rules(lease=LEASE * MICROS)
            bench.engine = Engine(instance=bench.store.enlist(), exclusive=True, rules=rules)
        else:
            bench.engine.forget_all()
        bench.engine.recover(bench.store.claims_now())
        self._sweep()
        bench.run()

    def _sweep(self) -> None:
        self.bench.engine.recover(self.bench.store.deadlines_now(self.bench.now + HORIZON))

    # -- what is so ------------------------------------------------------------------------------

    @invariant()
    def all_is_what_the_model_says(self) -> None:
        for id, flow in self.world.flows.items():
            run, whole = self._whole(id)
            history_is_sound(whole.events, flow)
            if id in self.unsaid:
                flow.ready = self._secs(run.ready_at)
            state = (run.status, run.cancel_seq, run.blocked is not None)
            assert state == (flow.status, flow.asked, flow.blocked != "")
            lease = (run.claim_token is not None, self._secs(run.claim_until))
            assert lease == (flow.claimed, flow.until)
            assert (run.claimed_by, self._secs(run.ready_at)) == (flow.worker, flow.ready)
            assert {
                row.seq: (row.name, str(row.status), row.attempt) for row in whole.activities
            } == {seq: (work.name, work.status, work.attempt) for seq, work in flow.works.items()}
            assert {row.seq: (str(row.state), self._secs(row.fire_at)) for row in whole.timers} == {
                seq: (alarm.state, alarm.fires) for seq, alarm in flow.alarms.items()
            }
        self.unsaid.clear()

    def _whole(self, id: str) -> tuple[Run, WholeRun]:
        (run,) = self.bench.store.load_now([Key(Need.RUN_BY_ID, id)]).runs
        key = Key(Need.WHOLE_RUN, run.no)
        return run, self.bench.store.load_now([key]).whole_runs[run.no]

    def _secs(self, at: int | None) -> int | None:
        return None if at is None else (at - NOW) // MICROS


EXAMPLES = int(os.environ.get("ASSAY_EXAMPLES", "60"))
TestStates = States.TestCase
TestStates.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
