"""How attempts end: results, delays to the microsecond, final failures, fences, late outcomes."""

import pytest

from assay.core.claim import is_activity_claimable
from assay.model.events import EventType
from assay.model.operations import (
    Cancel,
    Due,
    DueKind,
    FailActivity,
    Heard,
    HeartbeatActivity,
    Terminate,
    UndoActivityClaim,
)
from assay.model.retry import RetryPolicy
from assay.model.states import ActivityStatus
from assay.model.time import MICROS
from tests.unit.core.desk import NOW, Desk, activity, said
from tests.unit.core.scenes import (
    report,
    running,
)


def test_a_claim_starts_the_attempt() -> None:
    desk = running(RetryPolicy(start_to_close_secs=9))
    row = desk.activity()
    assert (row.status, row.started_at, row.claimed_by) == (ActivityStatus.RUNNING, NOW, "w1")
    assert (row.claim_until, row.ready_at, row.attempt) == (NOW + 9 * MICROS, None, 1)


def test_a_result_enters_history_and_the_run_has_news() -> None:
    desk = running()
    desk.later(3)
    report(desk, "complete")
    row, event = desk.activity(), desk.events()[-1]
    assert (row.status, row.completed_at, row.outcome_seq) == (
        ActivityStatus.COMPLETED,
        desk.now,
        event.seq,
    )
    assert (row.claim_token, row.claim_until, row.claimed_by) == (None, None, "w1")
    assert event.type is EventType.ACTIVITY_COMPLETED
    assert said(event) == {
        "activity_id": row.no,
        "activity_seq": 1,
        "name": "pay",
        "result": [7],
        "error": None,
    }
    assert desk.at().ready_at == desk.now


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (RetryPolicy(4, 1.0, 2.0), [1, 2, 4]),
        (RetryPolicy(5, 0.25, 3.0), [0.25, 0.75, 2.25, 6.75]),
        (RetryPolicy(4, 5.0, 1.0), [5, 5, 5]),
        (RetryPolicy(3, 8.0, 0.5), [8, 4]),
        (RetryPolicy(3, 0.0, 2.0), [0, 0]),
        (RetryPolicy(3, 1e9, 100.0), [1e9, 1e10]),
        (RetryPolicy(1, 1.0, 2.0), []),
    ],
)
def test_failed_attempts_follow_after_exact_delays_until_none_is_left(
    policy: RetryPolicy, delays: list[float]
) -> None:
    desk = running(policy)
    for attempt, delay in enumerate(delays, 2):
        desk.later(1)
        report(desk, "fail")
        row = desk.activity()
        due = desk.now + round(delay * MICROS)
        assert (row.status, row.attempt) == (ActivityStatus.PENDING, attempt)
        assert (row.scheduled_at, row.ready_at) == (due, due)
        assert (row.claimed_by, row.started_at, row.last_heartbeat, row.error) == (None,) * 4
        assert is_activity_claimable(row, due)
        assert not is_activity_claimable(row, due - 1)
        assert desk.told()[-1] is EventType.ACTIVITY_SCHEDULED
        assert desk.at().ready_at is None
        desk.now = due
        desk.work()
    report(desk, "fail")
    assert_failed(desk, "broke", policy.max_attempts)


def assert_failed(desk: Desk, error: str, attempt: int) -> None:
    row, event = desk.activity(), desk.events()[-1]
    assert (row.status, row.error, row.completed_at) == (ActivityStatus.FAILED, error, desk.now)
    assert (event.type, said(event)) == (
        EventType.ACTIVITY_FAILED,
        {
            "activity_id": row.no,
            "activity_seq": 1,
            "name": "pay",
            "error": error,
            "final_attempt": attempt,
        },
    )
    assert desk.at().ready_at == desk.now


@pytest.mark.parametrize(
    ("heartbeat", "beats", "expires", "error"),
    [
        (None, (), 20, "start_to_close timeout"),
        (5.0, (), 5, "heartbeat timeout"),
        (5.0, (4, 8), 13, "heartbeat timeout"),
        (5.0, (4, 8, 12, 16, 19), 20, "start_to_close timeout"),
        (20.0, (), 20, "start_to_close timeout"),
    ],
)
def test_silence_ends_an_attempt(
    heartbeat: float | None, beats: tuple[int, ...], expires: int, error: str
) -> None:
    policy = RetryPolicy(1, start_to_close_secs=20, heartbeat_timeout_secs=heartbeat)
    desk = running(policy)
    no = desk.activity().no
    for beat in beats:
        desk.now = NOW + beat * MICROS
        desk.do(HeartbeatActivity(no))
    assert desk.activity().claim_until == NOW + expires * MICROS
    desk.now = NOW + expires * MICROS - 1
    desk.do(Due(DueKind.ACTIVITY, no))
    assert desk.decision.is_empty
    desk.now += 1
    desk.do(Due(DueKind.ACTIVITY, no))
    assert_failed(desk, error, 1)


def test_details_of_any_attempt_are_kept_for_the_next() -> None:
    desk = running()
    no = desk.activity().no
    assert desk.do(HeartbeatActivity(no, '{"at":1}')) == Heard(cancel_requested=False, by="w1")
    desk.do(HeartbeatActivity(no))
    report(desk, "fail")
    row = desk.activity()
    assert (row.details, row.last_heartbeat) == ('{"at":1}', None)


@pytest.mark.parametrize("end", [Cancel("wf"), Terminate("wf")])
def test_a_heartbeat_learns_that_nobody_wants_the_work(end: Cancel | Terminate) -> None:
    desk = running()
    desk.do(end)
    beat = desk.do(HeartbeatActivity(desk.activity().no))
    assert beat == Heard(cancel_requested=True, by="w1")


def test_work_scheduled_after_the_cancel_request_is_wanted() -> None:
    desk = Desk()
    desk.start()
    desk.step()
    desk.do(Cancel("wf"))
    desk.step(activity(1))
    desk.work()
    assert desk.do(HeartbeatActivity(desk.activity().no)) == Heard(cancel_requested=False, by="w1")
    report(desk, "fail")
    assert desk.activity().status is ActivityStatus.PENDING


def test_a_repeated_cancel_request_is_told_to_cleanup_and_ends_none_of_it() -> None:
    desk = running(RetryPolicy(3))
    desk.do(Cancel("wf"))
    desk.step(activity(2))
    desk.work(2)
    no = desk.activity(2).no
    assert desk.do(HeartbeatActivity(no)) == Heard(cancel_requested=False, by="w1")
    desk.do(Cancel("wf"))
    assert desk.do(HeartbeatActivity(no)) == Heard(cancel_requested=True, by="w1")
    desk.do(FailActivity(no, "broke"))
    assert (desk.activity(2).status, desk.activity(2).attempt) == (ActivityStatus.PENDING, 2)
    claim = desk.work(2)
    desk.do(UndoActivityClaim(no, claim.token))
    assert desk.activity(2).status is ActivityStatus.PENDING
