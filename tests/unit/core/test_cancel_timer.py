"""Timers that are no longer wanted: silenced, told once, and no obstacle to anything else."""

import pytest

from assay.model.commands import CancelTimer, WaitForSignal
from assay.model.events import EventType
from assay.model.operations import Cancel, Due, DueKind, Signal
from assay.model.states import TimerState
from assay.model.time import MICROS
from tests.unit.core.desk import Desk, said, timer
from tests.unit.core.scenes import begun, complete, fail, give_up, once, retry


def fire(desk: Desk, seq: int = 1) -> None:
    row = desk.timer(seq)
    desk.now = max(desk.now, row.fire_at)
    desk.do(Due(DueKind.TIMER, row.no))


def test_a_cancelled_timer_is_told_and_never_fires() -> None:
    desk = begun(timer(1, 5))
    desk.later(1)
    desk.step(CancelTimer(1))
    last = desk.events()[-1]
    assert (last.type, said(last)) == (EventType.TIMER_CANCELLED, {"timer_seq": 1})
    row = desk.timer()
    assert (row.state, row.silenced_at, row.silenced_seq) == (
        TimerState.SILENCED,
        desk.now,
        last.seq,
    )
    assert desk.at().ready_at is None
    fire(desk)
    assert desk.decision.is_empty


def test_set_and_cancelled_in_one_batch() -> None:
    desk = begun(timer(1, 5), CancelTimer(1), timer(1, 0), CancelTimer(1))
    assert desk.told()[1:] == [EventType.TIMER_SCHEDULED, EventType.TIMER_CANCELLED]
    assert not desk.timer().is_live


@pytest.mark.parametrize("seq", [1, 2, 9])
def test_what_is_over_or_never_was_cannot_be_cancelled(seq: int) -> None:
    desk = begun(timer(1, 5), timer(2, 5), CancelTimer(2))
    fire(desk, 1)
    told = desk.told()
    desk.step(CancelTimer(seq))
    assert desk.told() == told


def test_a_seq_names_one_timer_even_after_it_was_cancelled() -> None:
    desk = begun(timer(1, 5), CancelTimer(1))
    desk.step(timer(1, 60))
    assert desk.told().count(EventType.TIMER_SCHEDULED) == 1
    assert not desk.timer().is_live


def test_a_cancelled_timer_has_not_arrived_so_its_wait_stands() -> None:
    desk = begun(timer(1, 5), WaitForSignal("go", 1), CancelTimer(1), WaitForSignal("go", 1))
    assert desk.told().count(EventType.WORKFLOW_AWAITING_SIGNAL) == 1
    desk.do(Signal("wf", "go"))
    assert desk.at().waits is None


def test_a_timer_silenced_by_a_cancel_request_is_not_told_as_cancelled() -> None:
    desk = begun(timer(1, 5))
    desk.do(Cancel("wf"))
    desk.step(CancelTimer(1))
    assert EventType.TIMER_CANCELLED not in desk.told()


# Together with an operator retry


def test_a_timer_cancelled_after_the_failure_is_armed_again() -> None:
    desk = begun(once(1), timer(1, 60), timer(2, 60))
    fail(desk)
    desk.later(10)
    desk.step(CancelTimer(1))
    desk.later(5)
    give_up(desk)
    retry(desk)
    first, second = desk.timer(1), desk.timer(2)
    assert first.fire_at == desk.now + 50 * MICROS
    assert second.fire_at == desk.now + 45 * MICROS
    assert EventType.TIMER_CANCELLED not in desk.standing()
    complete(desk)
    desk.step(CancelTimer(1))
    assert desk.standing()[-1] is EventType.TIMER_CANCELLED
    assert desk.timer(1).silenced_seq == desk.at().last_seq


def test_a_timer_cancelled_before_the_failure_stays_silent() -> None:
    desk = begun(once(1), timer(1, 60), CancelTimer(1))
    fail(desk)
    give_up(desk)
    retry(desk)
    assert desk.timer().state is TimerState.SILENCED
    assert EventType.TIMER_CANCELLED in desk.standing()


def test_a_timer_set_and_cancelled_after_the_failure_is_forgotten() -> None:
    desk = begun(once(1))
    fail(desk)
    desk.step(timer(1, 60), CancelTimer(1))
    give_up(desk)
    retry(desk)
    assert not desk.timers.rows
    assert desk.at().top_timer == 0
    complete(desk)
    desk.step(CancelTimer(1))
    desk.step(timer(1, 60))
    assert desk.timer().is_live


def test_a_timer_that_fired_after_the_failure_has_fired() -> None:
    desk = begun(once(1), timer(1, 5))
    fail(desk)
    fire(desk)
    give_up(desk)
    retry(desk)
    assert desk.timer().state is TimerState.FIRED
    assert EventType.TIMER_FIRED in desk.standing()
