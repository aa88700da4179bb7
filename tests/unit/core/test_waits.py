"""What a run waits for: announced once, until the signal or the timer of that wait arrives."""

import pytest

from assay.core.waits import waits_of
from assay.errors import Conflict, NotFound
from assay.model.commands import WaitForSignal
from assay.model.events import EventType
from assay.model.operations import Due, DueKind, Signal, Terminate
from tests.unit.core.desk import Desk, said, timer

AWAITING = EventType.WORKFLOW_AWAITING_SIGNAL


def waiting(*waits: WaitForSignal) -> Desk:
    desk = Desk()
    desk.start()
    desk.step(*waits)
    return desk


def announced(desk: Desk) -> int:
    return desk.told().count(AWAITING)


def pairs(desk: Desk) -> list[tuple[str, int | None]]:
    return [(wait.signal, wait.timer_seq) for wait in waits_of(desk.at())]


@pytest.mark.parametrize(
    ("wait", "payload"),
    [
        (WaitForSignal("go", None), {"signal": "go"}),
        (WaitForSignal("go", 2), {"signal": "go", "timer_seq": 2}),
    ],
)
def test_a_wait_is_announced_once(wait: WaitForSignal, payload: dict[str, object]) -> None:
    desk = waiting(wait, wait)
    desk.claim()
    desk.submit(wait)
    assert announced(desk) == 1
    assert said(desk.events()[-1]) == payload


def test_waits_differ_by_signal_and_timer() -> None:
    desk = waiting(WaitForSignal("a", None), WaitForSignal("a", 1), WaitForSignal("b", 1))
    assert announced(desk) == 3
    assert pairs(desk) == [("a", None), ("a", 1), ("b", 1)]


def test_a_signal_ends_every_wait_for_it_and_the_next_is_announced() -> None:
    desk = waiting(WaitForSignal("a", None), WaitForSignal("a", 1), WaitForSignal("b", None))
    desk.do(Signal("wf", "a"))
    assert pairs(desk) == [("b", None)]
    desk.step(WaitForSignal("a", None), WaitForSignal("b", None))
    assert announced(desk) == 4


def test_a_timer_ends_the_waits_that_it_limits() -> None:
    desk = Desk()
    desk.start()
    desk.step(timer(1, 5), WaitForSignal("a", 1), WaitForSignal("a", None))
    desk.later(5)
    desk.do(Due(DueKind.TIMER, desk.timer().no))
    assert pairs(desk) == [("a", None)]


def test_a_signal_nobody_waits_for_is_kept_in_history() -> None:
    desk = Desk()
    desk.start()
    desk.do(Signal("wf", "early", '{"n":1}'))
    desk.do(Signal("wf", "early"))
    assert [said(event) for event in desk.events()[1:]] == [
        {"signal": "early", "payload": {"n": 1}},
        {"signal": "early", "payload": None},
    ]
    assert desk.at().waits is None


def test_a_signal_for_what_is_over_or_unknown_is_refused() -> None:
    desk = Desk()
    desk.start()
    desk.do(Terminate("wf"))
    told = desk.told()
    with pytest.raises(Conflict, match="is FAILED and takes no signal"):
        desk.do(Signal("wf", "go"))
    with pytest.raises(NotFound, match="not found: workflow nobody"):
        desk.do(Signal("nobody", "go"))
    assert desk.told() == told
