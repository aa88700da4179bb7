"""Which reports on an attempt count: fences, late outcomes, cancelled runs, undone claims."""

import pytest

from assay.errors import Conflict, NotFound
from assay.model.commands import CompleteWorkflow
from assay.model.events import EventType
from assay.model.ids import claim_token
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    Fence,
    HeartbeatActivity,
    Terminate,
    UndoActivityClaim,
)
from assay.model.retry import RetryPolicy
from assay.model.states import ActivityStatus
from tests.unit.core.desk import Desk, activity
from tests.unit.core.scenes import (
    report,
    running,
)

# Fences


@pytest.mark.parametrize(
    ("worker", "attempt", "token", "counts"),
    [
        (None, None, None, True),
        ("w1", None, None, True),
        ("w2", None, None, False),
        (None, 2, None, True),
        (None, 1, None, False),
        (None, None, 0, True),
        (None, None, -1, False),
        ("w1", 2, 0, True),
        ("w1", 2, -1, False),
    ],
)
def test_a_fence_is_compared_where_it_is_given(
    worker: str | None, attempt: int | None, token: int | None, counts: bool
) -> None:
    desk = running(RetryPolicy(initial_interval_secs=0))
    report(desk, "fail")
    desk.work()
    no, right = desk.activity().no, desk.activity().claim_token or 0
    fence = Fence(worker, attempt, None if token is None else claim_token(right + token))
    before = desk.activity()
    for operation in (
        HeartbeatActivity(no, None, fence),
        CompleteActivity(no, None, fence),
    ):
        if counts:
            desk.do(operation)
        else:
            with pytest.raises(Conflict):
                desk.do(operation)
            assert desk.activity() is before


@pytest.mark.parametrize("how", ["complete", "fail"])
def test_a_report_on_what_does_not_run_is_refused(how: str) -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1))
    with pytest.raises(Conflict, match="is PENDING, not RUNNING"):
        report(desk, how)
    desk.work()
    report(desk, "complete")
    with pytest.raises(Conflict, match="is COMPLETED, not RUNNING"):
        report(desk, how)
    with pytest.raises(NotFound, match="not found: activity 4711 not found"):
        desk.do(FailActivity(4711, "x"))


# After the end of the run, and after a cancel request


@pytest.mark.parametrize(
    ("how", "status", "late", "error"),
    [
        ("complete", ActivityStatus.COMPLETED, "[7]", None),
        ("fail", ActivityStatus.FAILED, None, "broke"),
    ],
)
def test_a_late_outcome_is_kept_on_the_activity_and_told_nobody(
    how: str, status: ActivityStatus, late: str | None, error: str | None
) -> None:
    desk = running()
    desk.claim()
    desk.submit(CompleteWorkflow(None))
    told = desk.told()
    report(desk, how)
    row = desk.activity()
    assert (row.status, row.late_outcome, row.error, row.outcome_seq) == (status, late, error, None)
    assert desk.told() == told
    assert desk.at().ready_at is None


@pytest.mark.parametrize(
    ("how", "kind"),
    [("complete", EventType.ACTIVITY_COMPLETED), ("fail", EventType.ACTIVITY_FAILED)],
)
def test_after_a_cancel_request_the_first_outcome_is_final(how: str, kind: EventType) -> None:
    desk = running()
    desk.do(Cancel("wf"))
    report(desk, how)
    assert desk.told()[-1] is kind
    assert desk.activity().attempt == 1


# Undo


def test_an_undone_claim_leaves_the_same_attempt_due_as_before() -> None:
    desk = running()
    report(desk, "fail")
    due = desk.activity().ready_at
    assert due is not None
    desk.now = due + 5
    before, told = desk.activity(), desk.told()
    claim = desk.work()
    desk.later(1)
    desk.do(UndoActivityClaim(claim.no, claim.token))
    row = desk.activity()
    assert (row.status, row.attempt, row.ready_at) == (ActivityStatus.PENDING, 2, due)
    assert (row.started_at, row.claimed_by) == (before.started_at, before.claimed_by)
    assert desk.told() == told


@pytest.mark.parametrize("end", [Cancel("wf"), Terminate("wf")])
def test_an_undone_claim_that_nobody_wants_is_cancelled(end: Cancel | Terminate) -> None:
    desk = running()
    claim_no, token = desk.activity().no, desk.activity().claim_token or 0
    desk.do(end)
    told = desk.told()
    desk.do(UndoActivityClaim(claim_no, token))
    assert (desk.activity().status, desk.activity().completed_at) == (
        ActivityStatus.CANCELLED,
        desk.now,
    )
    assert desk.activity().ready_at is None
    assert desk.told() == told


def test_an_undo_that_comes_too_late_changes_nothing() -> None:
    desk = running()
    claim_no, token = desk.activity().no, desk.activity().claim_token or 0
    report(desk, "fail")
    desk.do(UndoActivityClaim(claim_no, token))
    assert desk.decision.is_empty
    desk.now = desk.activity().ready_at or 0
    desk.work()
    desk.do(UndoActivityClaim(claim_no, token))
    assert desk.decision.is_empty
