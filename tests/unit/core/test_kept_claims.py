"""Runs that a worker keeps alive, claims that are held on: who may have their news, and when."""

import pytest

from assay.core.claim import (
    EXPIRIES_BEFORE_BLOCKED,
    KEPT_FOR,
    claim_run,
    is_kept_run_claimable,
    is_run_claimable,
    kept_at,
    open_at,
)
from assay.errors import Conflict, NotFound
from assay.model.commands import (
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    WaitForSignal,
)
from assay.model.ids import claim_token
from assay.model.operations import (
    Cancel,
    Due,
    DueKind,
    RejectCommands,
    RenewLeases,
    ReportMismatch,
    Retry,
    Signal,
    SubmitCommands,
    UndoWorkflowClaim,
)
from assay.model.run import Run
from assay.model.states import RunStatus
from assay.model.task import Claim
from assay.model.time import MICROS
from tests.unit.core.desk import LEASE, Desk, activity, timer
from tests.unit.core.scenes import fail, once

WAIT = WaitForSignal("go", None)


def begun() -> tuple[Desk, Claim]:
    desk = Desk()
    desk.start()
    return desk, desk.claim()


def submit(
    desk: Desk, claim: Claim, *commands: Command, keeps: bool = False, holds: bool = False
) -> Run:
    """What the SDK sends: always with its lease."""
    desk.do(SubmitCommands("wf", "w1", commands, claim_token(claim.token), keeps, holds))
    return desk.at()


def kept(*commands: Command) -> tuple[Desk, Claim]:
    """A run that w1 keeps alive."""
    desk, claim = begun()
    submit(desk, claim, *(commands or (WAIT,)), keeps=True)
    return desk, claim


def held() -> tuple[Desk, Claim]:
    """A run whose claim w1 holds on."""
    desk, claim = begun()
    submit(desk, claim, WAIT, keeps=True, holds=True)
    return desk, claim


def tell(desk: Desk) -> Run:
    desk.do(Signal("wf", "go"))
    return desk.at()


def claimable_by(run: Run, now: int) -> tuple[bool, bool, bool]:
    """By its keeper, by another keeper, by anybody."""
    return (
        is_kept_run_claimable(run, now, "w1"),
        is_kept_run_claimable(run, now, "w2"),
        is_run_claimable(run, now),
    )


# -- kept ----------------------------------------------------------------------------------------


def test_a_run_that_is_kept_has_no_open_claim_and_waits_for_news() -> None:
    desk, claim = kept()
    run = desk.at()
    assert (run.claim_token, run.claim_until, run.claimed_ready_at) == (None, None, None)
    assert (run.kept_token, run.keeper, run.claim_seq) == (claim.token, "w1", 1)
    assert (kept_at(run), open_at(run)) == (None, None)
    assert claimable_by(run, desk.now) == (False, False, False)


def test_its_news_are_its_keepers_at_once_and_anybodys_after_a_second() -> None:
    desk, _ = kept()
    desk.later(5)
    run = tell(desk)
    assert (kept_at(run), open_at(run)) == (desk.now, desk.now + KEPT_FOR)
    assert claimable_by(run, desk.now) == (True, False, False)
    assert claimable_by(run, desk.now + KEPT_FOR - 1) == (True, False, False)
    assert claimable_by(run, desk.now + KEPT_FOR) == (True, False, True)


def test_what_is_not_kept_is_anybodys_at_once() -> None:
    desk, claim = begun()
    submit(desk, claim, WAIT)
    run = tell(desk)
    assert (run.keeper, kept_at(run), open_at(run)) == (None, None, desk.now)
    assert claimable_by(run, desk.now) == (False, False, True)


def test_news_that_came_before_the_batch_keep_their_age() -> None:
    desk, claim = begun()
    desk.later(0.4)
    told_at = desk.now
    desk.do(Signal("wf", "go"))
    desk.later(0.4)
    run = submit(desk, claim, WAIT, keeps=True)
    assert (kept_at(run), open_at(run)) == (told_at, told_at + KEPT_FOR)


