"""A run goes on as a new one: what the successor has, its id, and what becomes of the source."""

import pytest

from assay.core.continue_run import derived_id
from assay.errors import BadValue, Conflict, NotFound
from assay.model.commands import (
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    UpsertSearchAttributes,
)
from assay.model.events import EventType
from assay.model.operations import (
    Cancel,
    Continued,
    ContinueRun,
    Due,
    DueKind,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
)
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.time import MICROS
from tests.unit.core.desk import NOW, Desk, activity, child, said, timer

SECS = NOW // MICROS
CONTINUE = ContinueAsNew("[2]", ())


def go_on(desk: Desk, id: str = "wf", new_id: str | None = None) -> Run:
    outcome = desk.do(ContinueRun(id, "[2]", new_id))
    assert isinstance(outcome, Continued)
    return outcome.run


def newest(desk: Desk) -> Run:
    return desk.all()[-1]


def signals(desk: Desk, id: str) -> list[object]:
    kind = EventType.SIGNAL_RECEIVED
    return [said(event)["payload"] for event in desk.events(id) if event.type is kind]


# The successor


@pytest.mark.parametrize("by_handler", [True, False])
def test_the_successor_is_like_its_source_with_a_fresh_history(by_handler: bool) -> None:
    desk = Desk()
    desk.do(
        Start("order", "wf", queue="q", search_attributes='{"a":1}', timeout_secs=60, delay_secs=5)
    )
    desk.later(9)
    desk.step(UpsertSearchAttributes('{"b":2}', 1))
    if by_handler:
        desk.step(CONTINUE)
    else:
        go_on(desk)
    source, run = desk.at(), newest(desk)
    assert (run.type, run.namespace, run.queue) == ("order", "main", "q")
    assert (run.search_attributes, run.timeout_secs) == (source.search_attributes, 60)
    assert (run.start_at, run.timeout_at) == (desk.now, desk.now + 60 * MICROS)
    assert (run.status, run.ready_at, run.last_seq) == (RunStatus.PENDING, desk.now, 1)
    assert run.run_id == f"run-{run.id}-{desk.now // MICROS}"
    assert desk.events(run.id)[0].payload == "[2]"
    assert {each.key for each in desk.attributes if each.run_no == run.no} >= {"a", "b"}


@pytest.mark.parametrize("by_handler", [True, False])
def test_an_open_source_is_completed_without_a_result(by_handler: bool) -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(), timer())
    desk.do(Signal("wf", "go"))
    desk.claim()
    if by_handler:
        desk.submit(CONTINUE)
    else:
        go_on(desk)
    run, last = desk.at(), desk.events()[-1]
    assert (run.status, run.result_seq, run.error) == (RunStatus.COMPLETED, None, None)
    assert (last.type, said(last)) == (
        EventType.WORKFLOW_CONTINUED_AS_NEW,
        {"new_workflow_id": newest(desk).id},
    )
    assert (run.claim_token, run.ready_at, run.completed_at) == (None, None, desk.now)
    assert desk.activity().status is ActivityStatus.CANCELLED
    assert desk.timer().state is TimerState.SILENCED
    assert run.successor_no == newest(desk).no


@pytest.mark.parametrize("end", [CompleteWorkflow("[7]"), FailWorkflow("no"), None])
def test_an_ended_source_keeps_its_end(end: CompleteWorkflow | FailWorkflow | None) -> None:
    desk = Desk()
    desk.start()
    if end is None:
        desk.do(Cancel("wf"))
    else:
        desk.step(end)
    before, told = desk.at(), desk.told()
    run = go_on(desk)
    after = desk.at()
    assert after.ver == before.ver + 1  # so that its end is guarded
    assert (after.status, after.result_seq, after.error) == (
        before.status,
        before.result_seq,
        before.error,
    )
    assert (after.completed_at, after.successor_no) == (before.completed_at, None)
    assert desk.told() == told
    assert (run.status, run.ready_at) == (RunStatus.PENDING, desk.now)


def test_what_is_unknown_cannot_go_on() -> None:
    with pytest.raises(NotFound, match="not found: workflow wf"):
        go_on(Desk())


def test_a_successor_may_go_on_in_its_turn_and_the_chain_has_an_end() -> None:
    desk = Desk()
    desk.start()
    for _ in range(4):
        desk.later(1)
        desk.step(CONTINUE, id=newest(desk).id)
    desk.later(1)
    desk.step(CompleteWorkflow(None), id=newest(desk).id)
    last = desk.draft().last_link(desk.at())
    assert last is not None
    assert (last.no, last.status) == (newest(desk).no, RunStatus.COMPLETED)
    assert len(desk.all()) == 5


# Ids


