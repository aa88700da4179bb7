"""How commits come out: what is split, decided anew, told and put back."""

import pytest

from assay.core.view import Key, Need
from assay.engine.limits import CONFLICTS_BEFORE_GIVING_UP, CONFLICTS_BEFORE_LOCK
from assay.engine.requests import LoadStep
from assay.engine.wants import Grant
from assay.errors import AssayError, Conflict, StoreFault, StoreUnavailable
from assay.model.commands import ScheduleTimer
from assay.model.events import EventType
from assay.model.operations import DONE, Signal, Start, Started, SubmitCommands, Terminate
from assay.model.states import RunStatus
from assay.store.port import Batch, CommitOutcome, Failed, Refused, Stale, Unknown
from tests.unit.engine.bench import Bench, says


def refuse_poison(batch: Batch) -> CommitOutcome | None:
    """A database that cannot store one word."""
    for event in batch.decision.events:
        if "poison" in (event.payload or ""):
            return Refused("unsuitable")
    return None


def told(bench: Bench, id: str) -> list[str]:
    no = bench.stored(id).no
    whole = bench.store.load_now([Key(Need.WHOLE_RUN, no)]).whole_runs[no]
    assert [event.seq for event in whole.events] == list(range(1, len(whole.events) + 1))
    return [event.payload or event.type for event in whole.events]


# Refused: the data itself cannot be stored


@pytest.mark.parametrize("poisoned", [{0}, {6}, {3}, {0, 6}, {2, 3, 4}, set(range(7))])
def test_a_poisoned_request_hurts_only_itself(poisoned: set[int]) -> None:
    bench = Bench()
    bench.start(*[f"wf-{n}" for n in range(7)])
    callers = [
        bench.submit(Signal(f"wf-{n}", "poison" if n in poisoned else "fine")) for n in range(7)
    ]
    bench.tell.extend([refuse_poison] * 50)
    bench.run()
    for n, caller in enumerate(callers):
        if n in poisoned:
            assert isinstance(caller.outcome, StoreFault)
            assert not isinstance(caller.outcome, StoreUnavailable)
        else:
            assert caller.outcome == DONE
        assert len(told(bench, f"wf-{n}")) == (1 if n in poisoned else 2)


def test_all_operations_of_a_poisoned_request_share_its_fate() -> None:
    bench = Bench()
    bench.start("a")
    caller = bench.submit(Signal("a", "fine"), Signal("a", "poison"))
    bench.tell.extend([refuse_poison] * 9)
    bench.run()
    assert [type(answer) for answer in caller.answers] == [StoreFault, StoreFault]
    assert told(bench, "a") == ["WorkflowStarted"]


def test_requests_keep_their_order_when_a_batch_is_split() -> None:
    bench = Bench()
    bench.start("a", "b")
    words = ["1", "2", "poison", "3", "4", "5"]
    callers = [bench.submit(Signal("a", word)) for word in words]
    bench.tell.extend([refuse_poison] * 50)
    bench.run()
    signals = [text for text in told(bench, "a") if "signal" in text]
    assert [text.split('"')[3] for text in signals] == ["1", "2", "3", "4", "5"]
    assert all(caller.times == 1 for caller in callers)


def test_a_poisoned_request_does_not_hold_up_what_is_due() -> None:
    bench = Bench()
    bench.step("a", ScheduleTimer(1, 1))
    bench.later(1)
    caller = bench.submit(Signal("a", "poison"))
    bench.tell.extend([refuse_poison] * 9)
    bench.run()
    assert isinstance(caller.outcome, StoreFault)
    bench.later(1)
    bench.run()
    assert len(told(bench, "a")) == 3


def test_who_would_have_got_a_task_of_a_refused_batch_waits_on() -> None:
    bench = Bench()
    waiting = bench.poll(held=True)
    caller = bench.submit(Start("order", "wf", input='"poison"'))
    bench.tell.extend([refuse_poison] * 9)
    bench.run()
    assert isinstance(caller.outcome, StoreFault)
    assert waiting.waits
    bench.start("wf")
    assert waiting.run.id == "wf"


# Stale: somebody else moved the rows


def test_a_stale_batch_is_decided_anew_on_fresh_rows() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    one.start("wf")
    two.do(Signal("wf", "b"))
    one.do(Signal("wf", "a"))
    assert two.do(Signal("wf", "c")) == DONE
    assert [text.split('"')[3] for text in told(one, "wf")[1:]] == ["b", "a", "c"]


def test_a_refusal_from_memory_is_judged_again_on_fresh_rows() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    one.start("wf")
    two.do(Signal("wf", "b"))
    two.do(Terminate("wf"))
    caller = one.submit(Signal("wf", "a"))
    one.run()
    assert isinstance(caller.outcome, Conflict)
    assert two.stored("wf").status is RunStatus.FAILED


def test_two_that_want_one_task_do_not_both_get_it() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    one.start("a", "b")
    first, second = one.want(worker="w1"), two.want(worker="w2")
    left, right = one.to_commit(), two.to_commit()
    one.drive(left)
    two.drive(right)
    two.run()
    assert {first.run.id, second.run.id} == {"a", "b"}


