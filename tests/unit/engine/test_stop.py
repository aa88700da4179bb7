"""Stopping: held polls answer empty, what has come in is finished, nothing new begins."""

from assay.errors import EngineStopped
from assay.model.operations import DONE, Signal, Start, Started
from assay.store.port import Failed
from tests.unit.engine.bench import RUNS, Bench, says


def test_held_polls_answer_empty_at_once() -> None:
    bench = Bench()
    polls = [bench.poll(held=True) for _ in range(2)]
    bench.engine.stop()
    assert [poll.grant for poll in polls] == [None, None]
    assert not bench.engine.wants.looks()


def test_nothing_new_is_taken() -> None:
    bench = Bench()
    bench.engine.stop()
    caller, poll = bench.submit(Start("order", "wf"), Signal("wf", "a")), bench.want()
    assert [type(answer) for answer in caller.answers] == [EngineStopped] * 2
    assert poll.grant is None
    assert not bench.engine.has_work
    assert bench.run() == 0


def test_what_has_come_in_is_finished() -> None:
    bench = Bench()
    caller = bench.submit(Start("order", "wf"))
    bench.engine.stop()
    assert bench.engine.has_work
    bench.run()
    assert isinstance(caller.outcome, Started)
    assert bench.stored("wf").id == "wf"


def test_a_batch_in_hand_is_finished_and_its_grants_arrive() -> None:
    bench = Bench()
    bench.start("wf")
    caller, poll = bench.submit(Signal("wf", "a")), bench.want()
    step = bench.to_commit()
    bench.engine.stop()
    assert poll.waits
    bench.drive(step)
    assert (caller.outcome, poll.run.id) == (DONE, "wf")


def test_claims_can_still_be_undone() -> None:
    bench = Bench()
    bench.start("wf")
    poll = bench.poll()
    bench.engine.stop()
    assert poll.grant is not None
    bench.engine.undo(poll.grant.claim)
    bench.run()
    assert bench.stored("wf").claim_token is None


def test_who_was_about_to_get_a_task_when_its_commit_failed_is_not_left_waiting() -> None:
    bench = Bench()
    poll = bench.want()
    caller = bench.submit(Start("order", "wf"))
    step = bench.to_commit()
    bench.engine.stop()
    bench.tell.append(says(Failed("no room")))
    bench.drive(step)
    bench.run()
    assert caller.times == 1
    assert poll.grant is None
    assert bench.engine.wants.first(RUNS) is None
