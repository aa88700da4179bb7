"""What time brings, judged again on the row: nothing happens before its moment or twice."""

import pytest

from assay.core.due import activity_due_at, run_due_at, timer_due_at
from assay.model.events import EventType
from assay.model.operations import Due, DueKind, Terminate
from assay.model.states import TimerState
from assay.model.time import MICROS, seconds
from tests.unit.core.desk import LEASE, NOW, Desk, activity, said, timer


def test_a_timer_fires_once_at_its_moment_and_the_run_has_news() -> None:
    desk = Desk()
    desk.start()
    desk.step(timer(1, 5))
    no = desk.timer().no
    desk.now += 5 * MICROS - 1
    desk.do(Due(DueKind.TIMER, no))
    assert desk.decision.is_empty
    desk.now += 1
    desk.do(Due(DueKind.TIMER, no))
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        EventType.TIMER_FIRED,
        {"timer_seq": 1, "fire_at": seconds(NOW + 5 * MICROS)},
    )
    assert (desk.timer().state, desk.at().ready_at) == (TimerState.FIRED, desk.now)
    desk.do(Due(DueKind.TIMER, no))
    assert desk.decision.is_empty


def test_a_silenced_timer_never_fires() -> None:
    desk = Desk()
    desk.start()
    desk.step(timer(1, 5))
    desk.do(Terminate("wf"))
    desk.later(9)
    desk.do(Due(DueKind.TIMER, desk.timer().no))
    assert desk.decision.is_empty


def test_a_timer_moved_in_the_same_batch_is_judged_as_it_stands_there() -> None:
    desk = Desk()
    desk.start()
    desk.step(timer(1, 5))
    desk.later(5)
    desk.ask(Terminate("wf"), Due(DueKind.TIMER, desk.timer().no))
    assert desk.timer().state is TimerState.SILENCED
    assert EventType.TIMER_FIRED not in desk.told()


@pytest.mark.parametrize("kind", DueKind)
def test_a_row_that_is_gone_is_nobodys_business(kind: DueKind) -> None:
    desk = Desk()
    desk.do(Due(kind, 4711))
    assert desk.decision.is_empty


def test_rows_say_when_they_are_due() -> None:
    desk = Desk()
    desk.start()
    assert run_due_at(desk.at()) is None
    desk.claim()
    assert run_due_at(desk.at()) == NOW + LEASE
    desk.submit(activity(), timer(1, 3))
    assert run_due_at(desk.at()) is None
    assert activity_due_at(desk.activity()) is None
    desk.work()
    assert activity_due_at(desk.activity()) == NOW + 300 * MICROS
    assert timer_due_at(desk.timer()) == NOW + 3 * MICROS
    desk.do(Terminate("wf"))
    assert timer_due_at(desk.timer()) is None
    assert activity_due_at(desk.activity()) is not None


def test_an_expired_lease_is_due_no_more() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.expire()
    assert run_due_at(desk.at()) is None
    before = desk.at()
    desk.do(Due(DueKind.RUN, before.no))
    assert desk.at() is before
