"""What is remembered of starts that wait: which schedules, by the run whose end they wait for."""

from msgspec.structs import replace

from assay.engine.starts import Starts
from assay.store.port import Awaiting
from tests.stores.rows import a_schedule

WAITING = a_schedule(1, last_run_no=10, queued_start=5)


def test_who_waits_for_a_run_is_released_once() -> None:
    starts = Starts()
    starts.absorb(1, WAITING)
    starts.note(Awaiting(10, 2))
    starts.note(Awaiting(11, 3))
    assert starts
    assert starts.release([9]) == []
    assert starts.release([9, 10]) == [1, 2]
    assert starts.release([10]) == []
    assert starts.release([11]) == [3]
    assert not starts


def test_the_last_word_counts() -> None:
    starts = Starts()
    starts.absorb(1, WAITING)
    starts.absorb(1, replace(WAITING, last_run_no=12))
    assert starts.release([10]) == []
    assert starts.release([12]) == [1]
    for end in (None, replace(WAITING, queued_start=None)):
        starts.absorb(1, WAITING)
        starts.absorb(1, end)
        assert not starts
    assert starts.release([10]) == []


def test_what_is_unknown_is_no_trouble() -> None:
    starts = Starts()
    starts.forget(7)
    starts.note(Awaiting(10, 2))
    starts.clear()
    assert starts.release([10]) == []
