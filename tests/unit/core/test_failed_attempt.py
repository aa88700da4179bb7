"""Attempts that fail: what is kept of each, when the next one comes, and after which none does."""

import pytest

from assay.core.backoff import lot_of
from assay.errors import Conflict
from assay.model.attempt import Attempt
from assay.model.events import EventType
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    Due,
    DueKind,
    FailActivity,
    Fence,
    Heard,
    HeartbeatActivity,
    Terminate,
)
from assay.model.retry import RetryPolicy
from assay.model.states import ActivityStatus
from assay.model.time import MICROS
from tests.unit.core.desk import NOW, Desk, activity, said
from tests.unit.core.scenes import begun, complete, fail, give_up, once, retry, running

DECLINED = '{"type":"Declined","message":"no","traceback":"at …","cause":{"type":"Empty"}}'
PATIENT = RetryPolicy(100, 1.0, 2.0)


def report(desk: Desk, error: str = "broke", **more: object) -> None:
    desk.do(FailActivity(desk.activity().no, error, **more))  # type: ignore[arg-type] # any of its fields


def delay(desk: Desk) -> float:
    """How long the next attempt is put off."""
    row = desk.activity()
    assert (row.status, row.ready_at) == (ActivityStatus.PENDING, row.scheduled_at)
    return (row.scheduled_at - desk.now) / MICROS


def again(desk: Desk, worker: str = "w1") -> None:
    """The next attempt begins."""
    desk.now = desk.activity().scheduled_at
    desk.work(worker=worker)


# When the next one comes


def test_the_longest_interval_ends_the_growth() -> None:
    desk = running(RetryPolicy(9, 1.0, 2.0, max_interval_secs=5.0))
    delays = []
    for _ in range(5):
        report(desk)
        delays.append(delay(desk))
        again(desk)
    assert delays == [1, 2, 4, 5, 5]


def test_jitter_takes_its_own_share_of_each_delay() -> None:
    desk = running(RetryPolicy(9, 8.0, 1.0, jitter=0.5))
    no, delays = desk.activity().no, []
    for attempt in range(1, 6):
        report(desk)
        delays.append(delay(desk))
        assert delays[-1] == pytest.approx(8 * (1 - 0.5 * lot_of(no, attempt)), abs=1e-6)
        again(desk)
    assert len(set(delays)) == 5
    assert all(4 <= each <= 8 for each in delays)


@pytest.mark.parametrize("secs", [0, 0.25, 3600, 1e10])
def test_an_error_may_say_when_the_next_attempt_comes(secs: float) -> None:
    desk = running(RetryPolicy(9, 1.0, 2.0, max_interval_secs=2.0, jitter=1.0))
    report(desk, retry_after_secs=secs)
    assert delay(desk) == secs
    again(desk)
    report(desk)
    assert delay(desk) <= 2  # it was said of one attempt


def test_the_last_attempt_has_no_next_one_whatever_its_error_says() -> None:
    desk = running(RetryPolicy(1))
    report(desk, retry_after_secs=5.0)
    assert desk.activity().status is ActivityStatus.FAILED


# After which none comes


def test_an_error_that_is_not_to_be_retried_is_final() -> None:
    desk = running(PATIENT)
    report(desk, retryable=False, retry_after_secs=5.0)
    assert_final(desk, {})


@pytest.mark.parametrize(
    ("failure", "final"),
    [
        (DECLINED, True),
        ('{"message":"x","type":"De\\u0063lined"}', True),
        ('{"type":"Declined!"}', False),
        ('{"type":"declined"}', False),
        ('{"type":null}', False),
        ('{"type":["Declined"]}', False),
        ('{"cause":{"type":"Declined"}}', False),
        ("{}", False),
        (None, False),
    ],
)
def test_failures_of_a_named_type_are_final(failure: str | None, final: bool) -> None:
    desk = running(RetryPolicy(100, non_retryable='["Fatal","Declined"]'))
    report(desk, "Declined", failure=failure)
    assert (desk.activity().status is ActivityStatus.FAILED) == final


def test_a_timeout_has_no_type() -> None:
    desk = running(
        RetryPolicy(9, start_to_close_secs=5, non_retryable='["start_to_close timeout"]')
    )
    desk.later(5)
    desk.do(Due(DueKind.ACTIVITY, desk.activity().no))
    assert desk.activity().attempt == 2