@pytest.mark.parametrize("worker", ["w1", "w2"])
def test_the_next_claim_is_a_new_one_and_keeps_nothing(worker: str) -> None:
    desk, claim = kept()
    desk.later(2)
    tell(desk)
    desk.later(2)
    second = desk.claim(worker=worker)
    run = desk.at()
    assert second.token != claim.token
    assert (run.kept_token, run.claim_seq, run.claim_until) == (None, 3, desk.now + LEASE)
    with pytest.raises(Conflict):
        submit(desk, claim, CompleteWorkflow(None))


def test_a_claim_that_was_undone_leaves_nobody_who_keeps_it() -> None:
    desk, _ = kept()
    told_at = desk.now
    tell(desk)
    desk.later(0.5)
    claim = desk.claim()
    desk.do(UndoWorkflowClaim(desk.at().no, claim.token))
    run = desk.at()
    assert (run.keeper, open_at(run)) == (None, told_at)
    assert claimable_by(run, desk.now) == (False, False, True)


def test_a_cancel_request_goes_to_the_keeper_first() -> None:
    desk, _ = kept()
    desk.do(Cancel("wf"))
    assert claimable_by(desk.at(), desk.now) == (True, False, False)


def test_an_end_is_kept_by_nobody() -> None:
    desk, claim = begun()
    run = submit(desk, claim, CompleteWorkflow(None), keeps=True, holds=True)
    assert (run.status, run.kept_token, run.claim_token) == (RunStatus.COMPLETED, None, None)
    desk, _ = kept()
    tell(desk)
    claim = desk.claim()
    submit(desk, claim, FailWorkflow("broke"), keeps=True)
    assert (desk.at().keeper, kept_at(desk.at()), open_at(desk.at())) == (None, None, None)


def test_a_failed_run_that_is_retried_is_kept_by_nobody() -> None:
    desk, _ = kept(once())
    fail(desk)
    claim = desk.claim()
    submit(desk, claim, FailWorkflow("broke"), keeps=True)
    desk.do(Retry("wf", "ann", "healed"))
    desk.do(Signal("wf", "go"))
    assert claimable_by(desk.at(), desk.now) == (False, False, True)


def test_after_its_lease_a_batch_counts_and_keeps_nothing() -> None:
    desk, claim = begun()
    desk.expire()
    run = submit(desk, claim, WAIT, keeps=True)
    assert (run.kept_token, run.claim_token, run.ready_at) == (None, None, None)


def test_who_does_not_name_its_lease_may_answer_an_older_claim_and_keeps_all_the_same() -> None:
    desk, claim = begun()
    desk.do(SubmitCommands("wf", "w1", (WAIT,), None, keeps=True))
    assert desk.at().kept_token == claim.token


# -- held on -------------------------------------------------------------------------------------


def test_a_claim_that_is_held_on_stays_open_for_another_lease() -> None:
    desk, claim = begun()
    desk.later(20)
    run = submit(desk, claim, timer(), keeps=True, holds=True)
    assert (run.claim_token, run.claim_until) == (claim.token, desk.now + LEASE)
    assert run.keeper == "w1"
    desk.later(20)
    run = submit(desk, claim, activity(), keeps=True, holds=True)
    assert run.claim_until == desk.now + LEASE
    run = submit(desk, claim, keeps=True)
    assert (run.claim_token, run.claim_until, run.keeper) == (None, None, "w1")


def test_its_holder_hears_news_under_the_same_claim_and_nobody_else_does() -> None:
    desk, claim = held()
    run = tell(desk)
    for later in (0, KEPT_FOR, LEASE - 1):
        assert claimable_by(run, desk.now + later) == (True, False, False)
    assert open_at(run) is None
    desk.later(3)
    again = desk.claim()
    run = desk.at()
    assert again == claim
    assert (run.claim_seq, run.claim_until, run.ready_at) == (3, desk.now + LEASE, None)
    assert run.kept_token is None, "until it answers it hears nothing more"
    assert run.expired_claimers is None
    tell(desk)
    assert claimable_by(desk.at(), desk.now) == (False, False, False)
    submit(desk, claim, keeps=True, holds=True)
    assert claimable_by(desk.at(), desk.now) == (True, False, False)


