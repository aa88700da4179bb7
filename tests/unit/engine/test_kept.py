"""Runs with news by the worker that keeps them: hints, and only of those that are watched."""

from assay.engine.kept import Kept


def watched(*workers: str) -> Kept:
    kept = Kept()
    for worker in workers:
        kept.watch(worker)
    return kept


def test_news_of_who_is_watched_are_known() -> None:
    kept = watched("w1", "w2")
    kept.note(1, "w1", 10)
    kept.note(2, "w1", 20)
    kept.note(3, "w2", 30)
    assert kept.of("w1") == {1: 10, 2: 20}
    assert kept.of("w2") == {3: 30}
    assert (kept.is_watched("w1"), kept.is_watched("w3")) == (True, False)


def test_of_others_nothing_is_remembered() -> None:
    kept = watched("w1")
    kept.note(1, "w9", 10)
    assert kept.of("w9") == {}
    kept.watch("w9")
    assert kept.of("w9") == {}
    kept.note(1, "w9", 20)
    assert kept.of("w9") == {1: 20}


def test_the_latest_note_counts() -> None:
    kept = watched("w1", "w2")
    kept.note(1, "w1", 10)
    kept.note(1, "w1", 20)
    assert kept.of("w1") == {1: 20}
    kept.note(1, "w2", 30)
    assert (kept.of("w1"), kept.of("w2")) == ({}, {1: 30})
    kept.note(1, "w2", None)  # kept, and no news
    assert kept.of("w2") == {}
    kept.note(1, "w1", 40)
    kept.note(1, None, None)
    assert kept.of("w1") == {}
    kept.note(7, None, None)


def test_the_longest_known_comes_first() -> None:
    kept = watched("w1")
    for no in (5, 3, 4):
        kept.note(no, "w1", 10)
    kept.note(5, "w1", 20)
    assert list(kept.of("w1")) == [3, 4, 5]


def test_who_is_watched_no_longer_is_forgotten() -> None:
    kept = watched("w1")
    kept.note(1, "w1", 10)
    kept.unwatch("w1")
    kept.unwatch("w9")
    assert kept.of("w1") == {}
    kept.note(1, "w1", 20)
    kept.watch("w1")
    assert kept.of("w1") == {}


def test_watching_twice_forgets_nothing() -> None:
    kept = watched("w1")
    kept.note(1, "w1", 10)
    kept.watch("w1")
    assert kept.of("w1") == {1: 10}


def test_those_that_are_held_on_are_told_apart() -> None:
    kept = watched("w1")
    kept.note(1, "w1", 10, held=True)
    kept.note(2, "w1", 20)
    assert (kept.held_by("w1"), kept.of("w1")) == ({1: 10}, {2: 20})
    kept.note(1, "w1", 30)
    kept.note(2, "w1", 40, held=True)
    assert (kept.held_by("w1"), kept.of("w1")) == ({2: 40}, {1: 30})
    kept.unwatch("w1")
    assert (kept.held_by("w1"), kept.of("w1")) == ({}, {})
    kept.watch("w1")
    kept.note(1, "w1", 10, held=True)
    kept.forget()
    assert kept.held_by("w1") == {}


def test_everything_may_be_unknown_again() -> None:
    kept = watched("w1")
    kept.note(1, "w1", 10)
    kept.forget()
    assert kept.of("w1") == {}
    kept.note(2, "w1", 20)
    assert kept.of("w1") == {2: 20}