def assert_final(desk: Desk, more: dict[str, object]) -> None:
    row, event = desk.activity(), desk.events()[-1]
    assert (row.status, row.error) == (ActivityStatus.FAILED, "broke")
    assert event.type is EventType.ACTIVITY_FAILED
    assert said(event) == {
        "activity_id": row.no,
        "activity_seq": 1,
        "name": "pay",
        "error": "broke",
        "final_attempt": 1,
        **more,
    }


def test_history_shows_what_more_there_is_to_say_of_the_final_failure() -> None:
    desk = running(RetryPolicy(1))
    report(desk, failure=DECLINED)
    cause = {"type": "Empty"}
    failure = {"type": "Declined", "message": "no", "traceback": "at …", "cause": cause}
    assert_final(desk, {"failure": failure})


# What is kept


def test_every_failed_attempt_is_kept_as_it_was() -> None:
    desk = running(RetryPolicy(4, 2.0, 1.0, start_to_close_secs=60))
    no, run_no = desk.activity().no, desk.at().no
    report(desk, "down", failure=DECLINED)
    again(desk, "w2")
    desk.later(60)
    desk.do(Due(DueKind.ACTIVITY, no))
    again(desk, "w3")
    desk.later(1)
    report(desk, "")
    again(desk)
    desk.do(CompleteActivity(no))
    first, second, third = NOW, NOW + 2 * MICROS, NOW + 64 * MICROS
    assert desk.failed_attempts() == [
        Attempt(run_no, no, 1, "w1", first, first, "down", DECLINED),
        Attempt(run_no, no, 2, "w2", second, second + 60 * MICROS, "start_to_close timeout"),
        Attempt(run_no, no, 3, "w3", third, third + MICROS, ""),
    ]


def test_the_final_attempt_is_kept_too_also_after_the_end_of_the_run() -> None:
    desk = begun(once(1), activity(2))
    fail(desk)
    desk.work(2)
    desk.do(Terminate("wf"))
    desk.do(FailActivity(desk.activity(2).no, "late", failure=DECLINED))
    assert [each.error for each in desk.failed_attempts(1)] == ["broke"]
    assert [each.error for each in desk.failed_attempts(2)] == ["late"]
    assert desk.activity(2).late_outcome == DECLINED


def test_the_first_failure_after_a_cancel_request_is_kept_and_final() -> None:
    desk = running(PATIENT)
    desk.do(Cancel("wf"))
    report(desk, failure='{"a":1}')
    assert_final(desk, {"failure": {"a": 1}})
    assert [each.failure for each in desk.failed_attempts()] == ['{"a":1}']


def test_a_report_that_is_refused_leaves_no_attempt() -> None:
    desk = running()
    with pytest.raises(Conflict):
        desk.do(FailActivity(desk.activity().no, "x", Fence("w2")))
    assert not desk.attempts


def test_an_operators_retry_forgets_the_attempts_of_what_starts_anew_or_goes() -> None:
    twice = RetryPolicy(2, 0.0)
    desk = begun(*(activity(seq, policy=twice) for seq in (1, 2, 3)))
    for seq in (1, 2, 3):
        fail(desk, seq)
    fail(desk, 2)
    complete(desk, 3)
    give_up(desk)
    gone = desk.activity(3).no
    retry(desk)
    assert {no for no, _ in desk.attempts} == {desk.activity(1).no}
    assert gone not in {no for no, _ in desk.attempts}
    desk.work(2)
    desk.do(FailActivity(desk.activity(2).no, "again"))
    assert [each.error for each in desk.failed_attempts(2)] == ["again"]
    # What was cancelled goes on with the attempts it has had.
    assert (desk.activity(1).attempt, len(desk.failed_attempts(1))) == (2, 1)


# What goes on


@pytest.mark.parametrize("how", ["report", "silence"])
def test_the_next_attempt_goes_on_from_the_details_of_any_before_it(how: str) -> None:
    desk = running(RetryPolicy(9, 1.0, heartbeat_timeout_secs=5))
    no = desk.activity().no
    desk.do(HeartbeatActivity(no, '{"done":3}'))
    for _ in range(2):  # the second attempt says nothing of its own
        if how == "report":
            report(desk, failure=DECLINED, retry_after_secs=1.0)
        else:
            desk.later(5)
            desk.do(Due(DueKind.ACTIVITY, no))
        again(desk)
        assert desk.activity().details == '{"done":3}'
    assert desk.do(HeartbeatActivity(no, '{"done":4}')) == Heard(cancel_requested=False, by="w1")
    assert desk.activity().details == '{"done":4}'
