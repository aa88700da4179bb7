"""A batch without a lease that may answer a claim from before: news is not taken for answered."""

import pytest

from assay.model.commands import CompleteWorkflow, ContinueAsNew
from assay.model.events import EventType
from assay.model.ids import claim_token
from assay.model.operations import Cancel, Signal, SubmitCommands
from assay.model.states import RunStatus
from tests.unit.core.desk import Desk, activity, said


def test_a_late_batch_counts_as_one_though_another_worker_has_answered_meanwhile() -> None:
    desk = Desk()
    desk.start()
    desk.claim(worker="w1")
    desk.expire()
    desk.claim(worker="w2")
    desk.submit(worker="w2")
    desk.do(Signal("wf", "news"))
    desk.claim(worker="w1")
    desk.submit(worker="w1")  # it may be the batch for the first claim, which knows no news
    assert desk.at().ready_at is not None


def test_a_worker_that_has_answered_has_nothing_old_to_answer() -> None:
    desk = Desk()
    desk.start()
    desk.claim(worker="w1")
    desk.expire()
    desk.claim(worker="w1")
    desk.submit(worker="w1")
    assert desk.at().ready_at is not None
    desk.claim(worker="w1")
    desk.submit(worker="w1")
    assert desk.at().ready_at is None, "one doubt, one more turn: it must not spin"


def signals(desk: Desk) -> list[object]:
    """What the successor was born with."""
    successor, kind = desk.all()[-1].id, EventType.SIGNAL_RECEIVED
    return [said(each)["payload"] for each in desk.events(successor) if each.type is kind]


def held_twice(others: int = 0) -> Desk:
    """A run that w1 held before, with a signal before, between and after its claims."""
    desk = Desk()
    desk.start()
    desk.do(Signal("wf", "go", "1"))
    desk.claim(worker="w1")
    desk.do(Signal("wf", "go", "2"))
    desk.expire()
    for number in range(others):
        desk.claim(worker=f"other {number}")
        desk.expire()
    desk.now = desk.at().ready_at or desk.now
    desk.claim(worker="w1")
    desk.do(Signal("wf", "go", "3"))
    return desk


@pytest.mark.parametrize("others", [0, 1, 9])
def test_a_continuation_loses_no_signal_that_the_older_claim_did_not_show(others: int) -> None:
    desk = held_twice(others)
    desk.submit(ContinueAsNew(None, ()))
    assert signals(desk) == [2, 3]


def test_what_it_names_besides_goes_along_once() -> None:
    desk = held_twice()
    seqs = [event.seq for event in desk.events() if event.type is EventType.SIGNAL_RECEIVED]
    desk.submit(ContinueAsNew(None, tuple(seqs[:2])))
    assert signals(desk) == [1, 2, 3]


def test_who_names_what_the_newest_claim_has_shown_answers_that_one() -> None:
    desk = Desk()
    desk.start()
    desk.claim(worker="w1")
    desk.do(Signal("wf", "go", "1"))
    desk.do(Signal("wf", "go", "2"))
    desk.expire()
    desk.now = desk.at().ready_at or desk.now
    desk.claim(worker="w1")
    desk.do(Signal("wf", "go", "3"))
    seqs = [event.seq for event in desk.events() if event.type is EventType.SIGNAL_RECEIVED]
    desk.submit(ContinueAsNew(None, (seqs[1],)))
    assert signals(desk) == [2, 3], "the first is consumed"


def test_of_several_older_claims_the_oldest_counts() -> None:
    desk = held_twice()
    desk.expire()
    desk.now = desk.at().ready_at or desk.now
    desk.claim(worker="w1")
    desk.submit(ContinueAsNew(None, ()))
    assert signals(desk) == [2, 3]


def test_a_lease_says_which_claim_is_meant() -> None:
    desk = held_twice()
    lease = claim_token(desk.at().claim_token or 0)
    desk.do(SubmitCommands("wf", "w1", (ContinueAsNew(None, ()),), lease))
    assert signals(desk) == [3]


def test_an_older_claim_of_another_worker_is_no_matter() -> None:
    desk = held_twice()
    desk.expire()
    desk.now = desk.at().ready_at or desk.now
    desk.claim(worker="w2")
    desk.submit(ContinueAsNew(None, ()), worker="w2")
    assert signals(desk) == []


def test_a_cancel_request_between_the_claims_may_be_unknown_to_it() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.expire()
    desk.claim()
    desk.submit(activity(), ContinueAsNew(None, ()))
    assert (desk.at().status, len(desk.all())) == (RunStatus.RUNNING, 1)
    assert not desk.activities.rows
    assert desk.at().ready_at is not None
    desk.step(activity())
    assert desk.activity().seq == 1, "nothing older is left that it may answer"


def test_an_end_counts_whichever_claim_it_answers() -> None:
    desk = held_twice()
    desk.submit(CompleteWorkflow(None))
    assert desk.at().status is RunStatus.COMPLETED
