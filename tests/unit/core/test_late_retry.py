"""The operator's retry when outcomes came too late, and when it is refused."""

import pytest
from msgspec.structs import replace

from assay.errors import Conflict, NotFound
from assay.model.commands import CompleteWorkflow, FailWorkflow
from assay.model.events import TERMINAL_EVENTS, EventType
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    Heard,
    HeartbeatActivity,
    Retried,
    Retry,
    Signal,
    Terminate,
)
from assay.model.states import ActivityStatus, RunStatus, TimerState
from tests.unit.core.desk import activity, child, said, timer
from tests.unit.core.scenes import (
    RETRY,
    begun,
    complete,
    fail,
    give_up,
    once,
    retry,
)

# What came too late


def test_a_failure_after_the_end_is_the_one_that_is_retried() -> None:
    desk = begun(once(1), timer(1, 60))
    desk.work()
    desk.step(timer(2, 60))
    give_up(desk)
    end = desk.at().last_seq
    desk.do(FailActivity(desk.activity().no, "broke"))
    retry(desk)
    assert said(desk.events()[-1])["failed_event_seq"] == end
    assert [row.state for row in desk.timers.of(desk.at().no)] == [TimerState.OPEN] * 2


def test_late_outcomes_of_lower_seq_are_told_now_in_their_order() -> None:
    desk = begun(once(1), once(2), once(3), once(4), once(5))
    for seq in (1, 2, 3, 4):
        desk.work(seq)
    fail(desk, 5)
    give_up(desk)
    desk.do(CompleteActivity(desk.activity(2).no, "[2]"))
    desk.later(1)
    desk.do(FailActivity(desk.activity(1).no, "late", failure='{"type":"Late"}'))
    desk.later(1)
    desk.do(CompleteActivity(desk.activity(3).no))
    retry(desk)
    told = [(event.type, said(event)) for event in desk.events()[-3:]]
    assert [(kind, payload["activity_seq"]) for kind, payload in told] == [
        (EventType.ACTIVITY_COMPLETED, 2),
        (EventType.ACTIVITY_FAILED, 1),
        (EventType.ACTIVITY_COMPLETED, 3),
    ]
    assert [told[0][1]["result"], told[1][1]["error"], told[2][1]["result"]] == [[2], "late", None]
    assert told[1][1]["failure"] == {"type": "Late"}
    assert desk.activity(1).late_outcome is None
    assert desk.activity(4).status is ActivityStatus.RUNNING
    assert desk.activity(2).late_outcome is None
    assert desk.activity(2).outcome_seq == desk.at().last_seq - 2
    assert desk.at().ready_at == desk.now


def test_children_that_ended_meanwhile_are_told_now_and_once() -> None:
    desk = begun(once(1), child("before"), child("a"), child("b"), child("open"))
    desk.step(CompleteWorkflow("0"), id="before")
    fail(desk)
    give_up(desk)
    desk.step(FailWorkflow("broke"), id="b")
    desk.later(1)
    desk.step(CompleteWorkflow("[7]"), id="a")
    retry(desk)
    assert [(event.type, said(event)) for event in desk.events()[-2:]] == [
        (EventType.CHILD_WORKFLOW_FAILED, {"child_workflow_id": "b", "error": "broke"}),
        (EventType.CHILD_WORKFLOW_COMPLETED, {"child_workflow_id": "a", "result": [7]}),
    ]
    assert desk.at().ready_at == desk.now
    desk.step(CompleteWorkflow("1"), id="open")
    assert said(desk.events()[-1])["child_workflow_id"] == "open"


def test_a_second_retry_voids_the_first_with_what_it_brought() -> None:
    desk = begun(once(1))
    fail(desk)
    give_up(desk)
    retry(desk)
    fail(desk)
    give_up(desk)
    retry(desk)
    assert desk.standing() == [EventType.WORKFLOW_STARTED, EventType.ACTIVITY_RETRY_REQUESTED]
    complete(desk)
    desk.step(CompleteWorkflow(None))
    assert desk.at().status is RunStatus.COMPLETED
    assert len(TERMINAL_EVENTS.intersection(desk.standing())) == 1


# Refusals


def test_only_failed_runs_with_a_failed_activity_are_retried() -> None:
    desk = begun(once(1))
    with pytest.raises(NotFound, match="not found: workflow nobody"):
        desk.do(Retry("nobody", "ann", "why"))
    with pytest.raises(Conflict, match="is RUNNING, only FAILED runs"):
        retry(desk)
    desk.do(Terminate("wf"))
    with pytest.raises(Conflict, match="has no failed activity"):
        retry(desk)
    assert desk.decision.is_empty


def test_a_child_is_not_retried() -> None:
    desk = begun(child())
    desk.step(once(1), id="child")
    desk.claim("child")
    no = desk.activity(1, "child").no
    desk.work(1, "child")
    desk.do(FailActivity(no, "broke"))
    desk.submit(FailWorkflow("broke"), id="child")
    with pytest.raises(Conflict, match="is a child"):
        desk.do(Retry("child", "ann", "why"))


def test_of_two_requests_one_succeeds() -> None:
    desk = begun(once(1))
    fail(desk)
    give_up(desk)
    first, second = desk.ask(RETRY, RETRY)
    assert isinstance(first, Retried)
    assert isinstance(second, Conflict)


def test_a_retried_run_takes_signals_and_can_be_cancelled_gracefully() -> None:
    desk = begun(once(1))
    fail(desk)
    give_up(desk)
    retry(desk)
    desk.do(Signal("wf", "go"))
    assert desk.at().ready_at == desk.now
    desk.do(Cancel("wf"))
    assert desk.at().status is RunStatus.WAITING
    assert desk.activity().status is ActivityStatus.CANCELLED


def test_a_retry_beside_another_change_of_its_run_is_to_be_asked_for_again() -> None:
    """It reads the whole run from the store, which that change has not reached yet."""
    desk = begun(once(1))
    fail(desk)
    outcomes = desk.ask(Terminate("wf"), RETRY)
    assert isinstance(outcomes[1], Conflict)
    assert isinstance(desk.ask(RETRY)[0], Retried)


def test_an_archived_run_is_not_retried() -> None:
    desk = begun(once(1))
    fail(desk)
    give_up(desk)
    run = desk.at()
    desk.runs[run.no] = replace(run, archived_at=desk.now)
    with pytest.raises(Conflict, match="is archived"):
        retry(desk)


def test_what_an_operator_asks_for_is_wanted_whatever_was_cancelled_before() -> None:
    desk = begun(activity())
    desk.work()
    desk.do(Cancel("wf"))
    desk.do(FailActivity(desk.activity().no, "broke"))
    give_up(desk)
    retry(desk)
    desk.work()
    assert desk.do(HeartbeatActivity(desk.activity().no)) == Heard(cancel_requested=False, by="w1")
