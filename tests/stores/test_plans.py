"""How PostgreSQL goes about the statements of the hot path: by index, and without touching one."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from msgspec.structs import replace

from assay.model.activity import Activity
from assay.model.attempt import Attempt, Forgotten
from assay.model.decision import (
    Attribute,
    Change,
    Count,
    Decision,
    NamespaceChange,
    SignalRequest,
)
from assay.model.run import Run
from assay.model.snapshot import Snapshot
from assay.model.states import RunStatus
from assay.store.port import Batch
from assay.store.postgres import dispatch
from assay.store.postgres.commit import _PARTS, statement_of
from assay.store.postgres.committer import SETTINGS
from assay.store.postgres.loading import CASES
from tests.stores.places import Place, run
from tests.stores.plans import complaints, postgres_plan, whole_indexes
from tests.stores.rows import (
    NOW,
    a_run,
    a_schedule,
    a_timer,
    a_worker,
    an_activity,
    an_event,
    changed,
    gone,
    new,
    voided,
    write,
)

WHOLE = Decision(
    at=NOW,
    runs=(new(a_run(8)), changed(a_run(2)), gone(a_run(3))),
    activities=(new(an_activity(8, 8)), changed(an_activity(2, 2)), gone(an_activity(3, 3))),
    timers=(new(a_timer(8, 8)), changed(a_timer(2, 2)), gone(a_timer(3, 3))),
    events=(an_event(2, 3),),
    voided=(voided(2, 1, by=3),),
    attempts=(Attempt(2, 2, 1, "w", NOW, NOW, "no"),),
    forgotten=(Forgotten(2, 3),),
    workers=(a_worker("w"),),
    schedules=(new(a_schedule(8)), changed(a_schedule(2)), gone(a_schedule(3))),
    snapshots=(Snapshot(2, 3, "{}", NOW),),
    requests=(SignalRequest(2, "again"),),
    namespaces=(NamespaceChange("come", created=True), NamespaceChange("gone", created=False)),
    purged=(3,),
    attributes_added=(Attribute("main", "a", "1", NOW, 8),),
    attributes_removed=(Attribute("main", "a", "1", NOW, 3),),
    counts=(Count("main", RunStatus.PENDING, 1),),
)
# What waits to be numbered is never much.
SHORT = {"batch_waiting"}
STATEMENTS = {
    "commit": statement_of(Batch(1, 1, WHOLE))[0],
    "cases": CASES,
    "ready": dispatch.READY,
    "sweep": dispatch.SWEEP,
}


def test_the_statement_with_everything_is_made_of_all_parts() -> None:
    statement, _ = statement_of(Batch(1, 1, WHOLE))
    assert all(f"{name} AS (" in statement for name in _PARTS)


@pytest.mark.parametrize("rows", [0, 5000], ids=["empty", "filled"])
@pytest.mark.parametrize("counted", [False, True], ids=["", "counted"])
def test_no_statement_of_the_hot_path_reads_a_whole_table(
    shared_place: Place, rows: int, counted: bool
) -> None:
    """Also when it is planned while tables are empty, or before anybody counted their rows."""

    async def work() -> None:
        async with shared_place.opened() as instance:
            many = range(10, 10 + rows)
            await write(
                instance,
                runs=[new(a_run(no)) for no in many],
                activities=[new(an_activity(no, no)) for no in many],
                timers=[new(a_timer(no, no)) for no in many],
                events=[an_event(no, 1) for no in many],
                attempts=[Attempt(no, no, 1, "w", NOW, NOW, "no") for no in many],
                snapshots=[Snapshot(no, 1, "{}", NOW) for no in many],
                requests=[SignalRequest(no, "again") for no in many],
                attributes_added=[Attribute("main", "a", "1", NOW, no) for no in many],
            )
            if counted:
                connection = await asyncpg.connect(shared_place.address)
                await connection.execute("VACUUM ANALYZE")
                await connection.close()
            for name, statement in STATEMENTS.items():
                plan = await postgres_plan(shared_place, statement, SETTINGS)
                assert complaints(plan) == [], name
                if rows or not counted:  # of what is known to be nothing, any index is as good
                    # What an operator's retry makes void may be looked for longer, for a minute.
                    retried = set() if rows else {"event_pkey"}
                    assert whole_indexes(plan) <= SHORT | retried, name

    run(work())


def test_a_step_touches_no_index(shared_place: Place) -> None:
    """Claim, report, renew: rows that find room on their page stay there (heap-only updates)."""

    async def work() -> None:
        async with shared_place.opened() as instance:
            rows = [(a_run(no), an_activity(no, no)) for no in (2, 3, 4)]
            await write(
                instance,
                runs=[new(row) for row, _ in rows],
                activities=[new(part) for _, part in rows],
            )
            for turn in (1, 2, 3):
                later = [stepped(row, part, turn) for row, part in rows]
                await write(
                    instance,
                    runs=[Change(was[0], now[0]) for was, now in zip(rows, later, strict=True)],
                    activities=[
                        Change(was[1], now[1]) for was, now in zip(rows, later, strict=True)
                    ],
                    events=[an_event(row.no, turn) for row, _ in rows],
                )
                rows = later
        assert await updates(shared_place) == {"activity": (9, 9), "run": (9, 9)}

    run(work())


def stepped(row: Run, part: Activity, turn: int) -> tuple[Run, Activity]:
    """What a step changes of a run, and a heartbeat of an activity.

    At its claim and at its end an activity enters or leaves an index anyway: of those that are
    ready, of those that are open.
    """
    task = {"ver": turn, "claim_token": turn, "claimed_by": f"w{turn}", "claim_until": NOW + turn}
    after = replace(row, last_seq=turn, updated_at=turn, **task)
    return after, replace(part, last_heartbeat=turn, details=str(turn), **task)


async def updates(place: Place) -> dict[str, tuple[int, int]]:
    connection = await asyncpg.connect(place.address)
    try:
        # Sessions tell what they did when they end, and not at the very moment.
        while True:
            rows = await connection.fetch(
                "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
                " WHERE relname IN ('run', 'activity') ORDER BY relname"
            )
            if all(row[1] for row in rows):
                return {row[0]: (row[1], row[2]) for row in rows}
            await asyncio.sleep(0.01)
    finally:
        await connection.close()