def test_the_same_claim_counts_for_what_its_holder_has_not_been_told() -> None:
    """A signal since the claim is carried over, however often the claim went on."""
    desk, claim = held()
    tell(desk)
    desk.claim()
    desk.do(Signal("wf", "late"))
    assert desk.at().claim_seq == desk.at().last_seq - 1
    run = submit(desk, claim, WAIT, keeps=True)
    assert (run.keeper, kept_at(run)) == ("w1", desk.now)


def test_renewal_keeps_what_is_held_on() -> None:
    desk, _ = held()
    desk.later(10)
    desk.do(RenewLeases("w1", ("wf",)))
    run = tell(desk)
    assert run.claim_until == desk.now + LEASE
    assert claimable_by(run, desk.now) == (True, False, False)


def test_its_lease_expires_like_any_other() -> None:
    desk, claim = held()
    desk.expire()
    run = desk.at()
    assert (run.keeper, run.claim_until, run.ready_at) == (None, None, desk.now)
    assert claimable_by(run, desk.now) == (False, False, True)
    assert run.attempt == 1
    submit(desk, claim, keeps=True)
    assert (desk.at().claim_token, desk.at().kept_token) == (None, None)


def test_who_holds_on_after_its_lease_has_another_one() -> None:
    """It is there, and not done."""
    desk, claim = begun()
    desk.expire()
    run = submit(desk, claim, activity(), keeps=True, holds=True)
    assert (run.claim_token, run.kept_token) == (claim.token, claim.token)
    assert (run.claim_until, run.ready_at, run.attempt) == (desk.now + LEASE, None, 0)


# -- news that cross a batch ---------------------------------------------------------------------


@pytest.mark.parametrize(("seen", "at_once"), [(2, True), (3, False), (None, False)])
def test_who_had_not_seen_its_news_yet_is_given_another_task(
    seen: int | None, at_once: bool
) -> None:
    desk, claim = held()
    tell(desk)
    desk.claim()  # they are on their way, and cross the batch
    token = claim_token(claim.token)
    desk.do(SubmitCommands("wf", "w1", (), token, keeps=True, seen=seen))
    run = desk.at()
    assert (run.claim_token, run.keeper) == (None, "w1")
    assert (kept_at(run) == desk.now) is at_once


def test_what_it_had_not_seen_its_successor_gets() -> None:
    desk, claim = held()
    desk.do(Signal("wf", "go", "7"))
    desk.claim()
    end = (ContinueAsNew(None, ()),)
    desk.do(SubmitCommands("wf", "w1", end, claim_token(claim.token), seen=2))
    [successor] = [run for run in desk.all() if run.id != "wf"]
    told = [event.payload for event in desk.history[successor.no]]
    assert told == [None, '{"signal":"go","payload":7}']


def test_a_claim_that_goes_on_is_no_claim_that_expired() -> None:
    """Its holder answers: only claims nobody answers count towards a run that is blocked."""
    desk, claim = held()
    for _ in range(2 * EXPIRIES_BEFORE_BLOCKED):
        tell(desk)
        assert desk.claim() == claim
        submit(desk, claim, keeps=True, holds=True)
    assert (desk.at().attempt, desk.at().blocked) == (0, None)
    desk.expire()
    assert desk.at().attempt == 1


def test_undoing_it_gives_the_run_to_others() -> None:
    desk, claim = held()
    tell(desk)
    desk.claim()
    desk.do(UndoWorkflowClaim(desk.at().no, claim.token))
    run = desk.at()
    assert (run.claim_token, run.keeper) == (None, None)
    assert claimable_by(run, desk.now) == (False, False, True)


