"""The stored event stream: numbers without a gap, pages, forgetting, and the counts beside it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import hypothesis
import pytest
from hypothesis import strategies as st

from assay.model.decision import Count
from assay.model.frame import Frame
from assay.model.states import RunStatus
from assay.store.port import Chore, Stale
from assay.store.postgres import stream as postgres_stream
from assay.store.sqlite import stream as sqlite_stream
from assay.store.stream import Bounds, FrameRow
from tests.stores.places import Instance, Place, run
from tests.stores.rows import NOW, ODD_TEXTS, a_run, attempt, new, write

ALL = 10**9


def a_frame(name: str = "wf", **details: str | int | None) -> Frame:
    return Frame("signal_received", "main", name, details)


def some(size: int, mark: int = 0) -> list[Frame]:
    return [a_frame(f"wf-{mark}-{number}") for number in range(size)]


async def tell(instance: Instance, *sizes: int, at: int = NOW) -> None:
    """One commit for each size, with so many frames; all of them are numbered then."""
    for size in sizes:
        await write(instance, at=at, frames=some(size, instance.batches + 1))
    await instance.store.stream.number_all()


async def rows(instance: Instance, after: int = 0, most: int = 10) -> list[FrameRow]:
    """Everything after a number, read page by page."""
    found: list[FrameRow] = []
    while page := await instance.store.stream.page(after, most):
        found += page
        after = page[-1].last
    return found


async def numbered(instance: Instance, after: int = 0) -> dict[int, Frame]:
    """Frames by number; that no number is missing is checked."""
    found: dict[int, Frame] = {}
    before = after
    for row in await rows(instance, after):
        assert before in (after, row.before)
        before = row.last
        frames = row.frames()
        assert len(frames) == row.size
        found.update({row.before + place: frame for place, frame in enumerate(frames, 1)})
    return found


async def bounds(instance: Instance) -> Bounds:
    return await instance.store.stream.bounds()


# -- numbers -------------------------------------------------------------------------------------


def test_frames_have_numbers_without_a_gap_in_the_order_of_their_commits(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            assert await bounds(instance) == Bounds(0, 0)
            await tell(instance, 1, 3, 0, 2)
            found = await numbered(instance)
            assert list(found) == [1, 2, 3, 4, 5, 6]
            names = ["wf-1-0", "wf-2-0", "wf-2-1", "wf-2-2", "wf-4-0", "wf-4-1"]
            assert [frame.workflow_id for frame in found.values()] == names
            assert await bounds(instance) == Bounds(0, 6)

    run(work())


def test_a_commit_that_fails_takes_no_number(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(instance, runs=[new(a_run(2))], frames=some(2))
            outcome = await attempt(instance, runs=[new(a_run(2))], frames=some(5))
            assert outcome == Stale()
            await tell(instance, 1)
            assert list(await numbered(instance)) == [1, 2, 3]

    run(work())


def test_numbers_go_on_after_a_restart_also_when_all_was_forgotten(lasting_place: Place) -> None:
    async def work() -> None:
        async with lasting_place.opened() as instance:
            await tell(instance, 2)
        async with lasting_place.opened() as instance:
            await tell(instance, 1)
            assert list(await numbered(instance)) == [1, 2, 3]
            assert await instance.store.stream.prune(NOW + 1, ALL) == 3
            assert await bounds(instance) == Bounds(3, 3)
        async with lasting_place.opened() as instance:
            assert await bounds(instance) == Bounds(3, 3)
            await tell(instance, 1)
            assert list(await numbered(instance, 3)) == [4]

    run(work())


def test_words_come_back_as_they_were(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            told = [a_frame(text, error=text, number=2**53 + 1, nothing=None) for text in ODD_TEXTS]
            await write(instance, frames=told)
            await instance.store.stream.number_all()
            assert list((await numbered(instance)).values()) == told

    run(work())


def test_who_asked_is_told_that_there_is_more(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            news = asyncio.Event()
            instance.store.stream.on_news(news.set)
            await write(instance, frames=some(1))
            await asyncio.wait_for(news.wait(), 5)
            assert await rows(instance)
            instance.store.stream.on_news(None)
            await tell(instance, 1)

    run(work())


# -- pages ---------------------------------------------------------------------------------------


def test_a_page_begins_with_the_commit_that_holds_the_next_number(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await tell(instance, 2, 5, 1, 1)
            page = instance.store.stream.page
            ends = {
                (0, 0): [2],
                (0, 5): [2, 7],
                (1, 100): [2, 7, 8, 9],
                (3, 0): [7],
                (3, 1): [7, 8],
                (8, 100): [9],
                (9, 100): [],
                (50, 100): [],
            }
            for (after, most), expected in ends.items():
                assert [row.last for row in await page(after, most)] == expected
            [row] = await page(8, 1)
            assert (row.before, row.size, row.at) == (8, 1, NOW)

    run(work())


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.integers(0, 6), max_size=12), st.integers(0, 8))
def test_pages_of_any_length_hold_everything_once(sizes: list[int], most: int) -> None:
    async def work() -> None:
        async with Place("sqlite-memory", ":memory:").opened() as instance:
            await tell(instance, *sizes)
            found = await rows(instance, 0, most)
            assert [row.size for row in found] == [size for size in sizes if size]
            for after in range(sum(sizes)):
                assert (await instance.store.stream.page(after, most))[0].before <= after

    run(work())


# -- forgetting ----------------------------------------------------------------------------------


def test_what_is_too_old_goes_and_the_rest_stays(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            for age in (30, 20, 10):
                await tell(instance, 2, at=NOW - age)
            prune = instance.store.stream.prune
            assert await prune(NOW - 30, ALL) == 0
            assert await prune(NOW - 29, ALL) == 2
            assert await prune(NOW - 29, ALL) == 0
            assert await bounds(instance) == Bounds(2, 6)
            assert list(await numbered(instance, 2)) == [3, 4, 5, 6]
            # Who stands before what is gone can tell: the page does not go on where he is.
            assert (await instance.store.stream.page(1, 10))[0].before == 2
            assert await prune(NOW - 10, ALL) == 2
            assert await prune(NOW, ALL) == 2
            assert await bounds(instance) == Bounds(6, 6)

    run(work())


def test_what_is_too_much_goes_the_oldest_first(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await tell(instance, 3, 3, 3, 1)
            prune = instance.store.stream.prune
            assert await prune(0, 10) == 0
            assert await prune(0, 9) == 3
            assert await prune(0, 7) == 0
            assert await prune(0, 5) == 3
            assert list(await numbered(instance, 6)) == [7, 8, 9, 10]
            assert await prune(0, 0) == 4

    run(work())


@pytest.mark.parametrize("limit", ["ROWS_PRUNED_AT_ONCE", "FRAMES_PRUNED_AT_ONCE"])
def test_much_is_forgotten_in_steps(
    place: Place, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_stream, postgres_stream):
        monkeypatch.setattr(module, limit, 2)

    async def work() -> None:
        async with place.opened() as instance:
            await tell(instance, 1, 1, 1, 1, 1)
            steps = [await instance.store.stream.prune(NOW + 1, ALL) for _ in range(4)]
            assert sum(steps) == 5
            assert max(steps) <= 3
            assert steps[-1] == 0

    run(work())


def test_clocks_that_differ_a_little_leave_no_gap(place: Place) -> None:
    """Instances are not exactly of one time: what goes is all up to the last that is too old."""

    async def work() -> None:
        async with place.opened() as instance:
            for at in (NOW, NOW - 5, NOW + 5):
                await tell(instance, 1, at=at)
            assert await instance.store.stream.prune(NOW, ALL) == 2
            assert list(await numbered(instance, 2)) == [3]

    run(work())


def test_what_is_forgotten_of_batches_takes_no_frames_along(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await tell(instance, 1, 1, 1, at=NOW + 7)
            await instance.store.prune_batches(instance.no, instance.batches)
            assert list(await numbered(instance)) == [1, 2, 3]
            assert await instance.store.clock_floor() == NOW + 7
            assert await instance.store.settle(instance.no, instance.batches)

    run(work())


# -- counts --------------------------------------------------------------------------------------


def count(namespace: str, status: RunStatus, by: int) -> Count:
    return Count(namespace, status, by)


@contextlib.asynccontextmanager
async def two_instances(place: Place) -> AsyncIterator[tuple[Instance, Instance]]:
    """Two where that is possible, else one and the same."""
    async with contextlib.AsyncExitStack() as stack:
        one = await stack.enter_async_context(place.opened())
        if place.kind != "postgres":
            yield one, one
        else:
            yield one, await stack.enter_async_context(place.opened())


def test_counts_show_what_was_committed_a_moment_ago(place: Place) -> None:
    async def work() -> None:
        async with two_instances(place) as (one, other):
            pending, running = RunStatus.PENDING, RunStatus.RUNNING
            for turn in range(1, 8):
                await write(one, counts=[count("main", pending, 2), count("other", pending, 1)])
                move = [count("main", pending, -2), count("main", running, 2)]
                await write(other, counts=move, frames=some(1))
                for instance in (one, other):
                    reading = instance.store.reading
                    assert await reading.run_counts("main") == {running: 2 * turn}
                    assert await reading.run_counts("other") == {pending: turn}
                    assert await reading.run_counts("nobody") == {}

    run(work())


def test_counts_are_there_after_a_restart(lasting_place: Place) -> None:
    async def work() -> None:
        for turn in (1, 2):
            async with lasting_place.opened() as instance:
                await write(instance, counts=[count("main", RunStatus.FAILED, 1)])
                assert await instance.store.reading.run_counts("main") == {RunStatus.FAILED: turn}

    run(work())


# -- chores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["prune_stream", "one that is new"])
def test_of_all_who_ask_for_a_chore_one_gets_it(place: Place, name: str) -> None:
    async def work() -> None:
        async with two_instances(place) as (one, other):
            takers = [one.store.take_chore, other.store.take_chore] * 4
            for now in (NOW, NOW + 10):
                asked = [take(name, now, now + 10) for take in takers]
                answers = await asyncio.gather(*asked)
                assert sorted(taken for taken, _ in answers) == [False] * 7 + [True]
                assert {due_at for _, due_at in answers} == {now + 10}
            assert await takers[0](name, NOW + 19, 0) == Chore(False, NOW + 20)

    run(work())
