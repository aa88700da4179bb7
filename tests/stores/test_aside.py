"""Lists that look far are read beside the loop: it goes on, and what it commits is seen."""

from __future__ import annotations

import asyncio

import pytest

from assay.errors import StoreUnavailable
from assay.store.far_lists import NEAR, SIFTING, SKIPPING, looks_far
from assay.store.listing import Listing
from assay.store.rows import RUN_COLUMNS
from assay.store.sqlite.aside import Aside
from tests.stores.places import Place, run, sqlite_file
from tests.stores.rows import a_run, new, write

WIDTH = len(RUN_COLUMNS) + 3
COUNTING = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
SLOW = f"{COUNTING} SELECT {', '.join(['max(i)'] * WIDTH)} FROM n"
QUERIES = dict.fromkeys(SIFTING | SKIPPING, SLOW)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return sqlite_file(tmp_path_factory.mktemp("aside"))


def test_the_loop_goes_on_meanwhile(place: Place) -> None:
    async def work() -> None:
        aside = Aside(place.address, QUERIES)
        reading = asyncio.ensure_future(aside.rows("sift_by_status", (2_000_000,)))
        turns = 0
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
        assert await reading == [[2_000_000] * WIDTH]
        assert turns > 1000
        aside.close()

    run(work())


def test_closing_ends_what_is_being_read(place: Place) -> None:
    async def work() -> None:
        aside = Aside(place.address, QUERIES)
        await aside.rows("sift_by_type", (1,))
        endless = [asyncio.ensure_future(aside.rows("sift_by_type", (2**62,))) for _ in range(2)]
        await asyncio.sleep(0)  # they have begun to wait
        aside.close()
        ended = await asyncio.gather(*endless, return_exceptions=True)
        kinds = (StoreUnavailable, asyncio.CancelledError)
        assert all(isinstance(each, kinds) for each in ended), ended

    run(work())


def test_what_was_just_committed_is_seen_in_its_order(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            for no in range(2, 40):
                row = a_run(no, claimed_by="w", search_attributes='{"a":"\\u0000 \\u2028 ä𝄞"}')
                await write(instance, runs=[new(row)])
                found = await instance.store.catalogue.runs(Listing("main", claimed_by="w"))
                assert row in [view.run for view in found]
                ids = [view.run.id for view in found]
                assert ids == sorted(f"wf-{each}" for each in range(2, no + 1))

    run(work())


def test_which_lists_look_far() -> None:
    page = ("main", None, 50)
    assert looks_far("sift_by_status", (*page, 0, "w"))
    assert not looks_far("list_by_status", (*page, 0))
    assert not looks_far("list_by_type", (*page, NEAR, "T"))
    assert looks_far("list_by_type", (*page, NEAR + 1, "T"))
    assert not looks_far("run_views", ("[]",))


def test_in_memory_there_is_no_other_connection() -> None:
    async def work() -> None:
        async with Place("sqlite-memory", ":memory:").opened() as instance:
            await write(instance, runs=[new(a_run(2, claimed_by="w"))])
            assert len(await instance.store.catalogue.runs(Listing("main", claimed_by="w"))) == 1

    run(work())
