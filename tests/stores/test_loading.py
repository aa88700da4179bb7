"""Rows by key: whole cases, nothing twice, all from one moment, and locked when asked to."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from assay.core.view import Key, Need
from assay.model.events import EventType
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.store.port import Committed, Loaded, Stale
from tests.stores.places import Instance, Place, run
from tests.stores.rows import (
    NOW,
    a_run,
    a_timer,
    an_activity,
    an_event,
    attempt,
    changed,
    load,
    new,
    runs,
    write,
)

OVER = {"status": ActivityStatus.COMPLETED, "completed_at": NOW}
ENDED = {"status": RunStatus.COMPLETED, "completed_at": NOW, "result_seq": 2}


async def fill(instance: Instance) -> None:
    """Two open runs with parts, an ended one, and a family."""
    await write(
        instance,
        runs=[
            new(a_run(2)),
            new(a_run(3)),
            new(a_run(4, **ENDED)),
            new(a_run(5, parent_no=2, parent_id="wf-2", child_id="wf-5")),
            new(a_run(6, parent_no=2, parent_id="wf-2", child_id="wf-6", **ENDED)),
            new(a_run(7, parent_no=3, parent_id="wf-3", child_id="c")),
        ],
        activities=[
            new(an_activity(20, 2, 1, **OVER)),
            new(an_activity(21, 2, 2)),
            new(an_activity(22, 2, 3, status=ActivityStatus.RUNNING)),
            new(an_activity(30, 3, 1)),
            new(an_activity(40, 4, 1)),
        ],
        timers=[
            new(a_timer(20, 2, 1, state=TimerState.FIRED)),
            new(a_timer(21, 2, 2)),
            new(a_timer(30, 3, 1, state=TimerState.SILENCED)),
        ],
        events=[
            an_event(2, 1, '{"input":1}'),
            an_event(2, 2, '{"child_workflow_id":"wf-6"}', type=EventType.CHILD_WORKFLOW_COMPLETED),
            an_event(2, 3, '{"child_workflow_id":"x"}', type=EventType.CHILD_WORKFLOW_FAILED),
            an_event(3, 1, None),
            an_event(6, 2, '{"result":6}'),
        ],
    )


def found(loaded: Loaded) -> dict[str, list[int]]:
    return {
        "runs": sorted(row.no for row in loaded.runs),
        "activities": sorted(row.no for row in loaded.activities),
        "timers": sorted(row.no for row in loaded.timers),
    }


CASES: dict[str, tuple[tuple[Key, ...], dict[str, list[int]]]] = {
    "by id": (
        (Key(Need.RUN_BY_ID, "wf-2"), Key(Need.RUN_BY_ID, "nobody")),
        {"runs": [2], "activities": [21, 22], "timers": [21]},
    ),
    "by number": (
        (Key(Need.RUN, 2), Key(Need.RUN, 99)),
        {"runs": [2], "activities": [21, 22], "timers": [21]},
    ),
    "both ways at once": (
        (Key(Need.RUN, 2), Key(Need.RUN_BY_ID, "wf-2"), Key(Need.RUN, 2), Key(Need.RUN, 3)),
        {"runs": [2, 3], "activities": [21, 22, 30], "timers": [21]},
    ),
    "an ended run comes with what still runs of it": (
        (Key(Need.RUN, 4),),
        {"runs": [4], "activities": [40], "timers": []},
    ),
    "an activity brings its run": (
        (Key(Need.ACTIVITY, 20), Key(Need.ACTIVITY, 99)),
        {"runs": [2], "activities": [20, 21, 22], "timers": [21]},
    ),
    "an activity of an ended run": (
        (Key(Need.ACTIVITY, 40),),
        {"runs": [4], "activities": [40], "timers": []},
    ),
    "a timer brings its run": (
        (Key(Need.TIMER, 30),),
        {"runs": [3], "activities": [30], "timers": [30]},
    ),
    "by place": (
        (Key(Need.ACTIVITY_AT, 2, 1), Key(Need.TIMER_AT, 2, 1), Key(Need.TIMER_AT, 3, 9)),
        {"runs": [2], "activities": [20, 21, 22], "timers": [20, 21]},
    ),
    "children": (
        (Key(Need.OPEN_CHILDREN, 2), Key(Need.OPEN_CHILDREN, 3), Key(Need.OPEN_CHILDREN, 4)),
        {"runs": [5, 7], "activities": [], "timers": []},
    ),
    "nothing": ((), {"runs": [], "activities": [], "timers": []}),
    "names that cannot be": (
        (Key(Need.RUN, 2**63), Key(Need.ACTIVITY, 10**30), Key(Need.RUN, 3)),
        {"runs": [3], "activities": [30], "timers": []},
    ),
}


@pytest.mark.parametrize("lock", [False, True], ids=["", "locked"])
def test_keys_bring_their_rows_once(place: Place, lock: bool) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await fill(instance)
            for name, (keys, wanted) in CASES.items():
                assert found(await load(instance, *keys, lock=lock)) == wanted, name

    run(work())


def test_of_a_request_on_its_way_down_the_children_are_read_that_it_has_not_reached(
    place: Place,
) -> None:
    """One parent is asked by 9, and that goes on; one was asked by it, and that is over."""

    async def work() -> None:
        async with place.opened() as instance:
            family = [
                a_run(parent * 10 + at, parent_no=parent, parent_id="p", child_id="c", asked_by=by)
                for parent in (2, 3)
                for at, by in enumerate((None, 7, 9, parent * 10 + 3))
            ]
            parents = [a_run(2, asked_by=9, cascade="null"), a_run(3, asked_by=9)]
            await write(instance, runs=[new(run) for run in (*parents, *family)])
            keys = [Key(Need.OPEN_CHILDREN, no) for no in (2, 3)]
            loaded = await load(instance, *keys)
            children = {no: row.nos for no, row in loaded.open_children.items()}
            assert children == {2: (20, 21, 23), 3: (30, 31, 32, 33)}

    run(work())


def test_the_rest_of_what_decisions_ask_for(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await fill(instance)
            loaded = await load(
                instance,
                Key(Need.OPEN_CHILDREN, 2),
                Key(Need.OPEN_CHILDREN, 4),
                Key(Need.PAYLOAD, 2, 1),
                Key(Need.PAYLOAD, 6, 2),
                Key(Need.PAYLOAD, 3, 1),
                Key(Need.TOLD_CHILDREN, 2),
                Key(Need.TOLD_CHILDREN, 3),
                Key(Need.NAMESPACE, "main"),
                Key(Need.NAMESPACE, "nowhere"),
                Key(Need.WHOLE_RUN, 2),
            )
            assert {no: row.nos for no, row in loaded.open_children.items()} == {2: (5,), 4: ()}
            assert loaded.payloads[(2, 1)] == '{"input":1}'
            assert loaded.payloads[(6, 2)] == '{"result":6}'
            assert loaded.payloads[(3, 1)] is None
            assert loaded.told_children == {2: frozenset({"wf-6", "x"}), 3: frozenset()}
            assert loaded.namespaces == ["main"]
            whole = loaded.whole_runs[2]
            assert [row.no for row in whole.activities] == [20, 21, 22]
            assert [row.no for row in whole.timers] == [20, 21]
            assert [event.seq for event in whole.events] == [1, 2, 3]
            assert [child.no for child in whole.ended_children] == [6]

    run(work())


def test_a_run_and_its_parts_are_from_one_moment(shared_place: Place) -> None:
    """Every commit moves a run and its activity together; no load may see them apart."""

    async def work() -> None:
        async with shared_place.opened() as writer, shared_place.opened() as reader:
            one, part = a_run(2), an_activity(2, 2)
            await write(writer, runs=[new(one)], activities=[new(part)])
            done = asyncio.Event()

            async def look() -> int:
                looks = 0
                while not done.is_set():
                    loaded = await load(reader, Key(Need.ACTIVITY, 2), Key(Need.RUN_BY_ID, "wf-2"))
                    assert loaded.runs[0].ver == loaded.activities[0].ver
                    looks += 1
                return looks

            looking = asyncio.create_task(look())
            for ver in range(300):
                one, part = a_run(2, ver=ver), an_activity(2, 2, ver=ver)
                await write(writer, runs=[changed(one)], activities=[changed(part)])
            done.set()
            assert await looking > 10

    run(work())


# --- locks --------------------------------------------------------------------------------------


def test_locked_rows_wait_for_their_commit(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as holder, shared_place.opened() as other:
            await fill(holder)
            mine = (await load(holder, Key(Need.RUN, 2), lock=True)).runs[0]
            theirs = asyncio.create_task(attempt(other, runs=[changed(mine, last_seq=7)]))
            await somebody_waits(shared_place)
            assert not theirs.done()
            await write(holder, runs=[changed(mine, last_seq=8)])
            assert await theirs == Stale()
            assert (await runs(other, 2))[2].last_seq == 8

    run(work())


def test_locks_are_kept_while_more_rows_are_asked_for(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as holder, shared_place.opened() as other:
            await fill(holder)
            mine = (await load(holder, Key(Need.RUN, 2), lock=True)).runs[0]
            await load(holder, Key(Need.OPEN_CHILDREN, 2), lock=True)
            theirs = asyncio.create_task(attempt(other, runs=[changed(mine)]))
            await somebody_waits(shared_place)
            await write(holder, runs=[changed(mine)])
            assert await theirs == Stale()

    run(work())


def test_locks_end_with_the_next_plain_load(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as holder, shared_place.opened() as other:
            await fill(holder)
            mine = (await load(holder, Key(Need.RUN, 2), lock=True)).runs[0]
            await load(holder, Key(Need.RUN, 3))
            await write(other, runs=[changed(mine)])

    run(work())


def test_locks_end_by_themselves_when_no_commit_comes(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as holder, shared_place.opened() as other:
            await fill(holder)
            mine = (await load(holder, Key(Need.RUN, 2), lock=True)).runs[0]
            await write(other, runs=[changed(mine)])
            assert await attempt(holder, runs=[changed(mine)]) == Stale()
            await write(holder, runs=[new(a_run(99))])

    run(work())


def test_a_locked_commit_that_fails_lets_go(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as holder, shared_place.opened() as other:
            await fill(holder)
            mine = (await load(holder, Key(Need.RUN, 2), lock=True)).runs[0]
            assert await attempt(holder, runs=[changed(a_run(2, ver=9))]) == Stale()
            await write(other, runs=[changed(mine)])

    run(work())


def test_two_that_lock_the_same_rows_both_get_through(shared_place: Place) -> None:
    """Neither asks for the rows in the other's order, and each comes back for more."""

    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            await fill(one)

            async def up_and_down(instance: Instance, first: int, then: int) -> int:
                won = 0
                for _ in range(2):
                    loaded = await load(instance, Key(Need.RUN, first), lock=True)
                    await asyncio.sleep(0.01)
                    more = await load(instance, Key(Need.RUN, then), lock=True)
                    rows = [changed(row) for row in (*loaded.runs, *more.runs)]
                    won += await attempt(instance, runs=rows) == Committed()
                return won

            won = await asyncio.gather(up_and_down(one, 2, 3), up_and_down(other, 3, 2))
            assert sum(won) >= 2

    run(work(), 40)


async def somebody_waits(place: Place) -> None:
    """Until a session waits for another one's lock."""
    session = await asyncpg.connect(place.address)
    try:
        while not await session.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            pass
    finally:
        await session.close()
