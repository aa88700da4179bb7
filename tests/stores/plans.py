"""Plans of statements as the databases make them, and what is wrong with one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Any

import apsw
import asyncpg

from assay.store.postgres.line import COMMON
from tests.stores.places import Place

Node = dict[str, Any]

BIG = (
    "run",
    "activity",
    "attempt",
    "timer",
    "event",
    "attribute",
    "snapshot",
    "signal_request",
    "worker",
    "batch",
)


FIRST_COLUMNS = """
SELECT relname, pg_get_indexdef(oid, 1, true) FROM pg_class
WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace
"""


async def postgres_plan(place: Place, statement: str, settings: str) -> list[Node]:
    """The nodes of the plan that a session with these settings makes once for all parameters."""
    connection = await asyncpg.connect(place.address)
    try:
        await connection.execute(COMMON + settings)
        await connection.execute(f"PREPARE probe AS {statement}")
        count = max(map(int, re.findall(r"\$(\d+)", statement)), default=0)
        given = f"({', '.join(['NULL'] * count)})" if count else ""
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE probe{given}")
        rows: Sequence[Any] = await connection.fetch(FIRST_COLUMNS)
        first: dict[object, str] = dict(rows)
        return [
            {**node, "First Column": first.get(node.get("Index Name"))}
            for node in nodes(json.loads(text)[0]["Plan"])
        ]
    finally:
        await connection.close()


def nodes(plan: Node) -> list[Node]:
    below = [nodes(part) for part in plan.get("Plans", ())]
    return [plan, *itertools.chain.from_iterable(below)]


def complaints(plan: list[Node]) -> list[str]:
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


def whole_indexes(plan: list[Node]) -> set[str]:
    """The indexes of big tables that are read from end to end, whatever they are compared with."""
    return {
        node["Index Name"]
        for node in plan
        if node.get("Relation Name") in BIG
        and "Index Name" in node
        and node["First Column"] not in node.get("Index Cond", "")
    }


def indexes(plan: list[Node]) -> set[str]:
    return {node["Index Name"] for node in plan if "Index Name" in node}


def sqlite_plan(connection: apsw.Connection, statement: str) -> list[tuple[int, str]]:
    """The steps of a plan, each with the number of the step above it."""
    count = max(map(int, re.findall(r"\?(\d+)", statement)), default=0)
    explained: Sequence[Any] = connection.execute(
        f"EXPLAIN QUERY PLAN {statement}", (None,) * count
    ).fetchall()
    return [(above, text) for _, above, _, text in explained]