@pytest.mark.parametrize(
    ("id", "base"),
    [
        ("x", "x"),
        ("x-continued-1", "x"),
        ("x-continued-1-2", "x"),
        ("x-continued-1-continued-2", "x-continued-1"),
        ("x-continued-1-2-3", "x-continued-1-2-3"),
        ("x-continued-", "x-continued-"),
        ("x-continued-1x", "x-continued-1x"),
        ("x-continued-1\n", "x-continued-1\n"),
        ("x-continued-٣", "x-continued-٣"),
        ("-continued-1", ""),
        ("continued-1", "continued-1"),
    ],
)
def test_a_derived_id_replaces_one_suffix(id: str, base: str) -> None:
    desk = Desk()
    desk.start(id)
    assert derived_id(desk.draft(), desk.at(id)) == f"{base}-continued-{SECS}"


def test_a_taken_derived_id_gets_a_number() -> None:
    desk = Desk()
    desk.start()
    desk.do(Terminate("wf"))
    ids = [go_on(desk).id for _ in range(12)]
    base = f"wf-continued-{SECS}"
    assert ids == [base, *(f"{base}-{n}" for n in range(2, 13))]
    assert go_on(desk, f"{base}-7").id == f"{base}-13"


def test_ids_derived_in_one_batch_differ() -> None:
    desk = Desk()
    desk.start()
    desk.do(Terminate("wf"))
    outcomes = desk.ask(*[ContinueRun("wf")] * 3, Start("other", f"wf-continued-{SECS}-4"))
    assert not any(isinstance(outcome, Exception) for outcome in outcomes)
    assert len({run.id for run in desk.all()}) == 5


def test_an_explicit_id_is_taken_as_it_is() -> None:
    desk = Desk()
    desk.start()
    assert go_on(desk, new_id=" ä/b-continued-1 ").id == " ä/b-continued-1 "


@pytest.mark.parametrize("taken", ["wf", "other"])
def test_an_explicit_id_in_use_is_refused_and_nothing_happens(taken: str) -> None:
    desk = Desk()
    desk.start()
    desk.start("other")
    with pytest.raises(Conflict, match=taken):
        go_on(desk, new_id=taken)
    assert desk.decision.is_empty
    assert desk.at().status is RunStatus.PENDING


# Signals that go along


def signalled(desk: Desk, *payloads: int) -> list[int]:
    """Send signals; under which seqs they stand."""
    for number in payloads:
        desk.do(Signal("wf", "go", str(number)))
    return [event.seq for event in desk.events() if event.type is EventType.SIGNAL_RECEIVED]


def test_signals_since_the_claim_go_along() -> None:
    desk = Desk()
    desk.start()
    signalled(desk, 1, 2)
    desk.claim()
    signalled(desk, 3, 4)
    desk.submit(CONTINUE)
    assert signals(desk, newest(desk).id) == [3, 4]
    assert newest(desk).ready_at is not None
    assert desk.told()[-1] is EventType.WORKFLOW_CONTINUED_AS_NEW


def test_named_signals_go_along_too_each_once_in_the_order_of_their_arrival() -> None:
    desk = Desk()
    desk.start()
    seqs = signalled(desk, 1, 2, 3)
    desk.claim()
    seqs = signalled(desk, 4)
    desk.submit(ContinueAsNew(None, (seqs[2], seqs[0], seqs[3], seqs[0])))
    assert signals(desk, newest(desk).id) == [1, 3, 4]


def test_named_signals_go_along_when_nothing_came_since() -> None:
    desk = Desk()
    desk.start()
    seqs = signalled(desk, 1, 2)
    desk.claim()
    desk.submit(ContinueAsNew(None, (seqs[1],)))
    run = newest(desk)
    assert signals(desk, run.id) == [2]
    assert run.last_seq == 2
    desk.do(Signal(run.id, "go"))
    assert [event.seq for event in desk.events(run.id)] == [1, 2, 3]


@pytest.mark.parametrize("seq", [1, 2, 99])
def test_what_is_no_signal_cannot_be_carried(seq: int) -> None:
    desk = Desk()
    desk.start()
    desk.step(timer())
    desk.claim()
    with pytest.raises(BadValue, match=f"command 1: carry names event {seq}"):
        desk.submit(activity(), ContinueAsNew(None, (seq,)))
    assert (desk.at().status, len(desk.all())) == (RunStatus.RUNNING, 1)
    assert (desk.at().blocked or "").startswith("command 1: carry")
    assert desk.at().claim_token is not None
    assert not desk.activities.rows


def test_a_refusal_names_the_place_in_what_was_sent() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    bad = ContinueAsNew(None, (99,))
    with pytest.raises(BadValue, match=r"^command 4: carry"):
        desk.do(SubmitCommands("wf", "w1", (activity(), bad), places=(1, 4)))
    assert (desk.at().blocked or "").startswith("command 4: carry")


def test_an_operators_successor_gets_no_signals() -> None:
    desk = Desk()
    desk.start()
    signalled(desk, 1)
    assert signals(desk, go_on(desk).id) == []


# Together with a cancel request


def test_a_continuation_claimed_before_a_cancel_request_is_skipped() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit(CONTINUE)
    assert (desk.at().status, len(desk.all())) == (RunStatus.RUNNING, 1)
    assert desk.at().ready_at is not None
    desk.step(CONTINUE)
    assert desk.at().status is RunStatus.COMPLETED
    assert newest(desk).cancel_seq is None


