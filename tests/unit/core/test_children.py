"""Children: started once, told once, and what a taken id means."""

import pytest

from assay.model.commands import CompleteWorkflow, FailWorkflow
from assay.model.events import EventType
from assay.model.operations import Cancel, DeleteRun, Start, Terminate
from assay.model.states import RunStatus
from tests.unit.core.desk import Desk, child, said


def parent_with_child() -> Desk:
    desk = Desk()
    desk.start()
    desk.step(child())
    return desk


def test_a_child_is_a_pending_run_of_its_parents_namespace() -> None:
    desk = parent_with_child()
    run = desk.at("child")
    assert (run.status, run.namespace, run.type) == (RunStatus.PENDING, "main", "step")
    assert (run.parent_id, run.parent_no, run.child_id) == ("wf", desk.at().no, "child")
    assert (run.search_attributes, run.ready_at) == (None, desk.now)
    assert desk.told("child") == [EventType.WORKFLOW_STARTED]
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        EventType.CHILD_WORKFLOW_STARTED,
        {"child_workflow_id": "child", "workflow_type": "step"},
    )


def test_an_open_child_of_this_parent_is_left_alone() -> None:
    desk = parent_with_child()
    told = desk.told()
    desk.claim()
    desk.submit(child())
    assert desk.told() == told
    assert desk.at().ready_at is None


def test_an_ended_child_is_told_once_however_often_it_is_asked_for() -> None:
    desk = parent_with_child()
    desk.step(CompleteWorkflow("7"), id="child")
    told = desk.told()
    assert told[-1] is EventType.CHILD_WORKFLOW_COMPLETED
    desk.step(child(), child())
    assert desk.told() == told
    assert desk.at().ready_at is not None


def test_another_runs_id_is_a_failure_at_once_and_once() -> None:
    desk = Desk()
    desk.start()
    desk.do(Start("other", "child"))
    desk.step(child(), child())
    desk.step(child())
    assert desk.told() == [EventType.WORKFLOW_STARTED, EventType.CHILD_WORKFLOW_FAILED]
    assert said(desk.events()[-1]) == {
        "child_workflow_id": "child",
        "error": "workflow id child is in use by another run",
    }
    assert desk.at().ready_at is not None


def test_an_id_that_is_free_again_has_had_its_outcome() -> None:
    desk = Desk()
    desk.start()
    desk.do(Start("other", "child"))
    desk.step(child())
    desk.do(Terminate("child"))
    desk.do(DeleteRun("child"))
    told = desk.told()
    desk.step()
    desk.later(1)
    desk.step(child(), child("another"))
    assert desk.run_by_id("child") is None
    assert desk.told() == [*told, EventType.CHILD_WORKFLOW_STARTED]
    assert desk.at().ready_at == desk.now, "the answer has long been there"
    desk.step(CompleteWorkflow("1"), id="another")
    assert desk.told()[-1] is EventType.CHILD_WORKFLOW_COMPLETED


def test_a_run_cannot_be_its_own_child() -> None:
    desk = Desk()
    desk.start()
    desk.step(child("wf"))
    assert desk.told() == [EventType.WORKFLOW_STARTED, EventType.CHILD_WORKFLOW_FAILED]


def test_a_child_may_be_started_and_end_its_parent_in_one_batch() -> None:
    desk = Desk()
    desk.start()
    desk.step(child(), CompleteWorkflow(None))
    assert desk.at("child").status is RunStatus.PENDING
    desk.step(CompleteWorkflow("7"), id="child")
    assert desk.told()[-1] is EventType.WORKFLOW_COMPLETED


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (CompleteWorkflow("7"), [EventType.CHILD_WORKFLOW_COMPLETED]),
        (FailWorkflow("broke"), []),
        (None, []),
    ],
)
def test_a_parent_that_stops_hears_of_success_only(
    ending: CompleteWorkflow | FailWorkflow | None, told: list[EventType]
) -> None:
    desk = parent_with_child()
    desk.claim("child")
    desk.do(Cancel("wf"))
    before = desk.told()
    if ending is None:
        desk.do(Terminate("child"))
    else:
        desk.submit(ending, id="child")
    assert desk.told() == [*before, *told]
