"""The operator's retry: what is tried anew, what is void, what comes back, what is told late."""

import pytest

from assay.errors import NotFound
from assay.model.commands import WaitForSignal
from assay.model.events import TERMINAL_EVENTS, EventType
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    Due,
    DueKind,
    FailActivity,
    HeartbeatActivity,
)
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.time import MICROS
from tests.unit.core.desk import activity, said, timer
from tests.unit.core.scenes import (
    begun,
    complete,
    fail,
    give_up,
    once,
    retry,
)


def test_the_failed_activity_starts_anew() -> None:
    desk = begun(once())
    desk.work()
    desk.do(HeartbeatActivity(desk.activity().no, '"half"'))
    desk.do(FailActivity(desk.activity().no, "broke"))
    give_up(desk)
    outcome = retry(desk)
    row = desk.activity()
    assert (row.status, row.attempt) == (ActivityStatus.PENDING, 1)
    assert (row.scheduled_at, row.ready_at) == (desk.now, desk.now)
    assert (row.error, row.claimed_by, row.started_at, row.completed_at) == (None,) * 4
    assert (row.last_heartbeat, row.details, row.outcome_seq) == (None,) * 3
    assert (outcome.activity.no, outcome.invalidated) == (row.no, 0)


def test_the_run_waits_and_is_not_offered() -> None:
    desk = begun(once())
    fail(desk)
    give_up(desk)
    run = retry(desk).run
    assert (run.status, run.updated_at, run.ready_at) == (RunStatus.WAITING, desk.now, None)
    assert (run.error, run.completed_at, run.result_seq) == (None, None, None)
    desk.work()
    desk.do(CompleteActivity(desk.activity().no, "[7]"))
    assert desk.at().ready_at == desk.now
    desk.claim()
    assert (desk.at().status, desk.at().updated_at) == (RunStatus.RUNNING, desk.now)


def test_history_says_who_asked_and_what_was_taken_back() -> None:
    desk = begun(once(1))
    fail(desk)
    failed_seq = desk.at().last_seq
    desk.step(activity(2), activity(3))
    give_up(desk)
    assert retry(desk).invalidated == 2
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        EventType.ACTIVITY_RETRY_REQUESTED,
        {
            "activity_id": desk.activity(1).no,
            "activity_seq": 1,
            "name": "pay",
            "failed_event_seq": failed_seq,
            "requested_by": "ann",
            "reason": "healed",
            "invalidated_activities": 2,
        },
    )
    assert desk.standing() == [
        EventType.WORKFLOW_STARTED,
        EventType.ACTIVITY_RETRY_REQUESTED,
    ]
    assert {event.voided_by for event in desk.events()[1:-1]} == {last.seq}


def test_work_of_higher_seq_is_gone_and_its_seqs_are_free() -> None:
    desk = begun(once(1))
    fail(desk)
    desk.step(activity(2), activity(3, "ship"))
    desk.work(3)
    gone = desk.activity(3).no
    give_up(desk)
    retry(desk)
    assert [row.seq for row in desk.activities.of(desk.at().no)] == [1]
    with pytest.raises(NotFound):
        desk.do(CompleteActivity(gone))
    complete(desk)
    desk.step(activity(2, "another"))
    assert desk.activity(2).name == "another"


def test_the_highest_failed_seq_is_retried_one_at_a_time() -> None:
    desk = begun(once(1), once(2), once(3))
    for seq in (3, 1, 2):
        (complete if seq == 3 else fail)(desk, seq)
    give_up(desk)
    assert retry(desk).activity.seq == 2
    assert not desk.activities.at(desk.at().no, 3)
    assert desk.activity(1).status is ActivityStatus.FAILED
    complete(desk, 2)
    give_up(desk)
    assert retry(desk).activity.seq == 1
    assert not desk.activities.at(desk.at().no, 2)