def test_a_repeated_request_since_the_claim_holds_a_continuation_up_too() -> None:
    desk = Desk()
    desk.start()
    desk.step()
    desk.do(Cancel("wf"))
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit(activity(), CONTINUE, timer())
    assert (desk.at().status, len(desk.all())) == (RunStatus.RUNNING, 1)
    assert desk.at().ready_at is not None
    assert desk.activity().status is ActivityStatus.PENDING, "cleanup goes on"
    assert desk.timer().state is TimerState.OPEN
    desk.step(CONTINUE)
    assert desk.at().status is RunStatus.COMPLETED


def test_only_one_end_counts() -> None:
    desk = Desk()
    desk.start()
    desk.step(CONTINUE, CompleteWorkflow("[7]"), activity(), CONTINUE)
    assert (len(desk.all()), desk.at().result_seq) == (2, None)
    assert desk.told() == [EventType.WORKFLOW_STARTED, EventType.WORKFLOW_CONTINUED_AS_NEW]


def test_the_last_holders_batch_comes_too_late() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    outcomes = desk.ask(ContinueRun("wf"), SubmitCommands("wf", "w1", (CONTINUE,)))
    assert isinstance(outcomes[1], Conflict)
    assert len(desk.all()) == 2


# Children


def family() -> Desk:
    desk = Desk()
    desk.start()
    desk.step(child())
    return desk


@pytest.mark.parametrize("by_handler", [True, False])
def test_a_child_that_goes_on_tells_only_its_last_end_under_the_first_id(by_handler: bool) -> None:
    desk = family()
    for _ in range(2):
        desk.later(1)
        if by_handler:
            desk.step(CONTINUE, id=newest(desk).id)
        else:
            go_on(desk, newest(desk).id)
        assert desk.at().ready_at is None
    run = newest(desk)
    assert (run.parent_id, run.parent_no, run.child_id) == ("wf", desk.at().no, "child")
    desk.step(CompleteWorkflow("[9]"), id=run.id)
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        EventType.CHILD_WORKFLOW_COMPLETED,
        {"child_workflow_id": "child", "result": [9]},
    )
    assert desk.at().ready_at == desk.now


def test_a_successor_of_an_ended_child_tells_nobody_a_second_time() -> None:
    desk = family()
    desk.step(CompleteWorkflow("[1]"), id="child")
    told = desk.told()
    for _ in range(2):
        run = go_on(desk, "child")
        desk.step(CompleteWorkflow("[2]"), id=run.id)
    assert desk.told() == told


def test_a_parents_cancel_request_reaches_the_successor() -> None:
    desk = family()
    desk.step(CONTINUE, id="child")
    desk.do(Cancel("wf", "stop"))
    assert newest(desk).status is RunStatus.CANCELLED
    assert said(desk.events(newest(desk).id)[-1]) == {"reason": "stop"}
    assert desk.at("child").status is RunStatus.COMPLETED


def test_a_parent_that_asks_again_is_answered_by_the_end_of_the_chain() -> None:
    desk = family()
    desk.step(CONTINUE, id="child")
    desk.claim()
    told = desk.told()
    desk.submit(child())
    assert (desk.told(), desk.at().ready_at) == (told, None)
    desk.step(FailWorkflow("no"), id=newest(desk).id)
    assert said(desk.events()[-1]) == {"child_workflow_id": "child", "error": "no"}
    told = desk.told()
    desk.step(child())
    assert desk.told() == told


def test_the_id_of_a_successor_is_not_that_of_the_child() -> None:
    desk = family()
    desk.step(CONTINUE, id="child")
    successor = newest(desk).id
    for _ in range(2):
        desk.step(child(successor))
    last = desk.events()[-1]
    assert desk.told().count(EventType.CHILD_WORKFLOW_FAILED) == 1
    assert said(last)["child_workflow_id"] == successor
    desk.step(CompleteWorkflow("[9]"), id=successor)
    desk.step(child(successor), child())
    outcomes = [said(event)["child_workflow_id"] for event in desk.events()[-1:]]
    assert outcomes == ["child"]
    assert desk.told().count(EventType.CHILD_WORKFLOW_COMPLETED) == 1


def test_a_parent_that_goes_on_leaves_its_children_and_hears_no_more() -> None:
    desk = family()
    desk.step(CONTINUE)
    told = desk.told()
    assert desk.at("child").status is RunStatus.PENDING
    desk.step(CompleteWorkflow("[1]"), id="child")
    assert desk.told() == told
    assert desk.told(newest(desk).id) == [EventType.WORKFLOW_STARTED]


def test_a_successor_times_out_by_itself() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", timeout_secs=10))
    desk.later(5)
    run = go_on(desk)
    desk.later(5)
    desk.do(Due(DueKind.RUN, run.no))
    assert desk.at(run.id).status is RunStatus.PENDING
    desk.later(5)
    desk.do(Due(DueKind.RUN, run.no))
    assert desk.at(run.id).status is RunStatus.TIMED_OUT
    assert desk.at().status is RunStatus.COMPLETED
