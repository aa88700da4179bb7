"""An operator retry takes back what was recorded after the failure; its numbers are free again."""

import json

import pytest

from assay.model.commands import (
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    RecordPatch,
    RecordSideEffect,
    RecordStep,
    UpsertSearchAttributes,
)
from assay.model.events import RECORDED, EventType
from assay.model.operations import ContinueRun, Due, DueKind, Start
from assay.model.states import RunStatus, TimerState
from assay.model.time import MICROS
from tests.unit.core.desk import Desk, child, said
from tests.unit.core.scenes import RETRY, begun, complete, fail, give_up, once, retry


def step(seq: int, attempt: int = 1, *, retry_in: float | None = None) -> RecordStep:
    error = None if retry_in is None else "broke"
    return RecordStep(seq, "charge", attempt, None, error, error is None, retry_in or 0.0)


EACH: list[Command] = [
    RecordSideEffect(1, "", "1"),
    step(1),
    step(1, retry_in=0),
    RecordPatch("a"),
    UpsertSearchAttributes('{"a":1}', 1),
]


@pytest.mark.parametrize("command", EACH)
def test_what_was_recorded_before_the_failure_stands(command: Command) -> None:
    desk = begun(command, once(1))
    fail(desk)
    give_up(desk)
    retry(desk)
    assert RECORDED & set(desk.standing())
    complete(desk)
    before = desk.at().last_seq
    desk.step(command)
    assert desk.at().last_seq == before


@pytest.mark.parametrize("command", EACH)
def test_what_was_recorded_after_it_is_void_and_can_be_recorded_anew(command: Command) -> None:
    desk = begun(once(1))
    fail(desk)
    desk.step(command)
    give_up(desk)
    retry(desk)
    assert not RECORDED & set(desk.standing())
    complete(desk)
    desk.step(command, command)
    assert len([kind for kind in desk.standing() if kind in RECORDED]) == 1


def test_merged_attributes_stay() -> None:
    desk = begun(once(1))
    fail(desk)
    desk.step(UpsertSearchAttributes('{"a":1}', 1))
    give_up(desk)
    retry(desk)
    assert json.loads(desk.at().search_attributes or "")["a"] == 1


def test_a_waking_silenced_by_the_end_is_set_again_with_what_it_had_left() -> None:
    desk = begun(step(1, retry_in=60), once(1))
    fail(desk)
    desk.later(20)
    desk.step(FailWorkflow("broke"))
    assert desk.timer(-1).state is TimerState.SILENCED
    desk.later(100)
    retry(desk)
    row = desk.timer(-1)
    assert (row.state, row.fire_at) == (TimerState.OPEN, desk.now + 40 * MICROS)
    assert desk.at().top_timer == 0
    desk.now = row.fire_at
    desk.do(Due(DueKind.TIMER, row.no))
    assert desk.at().ready_at == desk.now


def test_the_waking_of_a_void_attempt_is_forgotten() -> None:
    desk = begun(once(1))
    fail(desk)
    desk.step(step(1, retry_in=60))
    give_up(desk)
    retry(desk)
    assert not desk.timers.rows
    complete(desk)
    desk.step(step(1, retry_in=5))
    assert desk.timer(-1).fire_at == desk.now + 5 * MICROS


def test_a_waking_that_a_void_attempt_set_anew_is_forgotten_too() -> None:
    desk = begun(step(1, retry_in=5), once(1))
    desk.later(5)
    desk.do(Due(DueKind.TIMER, desk.timer(-1).no))
    fail(desk)
    desk.step(step(1, 2, retry_in=60))
    give_up(desk)
    retry(desk)
    assert not desk.timers.rows
    assert desk.standing().count(EventType.STEP_ATTEMPT_FAILED) == 1


def test_a_time_out_starts_anew() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", timeout_secs=500))
    desk.step(once(1))
    fail(desk)
    give_up(desk)
    retry(desk)
    run = desk.at()
    assert run.timeout_at == desk.now + 500 * MICROS
    desk.now = run.timeout_at
    desk.do(Due(DueKind.RUN, run.no))
    assert desk.at().status is RunStatus.TIMED_OUT


# Children that continued as new while their parent had ended


def test_a_child_that_goes_on_as_a_successor_has_not_ended() -> None:
    desk = begun(once(1), child())
    fail(desk)
    give_up(desk)
    desk.step(ContinueAsNew(None, ()), id="child")
    retry(desk)
    assert EventType.CHILD_WORKFLOW_COMPLETED not in desk.told()
    successor = desk.all()[-1]
    desk.step(CompleteWorkflow("[8]"), id=successor.id)
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        EventType.CHILD_WORKFLOW_COMPLETED,
        {"child_workflow_id": "child", "result": [8]},
    )


def test_the_end_of_the_last_successor_is_told_once_under_the_childs_id() -> None:
    desk = begun(once(1), child())
    fail(desk)
    give_up(desk)
    desk.step(ContinueAsNew(None, ()), id="child")
    desk.step(FailWorkflow("no"), id=desk.all()[-1].id)
    desk.do(ContinueRun("child"))  # started from an ended run: its end is one too many
    desk.do(RETRY)
    told = [event for event in desk.events() if event.type is EventType.CHILD_WORKFLOW_FAILED]
    assert [said(event) for event in told] == [{"child_workflow_id": "child", "error": "no"}]
    desk.step(CompleteWorkflow(None), id=desk.all()[-1].id)
    assert EventType.CHILD_WORKFLOW_COMPLETED not in desk.told()