def test_a_bad_batch_leaves_it_as_it_is() -> None:
    desk, claim = held()
    desk.do(RejectCommands("wf", "w1", "?", claim_token(claim.token)))
    assert (desk.at().blocked, desk.at().kept_token) == ("?", claim.token)
    run = submit(desk, claim, keeps=True, holds=True)
    assert (run.blocked, run.claim_token) == (None, claim.token)


def test_a_run_that_times_out_is_held_by_nobody() -> None:
    desk, _ = held()
    desk.do(Due(DueKind.RUN, desk.at().no))
    assert desk.decision.is_empty
    desk.now += LEASE
    desk.do(Due(DueKind.RUN, desk.at().no))
    assert desk.at().kept_token is None


# -- mismatches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["first", "kept", "held on"])
def test_a_mismatch_closes_the_claim_and_blocks(how: str) -> None:
    desk, claim = begun()
    if how == "held on":
        submit(desk, claim, keeps=True, holds=True)
    elif how == "kept":
        submit(desk, claim, WAIT, keeps=True)
        tell(desk)
        claim = desk.claim()
    desk.do(ReportMismatch("wf", "w1", "step 1 was another", claim_token(claim.token)))
    run = desk.at()
    assert (run.blocked, run.attempt) == ("step 1 was another", 1)
    assert (run.claim_token, run.claim_until, run.kept_token) == (None, None, None)
    assert run.ready_at == desk.now + MICROS
    assert claimable_by(run, desk.now) == (False, False, False)
    assert claimable_by(run, desk.now + MICROS) == (False, False, True)


def test_its_back_off_grows_and_ends_with_the_first_batch_that_fits() -> None:
    desk, claim = begun()
    delays = []
    for _ in range(8):
        desk.do(ReportMismatch("wf", "w1", "no", claim_token(claim.token)))
        delays.append(((desk.at().ready_at or 0) - desk.now) / MICROS)
        desk.now = desk.at().ready_at or 0
        claim = desk.claim()
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]
    run = submit(desk, claim, WAIT, keeps=True)
    assert (run.blocked, run.attempt) == (None, 0)


def test_a_cancel_request_cuts_its_back_off_short() -> None:
    desk, claim = begun()
    desk.do(Cancel("wf", "enough"))
    desk.do(ReportMismatch("wf", "w1", "no", claim_token(claim.token)))
    assert desk.at().ready_at == desk.now


def test_only_the_holder_may_report_one() -> None:
    desk, claim = begun()
    token = claim_token(claim.token)
    for report, error in (
        (ReportMismatch("wf", "w2", "?", token), Conflict),
        (ReportMismatch("wf", "w1", "?", "c1"), Conflict),
        (ReportMismatch("none", "w1", "?", token), NotFound),
    ):
        with pytest.raises(error):
            desk.do(report)
        assert desk.decision.is_empty
    submit(desk, claim, WAIT, keeps=True)
    with pytest.raises(Conflict):
        desk.do(ReportMismatch("wf", "w1", "?", token))
    assert desk.at().blocked is None


def test_the_stream_tells_of_it_once() -> None:
    desk, claim = begun()
    desk.do(ReportMismatch("wf", "w1", "no", claim_token(claim.token)))
    assert [frame.kind for frame in desk.decision.frames] == ["workflow_blocked"]
    desk.later(1)
    claim = desk.claim()
    desk.do(ReportMismatch("wf", "w1", "no", claim_token(claim.token)))
    assert desk.decision.frames == ()


def test_whoever_claims_it_gets_a_lease_of_the_length_asked_for() -> None:
    desk, _ = held()
    tell(desk)
    draft = desk.draft()
    claim_run(draft, desk.at(), "w1", 5 * MICROS)
    desk.keep(draft)
    assert desk.at().claim_until == desk.now + 5 * MICROS
