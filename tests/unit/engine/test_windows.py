"""Windows on ready tasks: the longest ready first, bounded, honest about what they do not know."""

import pytest

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
