"""The desk of a batch: later operations see earlier ones, a refused one leaves no trace."""

from collections.abc import Callable

import pytest

from assay.core.decide import decide
from assay.core.draft import Draft
from assay.errors import Conflict, NonDeterminism, NotFound
from assay.model.commands import CompleteWorkflow
from assay.model.operations import (
    DONE,
    Cancel,
    CompleteActivity,
    Operation,
    RegisterWorker,
    RenewLeases,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
)
from assay.model.states import RunStatus
from assay.model.worker import Worker
from tests.unit.core.desk import NOW, RULES, Desk, activity, child, timer


def worker(namespace: str = "main") -> Worker:
    return Worker("w-1", namespace, "me", "default", None, None, 1, 1, NOW, NOW)


def busy_desk() -> Desk:
    """A run with an activity, a timer and a child, claimed by w1."""
    desk = Desk()
    desk.start()
    desk.step(activity(1), timer(1), child())
    desk.claim()
    return desk


REFUSED: list[tuple[Operation, type[Exception]]] = [
    (Start("x", "wf"), Conflict),
    (Start("x", "new", namespace="elsewhere"), NotFound),
    (Signal("nobody", "go"), NotFound),
    (Terminate("nobody"), NotFound),
    (CompleteActivity(4711), NotFound),
    (SubmitCommands("wf", "w2", (activity(9),)), Conflict),
    (RegisterWorker(worker("elsewhere")), NotFound),
]


@pytest.mark.parametrize(("operation", "error"), REFUSED)
def test_a_refused_operation_leaves_no_trace(operation: Operation, error: type[Exception]) -> None:
    desk = busy_desk()
    draft = desk.draft()
    assert isinstance(decide(draft, operation, RULES), error)
    assert draft.seal().is_empty


def test_a_refused_operation_fails_alone() -> None:
    desk = busy_desk()
    outcomes = desk.ask(
        Signal("wf", "a"), *[operation for operation, _ in REFUSED], Signal("wf", "b")
    )
    assert [outcome == DONE for outcome in outcomes] == [True, *[False] * len(REFUSED), True]
    assert len(desk.decision.events) == 2


def test_a_batch_refused_half_way_is_taken_back_but_for_its_text() -> None:
    desk = busy_desk()
    draft = desk.draft()
    batch = (activity(2), timer(2), child("other"), activity(1, "ship"))
    assert isinstance(decide(draft, SubmitCommands("wf", "w1", batch), RULES), NonDeterminism)
    decision = draft.seal()
    assert (decision.events, decision.activities, decision.timers) == ((), (), ())
    assert [change.after.id for change in decision.runs if change.after] == ["wf"]
    assert draft.run_by_id("other") is None
    no = desk.at().no
    assert (draft.activities.at(no, 2), draft.timers.at(no, 2)) == (None, None)
    assert [row.seq for row in draft.activities.live(no)] == [1]
    assert [run.id for run in draft.unasked_children(no, no)[0]] == ["child"]


def test_what_was_taken_back_can_be_done_anew() -> None:
    desk = busy_desk()
    draft = desk.draft()
    mark = draft.mark()
    right = SubmitCommands("wf", "w1", (activity(2), timer(2), child("other")))
    assert decide(draft, right, RULES) == DONE
    assert draft.changed_since(mark)
    draft.roll_back(mark)
    assert not draft.changed_since(mark)
    assert draft.seal().is_empty
    assert decide(draft, right, RULES) == DONE
    desk.keep(draft)
    assert [row.seq for row in desk.activities.of(desk.at().no)] == [1, 2]
    assert desk.at("other").status is RunStatus.PENDING


def test_rolling_back_restores_what_stood_at_the_mark_not_before_it() -> None:
    desk = busy_desk()
    draft = desk.draft()
    decide(draft, Signal("wf", "a"), RULES)
    decide(draft, RegisterWorker(worker()), RULES)
    stood, mark = draft.run_by_id("wf"), draft.mark()
    decide(draft, Cancel("wf"), RULES)
    decide(draft, RegisterWorker(worker()), RULES)
    draft.roll_back(mark)
    assert draft.run_by_id("wf") is stood
    decision = draft.seal()
    assert (len(decision.events), len(decision.workers), decision.activities) == (1, 1, ())


