"""Deadlines: earliest first, moved and forgotten without a trace, taken once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engine.deadlines import Deadlines
from assay.engine.index import Index
from assay.model.operations import DueKind
from assay.store.port import Deadline

RUN, TIMER = DueKind.RUN, DueKind.TIMER


def test_what_is_due_comes_earliest_first_and_once() -> None:
    deadlines = Deadlines()
    for no, at in ((1, 30), (2, 10), (3, 20), (4, 40)):
        deadlines.set(RUN, no, at)
    assert deadlines.take_due(30, 10) == [(RUN, 2), (RUN, 3), (RUN, 1)]
    assert deadlines.take_due(30, 10) == []
    assert deadlines.next_at() == 40


def test_no_more_are_taken_than_asked_for() -> None:
    deadlines = Deadlines()
    for no in range(5):
        deadlines.set(RUN, no, no)
    assert deadlines.take_due(9, 2) == [(RUN, 0), (RUN, 1)]
    assert deadlines.next_at() == 2
    assert deadlines.take_due(9, 0) == []


@pytest.mark.parametrize(
    ("moves", "due_at"),
    [
        ((10,), 10),
        ((10, 20), 20),
        ((20, 10), 10),
        ((10, 20, 10), 10),
        ((10, None), None),
        ((None,), None),
        ((10, None, 10), 10),
    ],
)
def test_the_last_word_counts(moves: tuple[int | None, ...], due_at: int | None) -> None:
    deadlines = Deadlines()
    for at in moves:
        deadlines.set(TIMER, 1, at)
    assert deadlines.next_at() == due_at
    assert deadlines.take_due(100, 10) == ([] if due_at is None else [(TIMER, 1)])
    assert deadlines.take_due(100, 10) == []


def test_rows_of_different_kinds_are_different_rows() -> None:
    deadlines = Deadlines()
    deadlines.set(RUN, 1, 10)
    deadlines.set(TIMER, 1, 20)
    deadlines.set(RUN, 1, None)
    assert dict(deadlines.rows()) == {(TIMER, 1): 20}
    deadlines.clear()
    assert (deadlines.next_at(), list(deadlines.rows())) == (None, [])


def test_deadlines_that_are_moved_on_and_on_take_no_room() -> None:
    deadlines = Deadlines()
    for at in range(10_000):
        deadlines.set(RUN, at % 3, at)
    assert len(deadlines._heap) < 1_100
    assert deadlines.take_due(10_000, 10) == [(RUN, 1), (RUN, 2), (RUN, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), st.integers(0, 20))), max_size=60),
    st.integers(0, 20),
)
def test_any_moves_leave_what_a_dict_would(moves: list[tuple[int, int | None]], now: int) -> None:
    deadlines, wanted = Deadlines(), dict[int, int]()
    for no, at in moves:
        deadlines.set(RUN, no, at)
        wanted.pop(no, None)
        if at is not None:
            wanted[no] = at
    due = deadlines.take_due(now, 100)
    assert sorted(due) == sorted((RUN, no) for no, at in wanted.items() if at <= now)
    assert [wanted[no] for _, no in due] == sorted(wanted[no] for _, no in due)
    assert deadlines.next_at() == min((at for at in wanted.values() if at > now), default=None)


def test_what_the_store_says_later_moves_nothing_that_is_known() -> None:
    """On a shared store what is another's share is read with some courtesy (contract §10.1)."""
    index = Index()
    index.deadlines.set(TIMER, 1, 100)
    index.load_deadlines([Deadline(120, TIMER, 1), Deadline(80, TIMER, 2), Deadline(90, TIMER, 2)])
    assert dict(index.deadlines.rows()) == {(TIMER, 1): 100, (TIMER, 2): 80}
    index.load_deadlines([Deadline(60, TIMER, 1)])
    assert index.deadlines.next_at() == 60
