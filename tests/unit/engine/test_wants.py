"""Who waits for what: first come first served on each queue, and every way to leave."""

from assay.engine.wants import Want, Wants, WantState
from assay.model.task import TaskKind
from assay.store.port import Look

A, B = (Look(TaskKind.ACTIVITY, None, queue) for queue in "ab")


def add(wants: Wants, look: Look = A, *, held: bool = True) -> Want:
    want = Want(look, "w", held=held, answer=lambda _: None)
    wants.add(want)
    return want


def waiting(wants: Wants, look: Look = A) -> list[Want]:
    found = []
    while (want := wants.first(look)) is not None:
        found.append(wants.grant(look))
        assert found[-1] is want
    wants.put_back([(want, True) for want in found])
    return found


def test_first_come_first_served_on_each_queue() -> None:
    wants = Wants()
    first, other, second = add(wants), add(wants, B), add(wants)
    assert (wants.first(A), wants.first(B)) == (first, other)
    assert wants.grant(A) is first
    assert first.state is WantState.GRANTED
    assert waiting(wants) == [second]
    assert (len(wants), wants.count(A), wants.count(B)) == (2, 1, 1)
    assert first.order < other.order < second.order


def test_a_queue_is_looked_at_when_somebody_comes() -> None:
    wants = Wants()
    add(wants)
    assert list(wants.unserved) == [A]
    wants.unserved.clear()
    add(wants, B)
    assert list(wants.unserved) == [B]


def test_what_was_granted_in_vain_goes_back_before_all_others_in_order() -> None:
    wants = Wants()
    first, second, third = add(wants), add(wants), add(wants)
    granted = [wants.grant(A), wants.grant(A)]
    wants.unserved.clear()
    wants.put_back([(want, True) for want in granted])
    assert waiting(wants) == [first, second, third]
    assert {want.state for want in granted} == {WantState.WAITING}
    assert list(wants.unserved) == [A]


def test_who_withdraws_is_served_no_more() -> None:
    wants = Wants()
    first, second = add(wants), add(wants)
    assert wants.withdraw(first)
    assert not wants.withdraw(first)
    assert waiting(wants) == [second]
    assert wants.withdraw(second)
    assert (wants.first(A), len(wants), wants.looks()) == (None, 0, [])


def test_a_task_that_is_on_its_way_cannot_be_declined() -> None:
    wants = Wants()
    want = add(wants)
    wants.grant(A)
    assert not wants.withdraw(want)
    assert not want.gone


def test_who_left_while_a_grant_was_under_way_is_passed_over_when_it_goes_back() -> None:
    wants = Wants()
    first, second = add(wants), add(wants)
    granted = wants.grant(A)
    granted.gone = True
    wants.put_back([(granted, True)])
    assert wants.first(A) is second
    assert first is granted


def test_those_that_are_not_held_leave_with_nothing() -> None:
    wants = Wants()
    add(wants)
    hasty, patient = add(wants, held=False), add(wants)
    assert wants.unheld(A, wants.arrivals) == [hasty]
    assert wants.unheld(A, wants.arrivals) == []
    assert wants.count(A) == 2
    assert wants.all()[-1] is patient
    assert wants.unheld(B, wants.arrivals) == []


def test_a_queue_that_only_hasty_ones_wait_on_is_forgotten_with_them() -> None:
    wants = Wants()
    hasty = add(wants, held=False)
    assert wants.unheld(A, wants.arrivals) == [hasty]
    assert wants.looks() == []
    assert wants.withdraw(hasty)


def test_looking_again_is_for_queues_somebody_waits_on() -> None:
    wants = Wants()
    add(wants)
    gone = add(wants, B)
    wants.withdraw(gone)
    wants.unserved.clear()
    wants.look_again()
    assert list(wants.unserved) == [A]
    wants.unserved.clear()
    wants.look_again("b")
    assert not wants.unserved