def test_outcomes_of_lower_seq_stand_those_from_the_retried_one_on_are_void() -> None:
    desk = begun(once(1), once(2), once(3))
    complete(desk, 1)
    fail(desk, 2)
    complete(desk, 3)
    give_up(desk)
    retry(desk)
    kept = [
        said(event)["activity_seq"]
        for event in desk.events()
        if event.voided_by is None and event.type is not EventType.WORKFLOW_STARTED
    ]
    assert kept == [1, 1, 2]
    assert not TERMINAL_EVENTS.intersection(desk.standing())


def test_cancelled_work_of_lower_seq_is_offered_again() -> None:
    desk = begun(once(1), once(2))
    first = desk.activity(1)
    fail(desk, 2)
    give_up(desk)
    assert desk.activity(1).status is ActivityStatus.CANCELLED
    retry(desk)
    row = desk.activity(1)
    assert (row.status, row.ready_at, row.completed_at) == (ActivityStatus.PENDING, desk.now, None)
    assert (row.no, row.attempt, row.scheduled_seq) == (first.no, 1, first.scheduled_seq)


# Timers


def test_timers_silenced_by_the_end_get_the_time_they_had_left() -> None:
    desk = begun(once(1), timer(1, 60), timer(2, 1))
    desk.later(2)
    desk.do(Due(DueKind.TIMER, desk.timer(2).no))
    fail(desk)
    desk.later(8)
    give_up(desk)
    assert desk.timer(1).state is TimerState.SILENCED
    retry(desk)
    row = desk.timer(1)
    assert (row.state, row.fire_at) == (TimerState.OPEN, desk.now + 50 * MICROS)
    assert (row.silenced_at, row.silenced_seq) == (None, None)
    assert desk.timer(2).state is TimerState.FIRED
    assert desk.at().top_timer == 2


def test_a_timer_that_was_due_when_the_run_ended_fires_at_once() -> None:
    desk = begun(once(1), timer(1, 1))
    fail(desk)
    desk.later(5)
    give_up(desk)
    retry(desk)
    assert desk.timer().fire_at == desk.now


def test_timers_scheduled_after_the_failure_are_forgotten() -> None:
    desk = begun(once(1), timer(1, 60))
    fail(desk)
    desk.step(timer(2, 0), timer(3, 60), WaitForSignal("go", 3), WaitForSignal("go", None))
    desk.do(Due(DueKind.TIMER, desk.timer(2).no))
    give_up(desk)
    retry(desk)
    assert [row.seq for row in desk.timers.of(desk.at().no)] == [1]
    assert desk.at().top_timer == 1
    assert desk.standing() == [
        EventType.WORKFLOW_STARTED,
        EventType.TIMER_SCHEDULED,
        EventType.WORKFLOW_AWAITING_SIGNAL,
        EventType.WORKFLOW_AWAITING_SIGNAL,
        EventType.ACTIVITY_RETRY_REQUESTED,
    ]
    complete(desk)
    desk.step(timer(2, 5), timer(3, 5), WaitForSignal("go", 3), WaitForSignal("go", None))
    assert desk.standing()[-4:] == [
        EventType.ACTIVITY_COMPLETED,
        EventType.TIMER_SCHEDULED,
        EventType.TIMER_SCHEDULED,
        EventType.WORKFLOW_AWAITING_SIGNAL,
    ]


def test_timers_silenced_by_a_cancel_request_stay_silent() -> None:
    desk = begun(once(1), timer(1, 60))
    fail(desk)
    desk.do(Cancel("wf"))
    give_up(desk)
    retry(desk)
    assert desk.timer().state is TimerState.SILENCED


def test_a_cancel_request_stands_after_a_retry_so_the_next_one_is_a_repeat() -> None:
    """History still holds it, and no replay raises it twice: a second first one would end cleanup
    that the handler goes on waiting for."""
    desk = begun(once(1))
    desk.do(Cancel("wf"))
    desk.step(once(2))
    fail(desk, 2)
    give_up(desk)
    retry(desk)
    assert desk.standing().count(EventType.WORKFLOW_CANCEL_REQUESTED) == 1
    desk.do(Cancel("wf"))
    assert desk.at().ready_at == desk.now
    assert desk.activity(2).status is ActivityStatus.PENDING
    complete(desk, 2)
    assert desk.told()[-1] is EventType.ACTIVITY_COMPLETED
