"""What a start may ask for: a delay, a time-out, to be content with a run that is there."""

import json

import pytest
from msgspec.structs import replace

from assay.core.claim import is_run_claimable
from assay.core.due import run_due_at
from assay.errors import Conflict, NotFound
from assay.model.commands import CompleteWorkflow
from assay.model.events import EventType
from assay.model.operations import (
    Cancel,
    CreateNamespace,
    DeleteNamespace,
    Due,
    DueKind,
    Signal,
    Start,
    Started,
    Terminate,
)
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.time import MICROS
from tests.unit.core.desk import LEASE, NOW, Desk, activity, child, said, timer


def begun(**options: float) -> Desk:
    desk = Desk()
    desk.do(Start("order", "wf", **options))  # type: ignore[arg-type] # numbers alone are given
    return desk


# A delay


def test_a_delayed_run_is_there_at_once_and_offered_later() -> None:
    desk = begun(delay_secs=2.5)
    run = desk.at()
    assert (run.status, run.created_at, run.start_at) == (
        RunStatus.PENDING,
        NOW,
        NOW + 2_500_000,
    )
    assert not is_run_claimable(run, run.start_at - 1)
    assert is_run_claimable(run, run.start_at)


def test_a_signal_does_not_wake_it() -> None:
    desk = begun(delay_secs=60)
    desk.do(Signal("wf", "go"))
    assert desk.at().ready_at == desk.at().start_at


def test_a_cancel_request_ends_it_at_once() -> None:
    desk = begun(delay_secs=60)
    desk.do(Cancel("wf"))
    assert desk.at().status is RunStatus.CANCELLED


def test_news_after_the_first_claim_comes_at_once() -> None:
    desk = begun(delay_secs=60)
    desk.later(60)
    desk.step()
    desk.do(Signal("wf", "go"))
    assert desk.at().ready_at == desk.now


# A time-out


def time_out(desk: Desk, id: str = "wf") -> None:
    run = desk.at(id)
    assert run.timeout_at is not None
    desk.now = max(desk.now, run.timeout_at)
    desk.do(Due(DueKind.RUN, run.no))


def test_a_time_out_ends_a_run_with_all_that_belongs_to_an_end() -> None:
    desk = begun(timeout_secs=10)
    desk.step(activity(1), activity(2), timer(1))
    desk.work(2)
    desk.claim()
    time_out(desk)
    run, last = desk.at(), desk.events()[-1]
    assert (run.status, run.error, run.completed_at) == (
        RunStatus.TIMED_OUT,
        "timed out",
        desk.now,
    )
    assert (last.type, said(last)) == (EventType.WORKFLOW_TIMED_OUT, {"error": "timed out"})
    assert (run.claim_token, run.ready_at, run.result_seq) == (None, None, None)
    assert desk.activity(1).status is ActivityStatus.CANCELLED
    assert desk.activity(2).status is ActivityStatus.RUNNING
    assert desk.timer().state is TimerState.SILENCED
    assert run_due_at(run) is None


@pytest.mark.parametrize("early", [1, MICROS])
def test_it_does_not_end_a_moment_before(early: int) -> None:
    desk = begun(timeout_secs=10)
    desk.now += 10 * MICROS - early
    desk.do(Due(DueKind.RUN, desk.at().no))
    assert desk.at().status is RunStatus.PENDING
    assert desk.decision.is_empty


def test_it_counts_from_the_end_of_the_delay() -> None:
    desk = begun(timeout_secs=10, delay_secs=60)
    assert desk.at().timeout_at == NOW + 70 * MICROS
    time_out(desk)
    assert desk.at().status is RunStatus.TIMED_OUT


def test_a_lease_that_ends_before_is_over_before() -> None:
    desk = begun(timeout_secs=40)
    desk.claim()
    assert run_due_at(desk.at()) == NOW + LEASE
    desk.expire()
    assert (desk.at().status, desk.at().claim_until) == (RunStatus.RUNNING, None)
    assert run_due_at(desk.at()) == NOW + 40 * MICROS
    desk.claim(worker="w2")
    assert run_due_at(desk.at()) == NOW + 40 * MICROS
    time_out(desk)
    assert desk.at().status is RunStatus.TIMED_OUT
    with pytest.raises(Conflict, match="workflow wf is TIMED_OUT"):
        desk.submit(CompleteWorkflow(None), worker="w2")


@pytest.mark.parametrize("when", ["asked", "ended"])
def test_a_cancel_request_does_not_hold_it_up(when: str) -> None:
    desk = begun(timeout_secs=10)
    desk.claim()
    desk.do(Cancel("wf"))
    if when == "ended":
        desk.do(Terminate("wf"))
    time_out(desk)
    ended = RunStatus.FAILED if when == "ended" else RunStatus.TIMED_OUT
    assert desk.at().status is ended


