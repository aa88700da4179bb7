"""How PostgreSQL goes about the statements of the hot path: by index, and without touching one."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from assay.model.activity import Activity
from assay.model.decision import Change, Decision
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.store.port import Batch
from assay.store.postgres import dispatch
from assay.store.postgres.commit import _PARTS, statement_of
from assay.store.postgres.committer import SETTINGS
from assay.store.postgres.loading import CASES
from tests.stores.places import Place, run
from tests.stores.rows import (
    NOW,
    a_run,
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

BIG = ("run", "activity", "timer", "event", "worker", "batch")

WHOLE = Decision(
    at=NOW,
    runs=(new(a_run(8)), changed(a_run(2)), gone(a_run(3))),
    activities=(new(an_activity(8, 8)), changed(an_activity(2, 2)), gone(an_activity(3, 3))),
    timers=(new(a_timer(8, 8)), changed(a_timer(2, 2)), gone(a_timer(3, 3))),
    events=(an_event(2, 3),),
    voided=(voided(2, 1, by=3),),
    workers=(a_worker("w"),),
)
ARGUMENTS: dict[str, tuple[str, list[Any]]] = {
    "cases": (CASES, [[2], ["wf-3"], [4], [5]]),
    "ready": (dispatch.READY, [["workflow"], ["main"], ["default"], 100]),
    "sweep": (dispatch.SWEEP, [1, 1, NOW, 100]),
}


async def explained(place: Place, statement: str, arguments: list[Any]) -> list[dict[str, Any]]:
    """The nodes of the plan the committer's session makes, once for all parameters."""
    connection = await asyncpg.connect(place.address)
    try:
        await connection.execute(SETTINGS)
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {statement}", *arguments)
        return list(nodes(json.loads(text)[0]["Plan"]))
    finally:
        await connection.close()


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    below = [nodes(part) for part in plan.get("Plans", ())]
    return [plan, *itertools.chain.from_iterable(below)]


def complaints(plan: list[dict[str, Any]]) -> list[str]:
    """What reads more of a big table than it was asked for, or sorts what an index has in order."""
    scans = [
        f"{node['Node Type']} on {node['Relation Name']}"
        for node in plan
        if node.get("Relation Name") in BIG
        and node["Node Type"] in ("Seq Scan", "Bitmap Heap Scan")
    ]
    joins = [node["Node Type"] for node in plan if node["Node Type"] in ("Hash Join", "Merge Join")]
    sorts = [
        f"{below['Node Type']} for a limit"
        for node in plan
        if node["Node Type"] == "Limit"
        for below in node["Plans"]
        if below["Node Type"] == "Sort"
    ]
    return scans + joins + sorts


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
            )
            if counted:
                connection = await asyncpg.connect(shared_place.address)
                await connection.execute("VACUUM ANALYZE")
                await connection.close()
            asked = {"commit": statement_of(Batch(1, 1, WHOLE)), **ARGUMENTS}
            for name, (statement, arguments) in asked.items():
                plan = await explained(shared_place, statement, arguments)
                assert complaints(plan) == [], name

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
    """What a step changes of a run and of an activity."""
    task = {"ver": turn, "claim_token": turn, "claimed_by": "w", "claim_until": NOW + turn}
    after = replace(row, status=list(RunStatus)[turn], last_seq=turn, updated_at=turn, **task)
    status = list(ActivityStatus)[turn]
    return after, replace(part, status=status, last_heartbeat=turn, attempt=turn, **task)


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
