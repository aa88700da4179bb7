"""Instances on one database: one clock, shared deadlines, hints to each other."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from assay.model.task import TaskKind
from assay.store.port import Look, Ready
from assay.store.postgres.clock import Offset
from assay.store.postgres.hints import read_hint, write_hint
from assay.store.postgres.limits import ALIVE_FOR, COURTESY_FOR_TIMERS, HINT_BYTES
from assay.store.postgres.peers import Peers
from assay.store.postgres.store import PostgresStore
from tests.stores.places import Instance, Place, run
from tests.stores.rows import NOW, a_run, a_timer, new, write

LOOKS = [
    Look(TaskKind.WORKFLOW, None, "default"),
    Look(TaskKind.ACTIVITY, "main", 'mail "ä" \\'),
]
CUT_ALL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def postgres(instance: Instance) -> PostgresStore:
    assert isinstance(instance.store, PostgresStore)
    return instance.store


async def execute(place: Place, statement: str) -> None:
    connection = await asyncpg.connect(place.address)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


# --- the clock ----------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [0, 3_600_000_000, -86_400_000_000])
def test_hosts_with_skewed_clocks_agree(shared_place: Place, skew: int) -> None:
    from assay.engine.clock import wall_clock

    async def work() -> None:
        store = PostgresStore(shared_place.address)
        store.compare_clock(lambda: wall_clock() + skew)
        await store.open()
        assert abs(store.clock_offset + skew) < 50_000
        await store.close()

    run(work())


def test_without_a_clock_to_compare_there_is_no_offset(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance:
            assert postgres(instance).clock_offset == 0

    run(work())


def test_the_quickest_answer_says_most_about_the_time() -> None:
    now = 0
    offset = Offset()
    offset.clock = lambda: now

    def measure(said: int, took: int) -> int:
        nonlocal now
        asked_at, now = now, now + took
        offset.note(asked_at, said)
        return offset.value

    assert measure(1_000_010, 20) == 1_000_000
    now = 1_000_000
    assert measure(2_003_000, 9_000) == 1_000_000
    now = 2_000_000
    assert measure(3_000_006, 10) == 1_000_001


def test_a_clock_that_was_set_is_believed_at_once() -> None:
    now = 0
    offset = Offset()
    offset.clock = lambda: now
    for second in range(5):
        now = second * 1_000_000
        offset.note(now, now + 700)
    assert offset.value == 700
    now = 10_000_000_000
    offset.note(now, 5_000_000)
    assert offset.value == 5_000_000 - now


# --- who lives ----------------------------------------------------------------------------------


def test_instances_know_of_each_other(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one:
            assert postgres(one).instances == 1
            async with shared_place.opened() as other:
                await one.store.deadlines(0)
                assert [postgres(one).instances, postgres(other).instances] == [2, 2]
                assert not postgres(one).lost_peer
            told: list[object] = []
            one.store.on_hint(told.append)
            await one.store.deadlines(0)
            assert postgres(one).instances == 1
            assert postgres(one).lost_peer
            assert told == [None]

    run(work())


def test_an_instance_not_heard_of_is_gone_until_it_is_heard_of_again(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            await one.store.deadlines(0)
            assert postgres(one).instances == 2
            silent = f"UPDATE instance SET alive_until = alive_until - {ALIVE_FOR}"
            await execute(shared_place, f"{silent} WHERE no = {other.no}")
            await one.store.deadlines(0)
            assert [postgres(one).instances, postgres(one).lost_peer] == [1, True]
            await other.store.deadlines(0)
            await one.store.deadlines(0)
            assert postgres(one).instances == 2

    run(work())


def test_deadlines_are_shared_out_and_nobodys_is_left_out(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            await write(one, timers=[new(a_timer(no, no)) for no in range(2, 12)])
            await one.store.deadlines(0)
            shares = []
            for instance in (one, other):
                due = await instance.store.deadlines(NOW)
                assert len(due) == 10
                assert {deadline.at for deadline in due} == {NOW, NOW + COURTESY_FOR_TIMERS}
                shares.append({deadline.no for deadline in due if deadline.at == NOW})
            assert sorted(no for share in shares for no in share) == list(range(2, 12))
            await write(one, runs=[new(a_run(no, claim_until=NOW)) for no in range(2, 12)])
            for instance, share in zip((one, other), shares, strict=True):
                due = await instance.store.claims()
                assert {deadline.no for deadline in due if deadline.at == NOW} == share
                assert len(due) == 10
        async with shared_place.opened() as alone:
            assert {deadline.at for deadline in await alone.store.deadlines(NOW)} == {NOW}

    run(work())


def one_of(everybody: list[int], me: int) -> Peers:
    peers = Peers()
    peers.begin(me)
    peers.note(everybody)
    return peers


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_every_row_is_one_instances_share_and_shares_are_equal(step: int) -> None:
    everybody = [3, 8, 9, 20]
    all_of_them = [one_of(everybody, me) for me in everybody]
    owners = [
        [peers.me for peers in all_of_them if peers.is_own(no)] for no in range(1, 4000, step)
    ]
    assert all(len(owner) == 1 for owner in owners)
    for me in everybody:
        assert owners.count([me]) == pytest.approx(len(owners) / 4, rel=0.05)


def test_an_instance_takes_its_own_share_of_ready_tasks_first() -> None:
    everybody = [1, 2]
    tasks = [Ready(no, NOW + no, "main", "default") for no in range(20)]
    now = NOW + 14
    shown = [one_of(everybody, me).own_first(tasks, now) for me in everybody]
    for me, order in zip(everybody, shown, strict=True):
        peers = one_of(everybody, me)
        own = [task.no for task in tasks[:15] if peers.is_own(task.no)]
        assert [task.no for task in order][: len(own) - 1] == own[:-1]
        assert order[15:] == tasks[15:]
        assert sorted(task.no for task in order) == list(range(20))
        assert max(task.ready_at for task in order[:15]) == now
        assert one_of([me], me).own_first(tasks, now) == tasks


def test_what_a_worker_keeps_is_as_old_for_all() -> None:
    """Or those who may have it after a second would wait for it again and again."""
    tasks = [Ready(no, NOW + no, "main", "default", "w1") for no in range(5)]
    newest = Ready(9, NOW + 9, "main", "default")
    assert one_of([1, 2], 1).own_first([*tasks, newest], NOW + 9) == [*tasks, newest]


def test_tasks_that_are_not_ready_yet_are_nobodys() -> None:
    later = [Ready(no, NOW + no, "main", "default") for no in range(5)]
    assert one_of([1, 2], 1).own_first(later, NOW - 1) == later


def test_traces_of_the_long_gone_are_removed(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as old:
            await write(old, at=NOW, runs=[new(a_run(2))])
        async with shared_place.opened() as frozen, shared_place.opened() as here:
            await write(frozen, at=NOW, runs=[new(a_run(3))])
            await write(here, at=NOW, runs=[new(a_run(4))])
            await here.store.prune_batches(here.no, 1)
            assert not await here.store.settle(old.no, 1)
            assert await here.store.settle(frozen.no, 1)
            await execute(
                shared_place, f"UPDATE instance SET alive_until = 0 WHERE no = {frozen.no}"
            )
            await here.store.prune_batches(here.no, 1)
            assert not await here.store.settle(frozen.no, 1)
            assert await here.store.settle(here.no, 1)

    run(work())


# --- hints --------------------------------------------------------------------------------------


def test_a_hint_reaches_the_others_and_not_its_sender(shared_place: Place) -> None:
    async def work() -> None:
        async with (
            shared_place.opened() as sender,
            shared_place.opened() as one,
            shared_place.opened() as other,
        ):
            heard: dict[int, asyncio.Queue[list[Look] | None]] = {}
            for instance in (sender, one, other):
                heard[instance.no] = asyncio.Queue()
                instance.store.on_hint(heard[instance.no].put_nowait)
            sender.store.hint(LOOKS[:1])
            sender.store.hint(LOOKS)
            for instance in (one, other):
                assert await asyncio.wait_for(heard[instance.no].get(), 1) == LOOKS
            one.store.hint(LOOKS[1:])
            assert await asyncio.wait_for(heard[sender.no].get(), 1) == LOOKS[1:]
            assert heard[sender.no].empty()

    run(work())


def test_hints_of_a_burst_travel_together(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as sender, shared_place.opened() as other:
            heard: asyncio.Queue[list[Look] | None] = asyncio.Queue()
            other.store.on_hint(heard.put_nowait)
            names = [f"queue-{no}" for no in range(100)]
            for name in names:
                sender.store.hint([Look(TaskKind.ACTIVITY, None, name)])
                await asyncio.sleep(0)
            told: list[str] = []
            letters = 0
            while len(told) < 100:
                looks = await asyncio.wait_for(heard.get(), 1)
                assert looks is not None
                told += [look.queue for look in looks]
                letters += 1
            assert told == names
            assert letters < 10

    run(work())


def test_a_hint_that_is_too_long_just_says_look() -> None:
    many = [Look(TaskKind.ACTIVITY, "main", "q" * 50) for _ in range(200)]
    assert read_hint(write_hint(LOOKS)) == LOOKS
    assert write_hint(many) == "look"
    assert read_hint("look") is None
    assert read_hint('[["workflow",null,') is None
    assert len(write_hint(many[:60])) <= HINT_BYTES < 8000


def test_after_a_reconnect_anything_may_have_been_missed(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as instance, shared_place.opened() as sender:
            heard: asyncio.Queue[list[Look] | None] = asyncio.Queue()
            instance.store.on_hint(heard.put_nowait)
            await execute(shared_place, CUT_ALL)
            for store in (instance.store, sender.store):
                while True:
                    try:
                        await store.deadlines(0)
                        break
                    except Exception:
                        await asyncio.sleep(0.01)
            assert await asyncio.wait_for(heard.get(), 1) is None
            sender.store.hint(LOOKS)
            assert await asyncio.wait_for(heard.get(), 1) == LOOKS

    run(work())