def test_a_time_out_while_a_cancel_request_is_on_its_way_down_comes_after_it() -> None:
    desk = Desk()
    desk.children_at_once = 1
    desk.do(Start("order", "wf", timeout_secs=10))
    desk.step(child("a"), child("b"), child("c"))
    desk.do(Cancel("wf"))
    desk.later(10)
    for _ in range(4):
        desk.do(Due(DueKind.RUN, desk.at().no))
    assert desk.at().status is RunStatus.TIMED_OUT
    assert {desk.at(id).status for id in "abc"} == {RunStatus.CANCELLED}


def test_children_go_on() -> None:
    desk = begun(timeout_secs=10)
    desk.step(child())
    time_out(desk)
    assert desk.at("child").status is RunStatus.PENDING


def test_a_parent_hears_of_it() -> None:
    desk = begun()
    desk.step(child())
    run = desk.at("child")
    # No command gives a child a time-out; a time-out of any run with a parent is told all the same.
    desk.runs[run.no] = replace(run, timeout_secs=10, timeout_at=NOW + 10 * MICROS)
    time_out(desk, "child")
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        EventType.CHILD_WORKFLOW_FAILED,
        {"child_workflow_id": "child", "error": "timed out"},
    )
    assert desk.at().ready_at == desk.now


# A run that is there already

USE = Start("order", "wf", use_existing=True)


@pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.FAILED])
def test_a_like_run_will_do_whatever_its_status(status: RunStatus) -> None:
    desk = begun()
    if status is not RunStatus.PENDING:
        desk.claim()
    if status is RunStatus.FAILED:
        desk.do(Terminate("wf"))
    before = desk.at()
    assert desk.do(USE) == Started(before, existing=True)
    assert desk.at() is before
    assert desk.decision.is_empty


@pytest.mark.parametrize(
    "other",
    [Start("other", "wf", use_existing=True), Start("order", "wf", "shop", use_existing=True)],
)
def test_another_type_or_namespace_will_not(other: Start) -> None:
    desk = begun()
    desk.do(CreateNamespace("shop"))
    with pytest.raises(Conflict, match="workflow id wf is in use"):
        desk.do(other)


@pytest.mark.parametrize(
    "other",
    [
        Start("order", "new", "shop", use_existing=True),
        Start("other", "wf", "shop", use_existing=True),
        Start("order", "wf", "shop"),
    ],
)
def test_in_a_namespace_that_is_gone_a_like_run_will_do_and_nothing_else(other: Start) -> None:
    desk = Desk()
    desk.do(CreateNamespace("shop"))
    start = Start("order", "wf", "shop", use_existing=True)
    desk.do(start)
    desk.do(DeleteNamespace("shop"))
    assert desk.do(start) == Started(desk.at(), existing=True)
    assert desk.decision.is_empty
    with pytest.raises(NotFound, match="not found: namespace shop"):
        desk.do(other)


def test_several_in_one_batch_are_one_run() -> None:
    desk = Desk()
    outcomes = desk.ask(USE, USE, Start("order", "wf"), USE)
    existing = [outcome.existing for outcome in outcomes if isinstance(outcome, Started)]
    assert existing == [False, True, True]
    assert len(desk.all()) == 1


def test_without_an_id_each_is_a_new_run() -> None:
    desk = Desk()
    desk.ask(*[Start("order", use_existing=True)] * 3)
    assert len(desk.all()) == 3


# Search attributes


def test_a_start_notes_the_engines_version() -> None:
    desk = begun()
    assert json.loads(desk.at().search_attributes or "") == {"assay_engine_version": "0"}
    desk.step(child())
    assert desk.at("child").search_attributes is None


# Signals with an id of their sender's

REQUEST = Signal("wf", "go", "1", "r-1")


def test_a_repeated_request_is_answered_and_records_nothing_even_after_the_end() -> None:
    desk = begun()
    desk.ask(REQUEST, REQUEST, Signal("wf", "other", "2", "r-1"))
    desk.do(REQUEST)
    assert desk.decision.is_empty
    desk.do(Terminate("wf"))
    desk.do(REQUEST)
    assert desk.told().count(EventType.SIGNAL_RECEIVED) == 1


def test_a_refused_request_is_not_remembered() -> None:
    desk = begun()
    outcomes = desk.ask(Terminate("wf"), REQUEST, REQUEST)
    assert [isinstance(outcome, Conflict) for outcome in outcomes] == [False, True, True]
    assert not desk.requests
    with pytest.raises(NotFound):
        desk.do(Signal("nobody", "go", None, "r-1"))


def test_requests_are_those_of_their_run() -> None:
    desk = begun()
    desk.start("wf-2")
    desk.ask(REQUEST, Signal("wf-2", "go", "1", "r-1"))
    assert [desk.told(id)[-1] for id in ("wf", "wf-2")] == [EventType.SIGNAL_RECEIVED] * 2
