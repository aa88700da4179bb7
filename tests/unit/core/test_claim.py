"""The life of a claim on a run: offered, claimed, renewed, undone, expired, blocked."""

import pytest

from assay.core.claim import is_run_claimable
from assay.errors import Conflict
from assay.model.ids import claim_token
from assay.model.operations import (
    Due,
    DueKind,
    RenewLeases,
    Signal,
    SubmitCommands,
    UndoWorkflowClaim,
)
from assay.model.states import RunStatus
from tests.unit.core.desk import LEASE, NOW, Desk, activity


def test_a_claim_takes_the_mark_and_sets_a_lease() -> None:
    desk = Desk()
    desk.start()
    desk.later(1)
    claim = desk.claim(worker="w9")
    run = desk.at()
    assert (run.status, run.updated_at, run.claimed_by) == (RunStatus.RUNNING, desk.now, "w9")
    assert (run.claim_token, run.claim_until) == (claim.token, desk.now + LEASE)
    assert (run.ready_at, run.claimed_ready_at, run.claim_seq) == (None, NOW, 1)
    assert not is_run_claimable(run, desk.now)


def test_updated_at_moves_on_status_changes_only() -> None:
    desk = Desk()
    desk.start()
    desk.step()
    desk.do(Signal("wf", "go"))
    desk.later(9)
    desk.claim()
    assert desk.at().updated_at == NOW


def test_every_claim_has_a_token_of_its_own() -> None:
    desk = Desk()
    desk.start()
    first = desk.claim()
    desk.expire()
    second = desk.claim()
    assert first.token != second.token


def test_news_under_a_lease_makes_the_run_claimable_right_after_the_batch() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.later(2)
    desk.do(Signal("wf", "go"))
    news_at = desk.now
    assert not is_run_claimable(desk.at(), desk.now)
    desk.later(3)
    desk.submit()
    assert desk.at().ready_at == news_at
    assert is_run_claimable(desk.at(), desk.now)


def test_an_empty_batch_just_releases() -> None:
    desk = Desk()
    desk.start()
    desk.step()
    assert (desk.at().claim_token, desk.at().ready_at) == (None, None)
    with pytest.raises(Conflict):
        desk.submit()


def test_an_expired_lease_lets_anybody_claim_and_the_last_holder_report() -> None:
    desk = Desk()
    desk.start()
    claim = desk.claim()
    desk.expire()
    assert is_run_claimable(desk.at(), desk.now)
    desk.do(SubmitCommands("wf", "w1", (activity(),), claim_token(claim.token)))
    assert desk.activity().name == "pay"
    assert desk.at().claim_token is None


def test_the_next_claim_ends_the_right_of_the_one_before() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.expire()
    desk.claim(worker="w2")
    with pytest.raises(Conflict):
        desk.submit(activity(), worker="w1")
    desk.submit(activity(), worker="w2")


def test_a_lease_that_expires_before_its_moment_does_not() -> None:
    desk = Desk()
    run = desk.start()
    desk.claim()
    desk.now += LEASE - 1
    desk.do(Due(DueKind.RUN, run.no))
    assert desk.decision.is_empty
    desk.now += 1
    desk.do(Due(DueKind.RUN, run.no))
    assert (desk.at().claim_until, desk.at().ready_at) == (None, desk.now)


def test_renewal_is_for_the_holder_and_while_the_lease_lasts() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.later(10)
    desk.do(RenewLeases("w2", ("wf", "nobody")))
    assert desk.decision.is_empty
    desk.do(RenewLeases("w1", ("nobody", "wf")))
    assert desk.at().claim_until == desk.now + LEASE
    desk.expire()
    desk.do(RenewLeases("w1", ("wf",)))
    assert desk.decision.is_empty


@pytest.mark.parametrize("news", [False, True])
def test_undo_gives_mark_and_age_back(news: bool) -> None:
    desk = Desk()
    run = desk.start()
    desk.later(4)
    claim = desk.claim()
    desk.later(1)
    if news:
        desk.do(Signal("wf", "go"))
    desk.do(UndoWorkflowClaim(run.no, claim.token))
    assert (desk.at().ready_at, desk.at().claim_token) == (NOW, None)
    assert (desk.at().status, desk.at().attempt) == (RunStatus.RUNNING, 0)
    with pytest.raises(Conflict):
        desk.submit()


def test_undo_gives_the_claimer_before_back() -> None:
    desk = Desk()
    run = desk.start()
    desk.do(UndoWorkflowClaim(run.no, desk.claim(worker="w1").token))
    assert desk.at().claimed_by is None
    desk.claim(worker="w2")
    desk.submit(worker="w2")
    desk.do(Signal("wf", "go"))
    desk.do(UndoWorkflowClaim(run.no, desk.claim(worker="w3").token))
    assert desk.at().claimed_by == "w2"


def test_undo_of_a_claim_that_is_over_changes_nothing() -> None:
    desk = Desk()
    run = desk.start()
    claim = desk.claim()
    desk.submit()
    desk.do(UndoWorkflowClaim(run.no, claim.token))
    assert desk.decision.is_empty
    desk.do(UndoWorkflowClaim(4711, claim.token))
    assert desk.decision.is_empty


# A batch without lease may answer an earlier claim of the same worker: its history was shorter.


@pytest.mark.parametrize(
    ("others", "fenced", "dispatchable"),
    [
        ((), False, True),
        ((), True, False),
        (("w2",), False, True),
        (("w2",), True, False),
    ],
)
def test_a_batch_that_may_answer_an_older_claim_leaves_the_run_dispatchable(
    others: tuple[str, ...], fenced: bool, dispatchable: bool
) -> None:
    desk = Desk()
    desk.start()
    for worker in ("w1", *others):
        desk.claim(worker=worker)
        desk.expire()
    token = desk.claim(worker="w1").token
    desk.do(SubmitCommands("wf", "w1", (), claim_token(token) if fenced else None))
    assert (desk.at().ready_at is not None) is dispatchable


def test_another_workers_first_claim_is_answered_as_usual() -> None:
    desk = Desk()
    desk.start()
    desk.claim(worker="w1")
    desk.expire()
    desk.claim(worker="w2")
    desk.submit(worker="w2")
    assert desk.at().ready_at is None
