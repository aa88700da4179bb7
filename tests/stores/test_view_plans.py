"""How both databases go about what clients look at: down an index, in its order."""

from __future__ import annotations

from importlib.resources import files

import apsw
import asyncpg
import pytest

from assay.model.attempt import Attempt
from assay.store.postgres.dialect import speak as speak_postgres
from assay.store.postgres.line import BY_INDEX
from assay.store.queries import load_queries
from assay.store.sqlite.dialect import speak as speak_sqlite
from assay.store.sqlite.schema import migrate
from tests.stores.places import Place, run
from tests.stores.plans import BIG, complaints, indexes, postgres_plan, sqlite_plan, whole_indexes
from tests.stores.rows import (
    NOW,
    a_run,
    a_schedule,
    a_timer,
    a_worker,
    an_activity,
    an_event,
    new,
    write,
)

OVERLAY = (files("assay.store") / "postgres" / "overlay.sql").read_text()
POSTGRES = load_queries(speak_postgres, OVERLAY)
SQLITE = load_queries(speak_sqlite)

# Each list, and the index it is a walk down; what else it touches it finds by key.
WALKS = {
    "list_by_status": "run_by_status",
    "list_by_type": "run_by_type",
    "sift_by_status": "run_by_status",
    "sift_by_type": "run_by_type",
    "sift_by_claimer": "run_by_claimer",
    "sift_by_attribute": "attribute_found",
    "weigh_attributes": "attribute_found",
    "weigh_status": "run_by_status",
    "weigh_type": "run_by_type",
    "weigh_claimer": "run_by_claimer",
}
BY_KEY = {"run_pkey", "event_pkey", "attribute_found"}
VIEWS = (
    "run_views",
    "activity_views",
    "attempts",
    "children",
    "situation",
    "snapshot",
    "schedules_of",
    "all_namespaces",
    "histories",
    "events_ascending",
    "events_descending",
    "run_counts",
    "workers",
    "queues",
    "namespace_stats",
)
# Bounded by what is under way, not by what there is.
SHORT = {"run_claimed", "activity_claimed", "batch_waiting"}


@pytest.mark.parametrize("rows", [0, 2000], ids=["empty", "filled"])
@pytest.mark.parametrize("counted", [False, True], ids=["", "counted"])
def test_no_view_reads_a_whole_table_of_postgres(
    shared_place: Place, rows: int, counted: bool
) -> None:
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
                workers=[a_worker(f"w{no}") for no in many],
                schedules=[new(a_schedule(no)) for no in many],
            )
        if counted:
            connection = await asyncpg.connect(shared_place.address)
            await connection.execute("VACUUM ANALYZE")
            await connection.close()
        for name in (*WALKS, *VIEWS):
            plan = await postgres_plan(shared_place, POSTGRES[name], BY_INDEX)
            assert complaints(plan) == [], name
            if rows or not counted:  # of what is known to be nothing, any index is as good
                # A plan is kept: what was made of a new table must do for a full one.
                assert whole_indexes(plan) <= SHORT, name
        for name, walk in WALKS.items() if rows else ():
            plan = await postgres_plan(shared_place, POSTGRES[name], BY_INDEX)
            under_way = {"run_by_status"} if walk == "run_by_claimer" else set()
            assert walk in indexes(plan), name
            assert indexes(plan) <= {walk} | BY_KEY | under_way, name

    run(work())


@pytest.fixture
def connection() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    migrate(connection)
    return connection


@pytest.mark.parametrize("name", [*WALKS, *VIEWS])
def test_no_view_reads_a_whole_table_of_sqlite(connection: apsw.Connection, name: str) -> None:
    for _, step in sqlite_plan(connection, SQLITE[name]):
        if step.startswith("SCAN ") and not any(short in step for short in SHORT):
            assert step.split()[1] not in BIG or "CONSTANT ROW" in step, step
        assert "AUTOMATIC" not in step or "staffed" in step or "held" in step, step


@pytest.mark.parametrize("name", WALKS)
def test_lists_are_walks_in_the_order_of_an_index(connection: apsw.Connection, name: str) -> None:
    plan = sqlite_plan(connection, SQLITE[name])
    # The attributes of a run are the primary key of a table that is its own index.
    walk = "SEARCH entry" if name == "weigh_attributes" else WALKS[name]
    walk = "SEARCH attribute USING PRIMARY KEY" if name == "sift_by_attribute" else walk
    assert any(walk in step for _, step in plan), plan
    for above, step in plan:
        if step.startswith("SEARCH run"):
            allowed = (WALKS[name], "PRIMARY KEY", "run_by_status")
            assert any(index in step for index in allowed), step
        if step == "USE TEMP B-TREE FOR ORDER BY":
            assert above == 0, "only the page that was found is sorted"
