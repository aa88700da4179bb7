"""Activities from outside: as a replay would schedule them, and the same again is no second one."""

import pytest

from assay.errors import Conflict, NonDeterminism, NotFound
from assay.model.events import EventType
from assay.model.operations import AddActivity, Added, Cancel, CompleteActivity, Start, Terminate
from assay.model.states import ActivityStatus, RunStatus
from assay.model.time import MICROS
from tests.unit.core.desk import Desk, activity


def add(desk: Desk, seq: int = 1, name: str = "pay") -> Added:
    outcome = desk.do(AddActivity("wf", activity(seq, name)))
    assert isinstance(outcome, Added)
    return outcome


def test_it_ends_the_wait_for_a_worker_which_the_run_is_still_offered_to() -> None:
    desk = Desk()
    desk.start()
    row = add(desk).activity
    assert (row.status, row.attempt, row.ready_at) == (ActivityStatus.PENDING, 1, desk.now)
    assert (desk.at().status, desk.at().updated_at) == (RunStatus.RUNNING, desk.now)
    assert desk.at().ready_at == desk.now
    assert desk.told() == [EventType.WORKFLOW_STARTED, EventType.ACTIVITY_SCHEDULED]


def test_the_same_again_is_what_is_there_whoever_asked_first() -> None:
    desk = Desk()
    desk.start()
    first = add(desk, 3).activity
    assert add(desk, 3).activity == first
    desk.step(activity(3), activity(4))
    assert add(desk, 4).activity == desk.activity(4)
    desk.work(3)
    desk.do(CompleteActivity(first.no, "1"))
    assert add(desk, 3).activity.status is ActivityStatus.COMPLETED
    assert desk.told().count(EventType.ACTIVITY_SCHEDULED) == 2


def test_another_name_under_a_seq_is_refused_and_blocks_nobody() -> None:
    desk = Desk()
    desk.start()
    add(desk)
    with pytest.raises(NonDeterminism, match="activity 1 of workflow wf is pay, not ship"):
        add(desk, name="ship")
    assert desk.at().blocked is None


def test_what_is_over_or_unknown_takes_none() -> None:
    desk = Desk()
    with pytest.raises(NotFound, match="not found: workflow wf"):
        add(desk)
    desk.start()
    desk.do(Terminate("wf"))
    with pytest.raises(Conflict, match="workflow wf is FAILED"):
        add(desk)
    assert desk.told()[-1] is EventType.WORKFLOW_FAILED


def test_a_delayed_run_keeps_its_delay() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", delay_secs=60))
    row = add(desk).activity
    desk.work()
    desk.do(CompleteActivity(row.no, "1"))
    assert desk.at().ready_at == desk.now + 60 * MICROS
    desk.do(Cancel("wf"))
    assert (desk.at().status, desk.at().ready_at) == (RunStatus.RUNNING, desk.now)


def test_work_added_after_a_cancel_request_is_wanted() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    row = add(desk).activity
    desk.work()
    desk.do(CompleteActivity(row.no, "1"))
    assert desk.activity().status is ActivityStatus.COMPLETED