def test_later_operations_of_a_batch_see_earlier_ones() -> None:
    desk = Desk()
    outcomes = desk.ask(
        Start("order", "wf"), Signal("wf", "go"), Terminate("wf"), Signal("wf", "late")
    )
    assert isinstance(outcomes[-1], Conflict)
    assert desk.at().status is RunStatus.FAILED
    assert [change.before for change in desk.decision.runs] == [None]
    assert [event.seq for event in desk.events()] == [1, 2, 3]


def test_rows_made_in_a_batch_are_found_in_it_in_every_way() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    draft = desk.draft()
    decide(draft, SubmitCommands("wf", "w1", (activity(2), activity(1), child())), RULES)
    no = desk.at().no
    row = draft.activities.at(no, 2)
    assert row is not None
    assert draft.activities.get(row.no) is row
    assert [row.seq for row in draft.activities.live(no)] == [1, 2]
    assert [run.id for run in draft.unasked_children(no, no)[0]] == ["child"]
    decide(draft, Terminate("child"), RULES)
    assert draft.unasked_children(no, no) == ([], True)
    parent = draft.run(no)
    assert parent is not None
    assert draft.is_told(parent, "child")
    assert not draft.is_told(parent, "other")


def test_a_result_of_the_same_batch_is_found_in_it() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    draft = desk.draft()
    decide(draft, SubmitCommands("wf", "w1", (CompleteWorkflow("[7]"),)), RULES)
    run = draft.run_by_id("wf")
    assert run is not None
    assert draft.result_of(run) == "[7]"
    desk.keep(draft)
    assert desk.draft().result_of(desk.at()) == "[7]"


def test_a_dropped_row_is_gone_and_its_seq_is_free() -> None:
    desk = busy_desk()
    draft = desk.draft()
    draft.activities.drop(desk.activity())
    no = desk.at().no
    assert draft.activities.get(desk.activity().no) is None
    assert draft.activities.at(no, 1) is None
    assert draft.activities.live(no) == []
    (change,) = draft.seal().activities
    assert (change.before, change.after) == (desk.activity(), None)


def test_a_row_made_and_dropped_in_one_batch_is_not_written() -> None:
    desk = busy_desk()
    draft = desk.draft()
    decide(draft, SubmitCommands("wf", "w1", (activity(2),)), RULES)
    row = draft.activities.at(desk.at().no, 2)
    assert row is not None
    draft.activities.drop(row)
    assert draft.seal().activities == ()


def test_a_row_that_is_written_unchanged_still_guards_what_was_read() -> None:
    desk = busy_desk()
    draft = desk.draft()
    draft.put(desk.at())
    (change,) = draft.seal().runs
    assert change.before is desk.at()
    assert change.after is not None
    assert change.after.ver == desk.at().ver + 1


@pytest.mark.parametrize("undo", [True, False])
def test_numbers_are_never_given_twice_whatever_is_taken_back(undo: bool) -> None:
    desk = busy_desk()
    given: list[int] = []
    draft = Draft(desk, NOW, _Counted(desk, given.append))
    for _ in range(3):
        mark = draft.mark()
        decide(draft, SubmitCommands("wf", "w1", (activity(2), timer(2))), RULES)
        if undo:
            draft.roll_back(mark)
    assert len(set(given)) == len(given)


class _Counted:
    def __init__(self, desk: Desk, note: Callable[[int], None]) -> None:
        self._desk = desk
        self._note = note

    def take(self) -> int:
        no = self._desk.take()
        self._note(no)
        return no


def test_lease_renewal_of_nothing_writes_nothing() -> None:
    desk = busy_desk()
    desk.do(RenewLeases("w1", ()))
    assert desk.decision.is_empty
