"""Who takes several tasks: room that is used up and comes back, and news whatever the room."""

from assay.engine.wants import Want, Wants, WantState
from assay.model.task import TaskKind
from assay.store.port import Look

RUNS, WORK = (Look(kind, None, "q") for kind in TaskKind)


def taker(wants: Wants, room: int, look: Look = RUNS, worker: str = "w1") -> Want:
    want = Want(look, worker, held=True, answer=lambda _: None, several=True)
    want.room = room
    wants.add(want)
    return want


def poll(wants: Wants, look: Look = RUNS) -> Want:
    want = Want(look, "p", held=True, answer=lambda _: None)
    wants.add(want)
    return want


def drained(wants: Wants, look: Look = RUNS) -> list[Want]:
    given = []
    while wants.first(look) is not None:
        given.append(wants.grant(look))
    return given


def test_it_is_served_as_often_as_it_has_room() -> None:
    wants = Wants()
    want = taker(wants, 3)
    assert drained(wants) == [want] * 3
    assert (want.room, want.in_hand, want.state) == (0, 3, WantState.GRANTED)
    assert (wants.count(RUNS), len(wants)) == (0, 1)


def test_all_are_served_in_turn() -> None:
    wants = Wants()
    greedy, modest, other = taker(wants, 4), poll(wants), taker(wants, 2, worker="w2")
    assert drained(wants) == [greedy, modest, other, greedy, other, greedy, greedy]


def test_without_room_it_waits_for_news_only() -> None:
    wants = Wants()
    want = taker(wants, 0)
    negative = taker(wants, -2, worker="w2")
    assert wants.first(RUNS) is None
    assert wants.is_wanted(RUNS)
    assert not wants.is_wanted(WORK)
    assert wants.keepers_of([RUNS]) == [want, negative]
    assert wants.all() == [want, negative]
    assert list(wants.unserved) == [RUNS]


def test_who_takes_attempts_keeps_nothing() -> None:
    wants = Wants()
    want = taker(wants, 0, WORK)
    assert not want.keeps
    assert not wants.is_wanted(WORK)
    assert wants.keepers_of([WORK, RUNS]) == []
    assert len(wants) == 0


def test_news_take_up_room_unless_they_are_free() -> None:
    wants = Wants()
    want = taker(wants, 2)
    wants.grant_to(want, spends=False)
    assert (want.room, want.in_hand) == (2, 0)
    wants.grant_to(want, spends=True)
    assert (want.room, want.in_hand, wants.first(RUNS)) == (1, 1, want)
    wants.grant_to(want, spends=True)
    assert (want.room, want.in_hand, wants.first(RUNS)) == (0, 2, None)
    assert wants.keepers_of([RUNS]) == [want]


def test_what_did_not_come_about_is_room_again() -> None:
    wants = Wants()
    want, later = taker(wants, 2), poll(wants)
    granted = [(wants.grant(RUNS), True), (wants.grant(RUNS), True)]
    wants.grant_to(want, spends=True)
    wants.grant_to(want, spends=False)
    granted += [(want, True), (want, False)]
    assert [each for each, _ in granted] == [want, later, want, want]
    wants.unserved.clear()
    wants.put_back(granted)
    assert (want.room, want.in_hand, want.state) == (2, 0, WantState.WAITING)
    assert list(wants.unserved) == [RUNS]
    assert sorted(drained(wants), key=id) == sorted([want, want, later], key=id)


def test_free_news_that_did_not_come_about_are_looked_for_again() -> None:
    wants = Wants()
    want = taker(wants, 0)
    wants.unserved.clear()
    wants.grant_to(want, spends=False)
    wants.put_back([(want, False)])
    assert (want.room, want.in_hand) == (0, 0)
    assert list(wants.unserved) == [RUNS]


def test_who_is_not_there_gets_nothing() -> None:
    wants = Wants()
    want = taker(wants, 2)
    granted = wants.grant(RUNS)
    wants.retire(want)
    assert (want.gone, want.room, want.in_hand) == (True, 0, 1)
    assert (wants.first(RUNS), wants.keepers, len(wants)) == (None, {}, 0)
    wants.unserved.clear()
    wants.put_back([(granted, True)])
    assert want.in_hand == 0
    assert wants.first(RUNS) is None
    assert not wants.unserved


def test_who_comes_again_with_a_grant_under_way_has_less_room() -> None:
    """As `want_several` has it: the offer is what is left once that has arrived."""
    wants = Wants()
    want = taker(wants, 1)
    wants.grant(RUNS)
    wants.retire(want)
    want.room = 1 - want.in_hand
    wants.add(want)
    assert (want.room, wants.first(RUNS), want.gone) == (0, None, False)
    wants.put_back([(want, True)])
    assert (want.room, wants.first(RUNS)) == (1, want)
    assert drained(wants) == [want]


def test_less_room_than_is_under_way_stays_less_when_one_comes_back() -> None:
    wants = Wants()
    want = taker(wants, 2)
    granted = [(wants.grant(RUNS), True) for _ in range(2)]
    wants.retire(want)
    want.room = 1 - want.in_hand
    wants.add(want)
    wants.put_back(granted)
    assert (want.room, want.in_hand) == (1, 0)
    assert drained(wants) == [want]


def test_a_worker_is_known_by_its_latest_want() -> None:
    wants = Wants()
    before, after = taker(wants, 1), taker(wants, 1, Look(TaskKind.WORKFLOW, None, "other"))
    assert wants.keepers == {"w1": after}
    wants.retire(before)
    assert wants.keepers == {"w1": after}
    wants.retire(after)
    assert wants.keepers == {}


def test_looking_again_is_for_who_has_no_room_too() -> None:
    wants = Wants()
    taker(wants, 0)
    wants.unserved.clear()
    wants.look_again("other")
    assert not wants.unserved
    wants.look_again("q")
    assert list(wants.unserved) == [RUNS]
    wants.unserved.clear()
    wants.look_again()
    assert list(wants.unserved) == [RUNS]


def test_it_is_never_among_those_that_are_answered_at_once() -> None:
    wants = Wants()
    taker(wants, 1)
    assert not wants.has_unheld(RUNS)
    assert wants.unheld(RUNS, wants.arrivals) == []
