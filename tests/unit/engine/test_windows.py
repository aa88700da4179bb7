"""Windows on ready tasks: the longest ready first, bounded, honest about what they do not know."""

import pytest

from assay.core.claim import KEPT_FOR
from assay.engine import windows as module
from assay.engine.windows import Window, Windows
from assay.model.task import TaskKind
from assay.store.port import Look, Ready


def ready(*pairs: tuple[int, int]) -> list[Ready]:
    return [Ready(no, at, "main", "default") for no, at in pairs]


def drained(window: Window, now: int = 1_000_000) -> list[int]:
    taken = []
    while (no := window.take(now)) is not None:
        taken.append(no)
    return taken


def test_the_longest_ready_comes_first_then_the_lowest_number() -> None:
    window = Window()
    for no, at in ((1, 30), (9, 10), (2, 10), (3, 20)):
        window.add(no, at)
    assert drained(window) == [2, 9, 3, 1]


def test_what_is_not_ready_yet_is_not_taken() -> None:
    window = Window()
    window.add(1, 50)
    assert window.take(49) is None
    assert window.next_at() == 50
    assert window.take(50) == 1
    assert window.next_at() is None


def test_a_task_that_moved_is_taken_once_at_its_new_place() -> None:
    window = Window()
    window.add(1, 10)
    window.add(2, 20)
    window.add(1, 30)
    assert drained(window) == [2, 1]


def test_a_task_that_is_gone_is_not_taken() -> None:
    window = Window()
    window.add(1, 10)
    window.add(2, 20)
    window.remove(1)
    window.remove(7)
    assert drained(window) == [2]


def test_removed_and_added_again_it_comes_once() -> None:
    window = Window()
    window.add(1, 10)
    window.remove(1)
    window.add(1, 10)
    assert drained(window) == [1]


@pytest.mark.parametrize(("limit", "whole"), [(2, False), (3, True)])
def test_it_is_whole_if_the_store_had_less_than_was_asked_for(limit: int, whole: bool) -> None:
    window = Window()
    assert not window.whole
    window.load(ready((1, 10), (2, 20)), limit, 5)
    assert (window.whole, window.looked_at) == (whole, 5)


def test_a_window_that_is_not_whole_leaves_later_tasks_to_the_store() -> None:
    window = Window()
    window.load(ready((1, 10), (2, 20)), 2, 5)
    window.add(3, 30)
    window.add(4, 15)
    assert drained(window) == [1, 4, 2]
    window.load([], 2, 6)
    window.add(3, 30)
    assert drained(window) == [3]


def kept(*pairs: tuple[int, int], held: bool = False) -> list[Ready]:
    return [Ready(no, at, "main", "default", "w1", held) for no, at in pairs]


def test_what_a_worker_keeps_is_anybodys_a_second_later() -> None:
    window = Window()
    window.load([*kept((1, 10)), *ready((2, 20))], 9, 5)
    assert drained(window, 10 + KEPT_FOR - 1) == [2]
    assert window.next_at() == 10 + KEPT_FOR
    assert drained(window, 10 + KEPT_FOR) == [1]


def test_what_a_worker_holds_on_is_nobodys() -> None:
    window = Window()
    window.load(kept((1, 10), held=True), 9, 5)
    assert window.whole
    assert window.next_at() is None


@pytest.mark.parametrize(
    ("found", "whole"),
    [
        ([*ready((1, 1)), *kept((2, 2))], True),
        ([*ready((1, 1), (3, 3)), *kept((2, 2))], False),
        ([*ready((1, 1)), *kept((2, 2), (3, 3))], False),
        ([*ready((1, 1)), *kept((2, 2), (3, 3), held=True)], False),
    ],
)
def test_of_both_sorts_there_may_be_as_many_as_were_asked_for(
    found: list[Ready], whole: bool
) -> None:
    window = Window()
    window.load(found, 2, 5)
    assert window.whole is whole


def test_it_knows_what_is_ready_by_now_if_it_reaches_beyond() -> None:
    window = Window()
    assert not window.knows(0)
    window.load([], 2, 5)
    assert window.knows(100)
    window.load(ready((1, 10), (2, 20)), 2, 5)
    assert (window.knows(5), window.knows(20)) == (True, False)
    assert drained(window, 10) == [1]
    assert (window.knows(10), window.knows(19), window.knows(20)) == (True, True, False)
    assert drained(window, 20) == [2]
    assert not window.knows(19), "the next one may come any moment"


def test_what_is_kept_for_later_does_not_stand_for_what_is_ready() -> None:
    window = Window()
    window.load([*kept((1, 5)), *ready((2, 10), (3, 20))], 2, 5)
    assert drained(window, 30) == [2, 3]
    assert window.next_at() == 5 + KEPT_FOR
    assert not window.knows(30), "there may be more behind those two"


def test_what_was_taken_goes_back_however_far_it_reaches() -> None:
    window = Window()
    window.load([*kept((1, 10), (2, 20)), *ready((3, 30))], 2, 5)
    assert window.take(30) == 3
    window.add(3, 30)
    assert window.take(30) is None
    window.put_back(3, 30)
    assert window.take(30) == 3


def test_a_window_that_grows_too_large_keeps_the_longest_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WINDOW_TASKS", 3)
    window = Window()
    window.load([], 3, 0)
    for no in range(7, 0, -1):
        window.add(no, no * 10)
    assert not window.whole
    window.add(8, 80)
    assert drained(window) == [1, 2, 3]


def test_tasks_that_come_and_go_take_no_room() -> None:
    window = Window()
    for at in range(10_000):
        window.add(at % 5, at)
    assert len(window._heap) <= 2 * len(window.tasks) + 101
    assert drained(window) == [0, 1, 2, 3, 4]


def test_a_queue_has_one_window_and_of_too_many_the_wanted_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WINDOWS_KEPT", 2)
    windows = Windows()
    looks = [Look(TaskKind.WORKFLOW, None, queue) for queue in "abc"]
    first = windows.of(looks[0])
    assert windows.of(looks[0]) is first
    assert windows.of(Look(TaskKind.WORKFLOW, "main", "a")) is not first
    windows.shrink(looks)
    assert len(windows.by_look) == 2
    windows.of(looks[2])
    windows.shrink([looks[0], looks[1]])
    assert list(windows.by_look) == [looks[0]]
    assert windows.of(looks[0]) is first
