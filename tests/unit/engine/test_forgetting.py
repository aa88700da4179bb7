"""What an engine must forget and look at again: somebody else was faster, or a batch failed."""

import pytest

from assay.core.view import Key, Need
from assay.engine import windows
from assay.model.commands import FailWorkflow, ScheduleActivity
from assay.model.operations import (
    FailActivity,
    RenewLeases,
    Retry,
    Signal,
    Start,
    SubmitCommands,
)
from assay.model.retry import RetryPolicy
from assay.model.task import TaskKind
from assay.store.port import Batch, CommitOutcome, Look, Refused
from tests.unit.engine.bench import LEASE, RUNS, WORK, Bench

OTHER = Look(TaskKind.WORKFLOW, None, "other")


def activity(seq: int) -> ScheduleActivity:
    return ScheduleActivity(seq, "work", "default", None, RetryPolicy(max_attempts=1))


def refuse_poison(batch: Batch) -> CommitOutcome | None:
    poisoned = any("poison" in (event.payload or "") for event in batch.decision.events)
    return Refused("unsuitable") if poisoned else None


def test_a_claim_on_a_stale_activity_is_decided_on_the_row() -> None:
    one = Bench()
    one.engine.parts.exclusive = False
    two = Bench(one.store, exclusive=False)
    one.step("wf", activity(1))
    claim = two.poll(WORK).grant
    assert claim is not None
    two.engine.undo(claim.claim)
    two.run()
    poll = one.want(WORK)
    one.run()
    assert poll.activity.seq == 1
    assert len(one.commits) < 10


def test_after_a_conflict_every_held_poll_is_looked_after_again() -> None:
    one = Bench()
    one.engine.parts.exclusive = False
    two = Bench(one.store, exclusive=False)
    one.start("wf")
    poll = one.want(OTHER)
    one.run()
    two.do(Signal("wf", "a"))
    one.do(Signal("wf", "b"))  # decided on what one remembers: stale, then decided anew
    assert len(one.commits) == 3
    two.do(Start("order", "new", queue="other"))
    one.later(1)
    one.engine.hint(None)  # the sweep
    one.run()
    assert poll.run.id == "new"


def test_after_a_refusal_a_delayed_task_still_goes_to_who_waits_for_it() -> None:
    bench = Bench()
    retried = RetryPolicy(max_attempts=3, initial_interval_secs=5)
    bench.step("wf", ScheduleActivity(1, "work", "default", None, retried))
    bench.do(FailActivity(bench.poll(WORK).activity.no, "not yet"))
    poll = bench.want(WORK)
    bench.run()
    bench.tell.extend([refuse_poison] * 9)
    bench.submit(Signal("wf", "fine"))
    bench.submit(Signal("wf", "poison"))
    bench.run()
    bench.later(6)
    assert bench.engine.next_wake() is not None
    bench.run()
    assert poll.activity.attempt == 2


def test_a_retried_run_is_at_hand_with_all_that_is_live_of_it() -> None:
    bench = Bench()
    bench.step("wf", activity(1), activity(2))
    bench.poll(WORK)
    bench.do(FailActivity(bench.poll(WORK).activity.no, "broken"))
    bench.poll(RUNS)
    bench.do(SubmitCommands("wf", "w1", (FailWorkflow("broken"),)))
    bench.do(Retry("wf", "ann", "mended"))
    no = bench.stored("wf").no
    case = bench.engine.index.cases.by_no.get(no)
    stored = bench.store.load_now([Key(Need.RUN, no)]).activities
    kept = None if case is None else sorted(case.activities)
    assert kept in (None, sorted(row.seq for row in stored if row.is_live))


def test_every_named_lease_is_renewed_whoever_gave_it() -> None:
    one = Bench()
    one.engine.parts.exclusive = False
    two = Bench(one.store, exclusive=False)
    one.start("a", "b")
    assert one.poll().run.id == "a"
    one.do(Signal("b", "kept by one as nobody's"))
    assert two.poll().run.id == "b"
    one.later(20)
    one.do(RenewLeases("w1", ("a", "b")))
    assert one.stored("a").claim_until == one.stored("b").claim_until == one.now + LEASE


@pytest.fixture
def few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOWS_KEPT", 3)


def test_more_queues_than_are_remembered_come_to_rest(few_windows: None) -> None:
    bench = Bench()
    polls = [bench.want(Look(TaskKind.WORKFLOW, None, f"queue-{n}")) for n in range(6)]
    bench.run()
    bench.do(Start("order", "wf", queue="queue-2"))
    assert polls[2].run.id == "wf"


def test_a_delayed_task_is_handed_over_however_many_queues_are_asked_for(
    few_windows: None,
) -> None:
    bench = Bench()
    retried = RetryPolicy(max_attempts=3, initial_interval_secs=5)
    bench.step("wf", ScheduleActivity(1, "work", "default", None, retried))
    bench.do(FailActivity(bench.poll(WORK).activity.no, "not yet"))
    poll = bench.want(WORK)
    bench.run()
    for n in range(6):
        bench.poll(Look(TaskKind.WORKFLOW, None, f"queue-{n}"))
    bench.later(6)
    bench.run()
    assert poll.activity.attempt == 2