def test_a_batch_that_goes_stale_again_is_split_then_locked_then_given_up() -> None:
    bench = Bench()
    bench.start("wf")
    callers = [bench.submit(Signal("wf", "a")), bench.submit(Signal("wf", "b"))]
    bench.tell.extend([says(Stale())] * CONFLICTS_BEFORE_GIVING_UP)
    bench.run()
    assert isinstance(callers[0].outcome, StoreUnavailable)
    assert callers[1].outcome == DONE
    locks = [step.lock for step in bench.loads if step.lock]
    assert len(locks) == CONFLICTS_BEFORE_GIVING_UP - CONFLICTS_BEFORE_LOCK
    assert len(bench.commits) == 1 + CONFLICTS_BEFORE_GIVING_UP + 1


def test_a_deadline_that_is_split_off_a_stale_batch_comes_back() -> None:
    bench = Bench()
    bench.step("wf", *[ScheduleTimer(seq, 1) for seq in range(1, 6)])
    bench.later(1)
    bench.tell.extend([says(Stale())] * 4)
    bench.run()
    assert len([text for text in told(bench, "wf") if "duration" not in text]) == 1 + 5


# Failed: not now. Unknown: perhaps.


def test_a_failed_commit_is_told_to_all_and_leaves_everything_as_it_was() -> None:
    bench = Bench()
    bench.start("wf")
    callers = [bench.submit(Signal("wf", "a")), bench.submit(Start("order", "new"))]
    bench.tell.append(says(Failed("no room")))
    bench.run()
    assert [type(caller.outcome) for caller in callers] == [StoreUnavailable] * 2
    assert bench.engine.out_of_breath
    assert told(bench, "wf") == ["WorkflowStarted"]
    assert bench.do(Signal("wf", "b")) == DONE
    assert isinstance(bench.do(Start("order", "new")), Started)


def test_a_failed_commit_puts_tasks_and_wants_back() -> None:
    bench = Bench()
    bench.start("a", "b")
    polls = [bench.want(worker=f"w{n}") for n in range(3)]
    bench.tell.append(says(Failed("no room")))
    bench.run()
    assert [poll.run.id for poll in polls[:2]] == ["a", "b"]
    assert [poll.run.claimed_by for poll in polls[:2]] == ["w0", "w1"]
    assert polls[2].waits


@pytest.mark.parametrize("outcome", [Failed("no room"), Refused("unsuitable")])
def test_a_failed_commit_does_not_strand_who_found_nothing(outcome: CommitOutcome) -> None:
    bench = Bench()
    caller = bench.submit(Start("order", "wf", queue="elsewhere"))
    hasty = bench.want(held=False)
    bench.tell.append(says(outcome))
    bench.run()
    assert isinstance(caller.outcome, StoreFault)
    assert not isinstance(hasty.answer, Grant)


def test_a_failed_commit_puts_deadlines_back_for_a_little_later() -> None:
    bench = Bench()
    bench.step("wf", ScheduleTimer(1, 1))
    bench.later(1)
    bench.tell.append(says(Failed("no room")))
    assert bench.run() == 1
    wake_at = bench.engine.next_wake()
    assert wake_at is not None
    assert bench.now < wake_at <= bench.now + 1_000_000
    bench.now = wake_at
    bench.run()
    assert len(told(bench, "wf")) == 3


def test_a_load_that_fails_is_told_to_all_and_nothing_is_remembered() -> None:
    bench = Bench()
    bench.start("a")
    waiting = bench.want()
    caller = bench.submit(Signal("unknown", "x"))
    step = bench.engine.begin(bench.now)
    assert isinstance(step, LoadStep)
    bench.engine.give_up_batch(StoreUnavailable("gone"))
    assert isinstance(caller.outcome, StoreUnavailable)
    assert bench.engine.amnesia
    bench.run()
    assert waiting.run.id == "a"


@pytest.mark.parametrize("written", [True, False])
def test_an_unknown_outcome_is_settled_and_nothing_is_done_twice(written: bool) -> None:
    bench = Bench()
    bench.start("wf")
    caller, poll = bench.submit(Signal("wf", "a")), bench.want()

    def lose(batch: Batch) -> CommitOutcome:
        if written:
            bench.store.commit_now(batch)
        return Unknown("lost")

    bench.tell.append(lose)
    bench.run()
    bench.engine.recover([*bench.store.claims_now(), *bench.store.deadlines_now(bench.now)])
    if written:
        assert caller.outcome == DONE
    else:
        assert isinstance(caller.outcome, StoreUnavailable)
    assert bench.engine.amnesia
    assert poll.run.id == "wf"
    assert len(told(bench, "wf")) == (2 if written else 1)
    assert bench.do(SubmitCommands("wf", "w1", ())) == DONE


def test_when_nobody_can_say_callers_are_told_so() -> None:
    bench = Bench()
    caller = bench.submit(Start("order", "wf"))
    step = bench.to_commit()
    bench.engine.committed(Unknown("lost"))
    bench.engine.settled(committed=None)
    assert isinstance(caller.outcome, StoreUnavailable)
    assert not bench.engine.is_busy
    assert step.batch.no == bench.engine.batches


def test_outcomes_are_in_the_order_of_operations_and_given_once() -> None:
    bench = Bench()
    caller = bench.submit(
        Start("order", "wf"), Start("order", "wf"), Signal("wf", "a"), Signal("nobody", "a")
    )
    bench.run()
    assert caller.times == 1
    kinds = [isinstance(answer, AssayError) for answer in caller.answers]
    assert kinds == [False, True, False, True]
    assert told(bench, "wf")[0] == EventType.WORKFLOW_STARTED


def test_batches_go_to_the_store_as_they_are_decided() -> None:
    bench = Bench()
    poll = bench.want()
    bench.start("wf")
    assert poll.run.id == "wf"
    assert [batch.no for batch in bench.commits] == [1]
