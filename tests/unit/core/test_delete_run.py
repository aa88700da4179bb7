"""A run that has ended goes for good; links to it lead nowhere, and its id is free."""

import pytest

from assay.errors import Conflict, NotFound
from assay.model.commands import (
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    RecordSnapshot,
    UpsertSearchAttributes,
)
from assay.model.events import CHILD_OUTCOMES, EventType
from assay.model.note import Kind
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    DeleteRun,
    FailActivity,
    Signal,
    Start,
    Started,
    Terminate,
)
from assay.model.states import RunStatus
from tests.unit.core.desk import Desk, activity, child, said, timer

DELETE = DeleteRun("wf")


def ended() -> Desk:
    """A run that has ended, with something of every kind."""
    desk = Desk()
    desk.do(Start("order", "wf", search_attributes='{"a":1}'))
    desk.step(
        activity(1),
        activity(2),
        timer(),
        child(),
        UpsertSearchAttributes('{"b":2}', 1),
        RecordSnapshot("{}"),
    )
    desk.work(2)
    desk.do(FailActivity(desk.activity(2).no, "not yet"))
    desk.later(1)
    desk.work(2)
    desk.do(Signal("wf", "go", None, "request-1"))
    desk.step(CompleteWorkflow("[7]"))
    return desk


def test_all_that_belongs_to_it_goes() -> None:
    desk = ended()
    no = desk.at().no
    desk.do(DELETE)
    assert desk.run_by_id("wf") is None
    assert no not in desk.history
    assert not desk.snapshots
    assert not desk.attempts
    assert not [row for row in desk.activities.rows.values() if row.run_no == no]
    assert not [row for row in desk.timers.rows.values() if row.run_no == no]
    assert not [each for each in desk.attributes if each.run_no == no]
    assert desk.decision.purged == (no,)
    assert [frame.kind for frame in desk.decision.frames] == [Kind.WORKFLOW_DELETED]
    assert {place: n for place, n in desk.counts.items() if n} == {("main", RunStatus.PENDING): 1}


def test_work_that_was_running_is_gone_under_its_guard() -> None:
    desk = ended()
    running = desk.activity(2)
    desk.do(DELETE)
    assert [change.before for change in desk.decision.activities] == [running]
    with pytest.raises(NotFound, match=f"activity {running.no} not found"):
        desk.do(CompleteActivity(running.no))


def test_what_is_open_or_unknown_stays() -> None:
    desk = Desk()
    with pytest.raises(NotFound, match="not found: workflow wf"):
        desk.do(DELETE)
    desk.start()
    for status in ("PENDING", "RUNNING"):
        with pytest.raises(Conflict, match=f"workflow wf is {status}"):
            desk.do(DELETE)
        desk.claim()
    desk.do(Terminate("wf"))
    desk.do(DELETE)
    with pytest.raises(NotFound):
        desk.do(DELETE)


def test_its_id_is_free_and_nothing_of_it_is_inherited() -> None:
    desk = ended()
    old = desk.at().no
    outcomes = desk.ask(DELETE, Start("other", "wf"))
    assert isinstance(outcomes[1], Started)
    run = desk.at()
    assert (run.type, run.last_seq, run.status) == ("other", 1, RunStatus.PENDING)
    assert run.no != old
    desk.do(Signal("wf", "go", None, "request-1"))
    assert desk.told() == [EventType.WORKFLOW_STARTED, EventType.SIGNAL_RECEIVED]
    desk.step(CompleteWorkflow("1"), id="child")
    assert len(desk.told()) == 2
    desk.do(Cancel("wf"))
    assert desk.at("child").cancel_seq is None


def test_a_child_without_its_parent_goes_on() -> None:
    desk = ended()
    desk.do(DELETE)
    desk.step(CompleteWorkflow("1"), id="child")
    assert desk.at("child").status is RunStatus.COMPLETED


def test_a_deleted_child_that_was_told_stays_told() -> None:
    desk = Desk()
    desk.start()
    desk.step(child())
    desk.step(CompleteWorkflow("[1]"), id="child")
    told = desk.told()
    desk.do(DeleteRun("child"))
    assert desk.told() == told


def test_a_chain_with_a_deleted_link_has_no_end() -> None:
    desk = Desk()
    desk.start()
    desk.step(child())
    for secs in (1, 2):
        desk.later(secs)
        desk.step(ContinueAsNew(None, ()), id=desk.all()[-1].id)
    middle, last = desk.all()[-2:]
    desk.do(DeleteRun(middle.id))
    assert desk.draft().last_link(desk.at("child")) is None
    desk.claim()
    desk.submit(child())
    failure = desk.events()[-1]
    assert (failure.type, said(failure)) == (
        EventType.CHILD_WORKFLOW_FAILED,
        {"child_workflow_id": "child", "error": "the run it continued as was deleted"},
    )
    told = desk.told()
    desk.step(CompleteWorkflow("[1]"), id=last.id)
    assert desk.told() == told


def test_a_failed_run_that_was_deleted_cannot_be_found_in_the_same_batch() -> None:
    desk = Desk()
    desk.start()
    desk.step(FailWorkflow("no"))
    outcomes = desk.ask(DELETE, DELETE, Signal("wf", "go"), Cancel("wf"))
    assert [isinstance(outcome, NotFound) for outcome in outcomes] == [False, True, True, True]


def test_what_the_same_batch_ended_has_to_wait() -> None:
    desk = Desk()
    desk.start()
    outcomes = desk.ask(Terminate("wf"), DELETE)
    assert isinstance(outcomes[1], Conflict)
    assert desk.at().status is RunStatus.FAILED
    desk.do(DELETE)


def test_a_cancel_request_on_its_way_down_comes_first() -> None:
    desk = Desk()
    desk.children_at_once = 1
    desk.start()
    desk.step(child("a"), child("b"))
    desk.do(Cancel("wf"))
    assert desk.at().cascade is not None
    desk.do(Terminate("wf"))
    with pytest.raises(Conflict, match="on its way down"):
        desk.do(DELETE)
    assert desk.at().status is RunStatus.FAILED


def test_a_parent_is_told_of_one_end_of_a_child_whose_id_was_free_again() -> None:
    desk = Desk()
    desk.start("parent")
    desk.step(child("kid"), id="parent")
    desk.step(ContinueAsNew(None, ()), id="kid")
    desk.do(DeleteRun("kid"))
    desk.do(Signal("parent", "go"))
    desk.step(child("kid"), id="parent")
    assert desk.at("parent").lost_children == 1
    first = next(run for run in desk.all() if run.child_id == "kid" and run.id != "kid")
    for id in (first.id, "kid"):
        desk.step(CompleteWorkflow(f'"{id}"'), id=id)
    [told] = [each for each in desk.events("parent") if each.type in CHILD_OUTCOMES]
    assert said(told) == {"child_workflow_id": "kid", "result": first.id}


def test_a_child_that_is_deleted_while_its_parent_replays_is_told_once() -> None:
    desk = Desk()
    desk.start("parent")
    desk.step(child("kid"), id="parent")
    desk.do(Signal("parent", "go"))
    desk.claim("parent")
    desk.step(CompleteWorkflow("1"), id="kid")
    desk.do(DeleteRun("kid"))
    desk.submit(child("kid"), id="parent")
    assert desk.run_by_id("kid") is None, "nobody would hear of it"
    assert desk.at("parent").ready_at == desk.now
    [told] = [each for each in desk.events("parent") if each.type in CHILD_OUTCOMES]
    assert said(told)["result"] == 1
