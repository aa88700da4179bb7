"""Schemas: made at the first start, carried forward at later ones, never guessed at."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import apsw
import asyncpg
import pytest

from assay.core.view import Key, Need
from assay.errors import SchemaFault, StoreUnavailable
from assay.model.retry import RetryPolicy
from assay.store import migrate
from assay.store.catalogue import Living, NamespaceView, QueueView
from assay.store.listing import Listing
from assay.store.migrate import Migration, migrations
from assay.store.postgres.schema import migrate as migrate_postgres
from assay.store.sqlite.schema import migrate as migrate_sqlite
from tests.stores.places import Instance, Place, run, sqlite_file
from tests.stores.rows import a_run, activities, changed, load, new, runs, timers, write
from tests.support.postgres import execute, fresh_database

POSTGRES_SCHEMA = """
SELECT 'column', table_name, column_name, data_type, is_nullable, column_default
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'index', tablename, indexname, indexdef, '', '' FROM pg_indexes
WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', ''
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'function', proname, prosrc, '', '', ''
FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'table', relname, reloptions::text, '', '', ''
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
ORDER BY 1, 2, 3, 4
"""
SQLITE_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
POSTGRES_COLUMNS = """
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'
"""
WAITING = [("batch", name) for name in ("place", "size", "frames", "counts")]
SQLITE_COLUMNS = """
SELECT schema.name, columns.name FROM sqlite_schema AS schema
JOIN pragma_table_xinfo(schema.name) AS columns WHERE schema.type = 'table'
"""


def open_once(place: Place) -> None:
    async def work() -> None:
        async with place.opened():
            pass

    run(work())


def migrate_once(place: Place) -> None:
    """Bring the schema as far as the migrations go; the engine may not know such an old one."""

    async def work() -> None:
        connection = await asyncpg.connect(place.address)
        try:
            await migrate_postgres(connection)
        finally:
            await connection.close()

    if place.kind == "postgres":
        run(work())
        return
    connection = apsw.Connection(place.address)
    try:
        migrate_sqlite(connection)
    finally:
        connection.close()


def query(place: Place, text: str) -> list[tuple[object, ...]]:
    async def work() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(place.address)
        try:
            return [tuple(row) for row in await connection.fetch(text)]
        finally:
            await connection.close()

    if place.kind == "postgres":
        return run(work())
    with closing(sqlite3.connect(place.address)) as connection:
        return list(connection.execute(text))


def change(place: Place, statement: str) -> None:
    if place.kind == "postgres":
        execute(place.address, statement)
        return
    with closing(sqlite3.connect(place.address)) as connection:
        connection.execute(statement)
        connection.commit()


def schema(place: Place) -> list[tuple[object, ...]]:
    return query(place, POSTGRES_SCHEMA if place.kind == "postgres" else SQLITE_SCHEMA)


def contents(place: Place) -> list[list[tuple[object, ...]]]:
    tables = ("meta", "namespace", "schema_version")
    return [query(place, f"SELECT * FROM {table} ORDER BY 1") for table in tables]


@contextmanager
def the_first_migrations(count: int) -> Iterator[None]:
    """As if this code were that old."""

    def some(dialect: str) -> list[Migration]:
        return migrations(dialect)[:count]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "migrations", some)
        yield


def test_starting_again_changes_nothing(lasting_place: Place) -> None:
    open_once(lasting_place)
    before = schema(lasting_place)
    open_once(lasting_place)
    assert schema(lasting_place) == before
    assert len(query(lasting_place, "SELECT * FROM schema_version")) == len(
        migrations(lasting_place.kind.split("-", maxsplit=1)[0])
    )


def test_a_schema_carried_forward_is_like_a_new_one(
    lasting_place: Place,
) -> None:
    newest = len(migrations("sqlite"))
    for count in range(1, newest + 1):
        with the_first_migrations(count):
            migrate_once(lasting_place)
    carried = schema(lasting_place)
    open_once(lasting_place)
    assert schema(lasting_place) == carried
    applied = query(lasting_place, "SELECT version FROM schema_version ORDER BY version")
    assert applied == [(version,) for version in range(1, newest + 1)]


# What the first schema held: a parent and its child, both at work, an ended run, and a worker.
FIRST_ROWS = (
    "INSERT INTO namespace (name, created_at) VALUES ('other', 5)",
    """
    INSERT INTO run (no, id, run_id, namespace, type, status, created_at, updated_at, start_at,
      ver, last_seq, top_activity, top_timer, parent_no, parent_id, child_id, result_seq,
      completed_at, queue, priority, ready_at, attempt, claimed_by, claim_seq)
    VALUES
      (2, 'wf-ä', 'r2', 'main', 'order', 'RUNNING', 10, 11, 10, 3, 2, 1, 1, NULL, NULL, NULL, NULL,
       NULL, 'default', 0, NULL, 0, 'w', 1),
      (3, 'wf-child', 'r3', 'main', 'part', 'PENDING', 20, 20, 20, 0, 1, 0, 0, 2, 'wf-ä',
       'wf-child', NULL, NULL, 'default', 0, 20, 0, NULL, 0),
      (4, 'wf-done', 'r4', 'other', 'order', 'COMPLETED', 5, 9, 5, 4, 2, 0, 0, NULL, NULL, NULL, 2,
       9, 'default', 0, NULL, 0, 'w', 1)
    """,
    """
    INSERT INTO activity (no, run_no, seq, name, status, max_attempts, initial_interval_secs,
      backoff_coefficient, start_to_close_secs, scheduled_seq, wanted_seq, scheduled_at, ver,
      queue, namespace, priority, ready_at, attempt)
    VALUES (6, 2, 1, 'charge', 'PENDING', 3, 1, 2, 300, 2, 2, 11, 0, 'work', 'main', 0, 11, 1)
    """,
    """
    INSERT INTO timer (no, run_no, seq, fire_at, scheduled_seq, state, ver)
    VALUES (7, 2, 1, 99, 2, 'open', 0)
    """,
    """
    INSERT INTO event (run_no, seq, id, type, at, payload)
    VALUES (2, 1, 8, 'WorkflowStarted', 10, '{"in":1}'),
      (2, 2, 9, 'ActivityScheduled', 11, '{"activity_id":6,"input":"[1]"}'),
      (3, 1, 10, 'WorkflowStarted', 20, NULL), (4, 1, 11, 'WorkflowStarted', 5, NULL),
      (4, 2, 12, 'WorkflowCompleted', 9, '"out"')
    """,
    """
    INSERT INTO worker (id, namespace, identity, queue, max_workflows, max_activities,
      registered_at, last_seen)
    VALUES ('w', 'main', 'me', 'default', 1, 1, 10, 50)
    """,
    """
    UPDATE run SET cancel_seq = 2, cascade = 'null', expired_claimers = '["w","ä \\" b"]'
    WHERE no = 2
    """,
    "INSERT INTO batch (instance, no, at) VALUES (1, 1, 20)",
    "UPDATE meta SET value = 100 WHERE name = 'numbers'",
    "UPDATE meta SET value = 1 WHERE name = 'instances'",
)


def test_rows_of_the_first_schema_are_carried_forward(lasting_place: Place) -> None:
    with the_first_migrations(1):
        migrate_once(lasting_place)
    for statement in FIRST_ROWS:
        change(lasting_place, statement)

    async def work() -> None:
        async with lasting_place.opened() as instance:
            store = instance.store
            found = await runs(instance, 2, 3, 4)
            assert [found[no].status for no in (2, 3, 4)] == ["RUNNING", "PENDING", "COMPLETED"]
            assert (found[2].top_step, found[2].patches, found[2].successor_no) == (0, 0, None)
            assert (found[2].last_cancel_seq, found[2].asked_by) == (2, 2)
            assert (found[3].last_cancel_seq, found[3].asked_by) == (None, None)
            assert json.loads(found[2].expired_claimers or "") == [["w", 0], ['ä " b', 0]]
            activity = (await activities(instance, 6))[6]
            assert (activity.queue, activity.policy) == ("work", RetryPolicy())
            assert await store.catalogue.attempts(6) == []
            assert (await timers(instance, 7))[7].fire_at == 99
            await write(instance, runs=[changed(found[2], last_seq=3)])
            assert await store.reading.run_counts("main") == {"RUNNING": 1, "PENDING": 1}
            assert await store.reading.run_counts("other") == {"COMPLETED": 1}
            await only_new_numbers(instance)
            namespaces = await store.catalogue.namespaces()
            assert namespaces == [NamespaceView("main", 5), NamespaceView("other", 5)]
            listed = store.catalogue.runs
            assert [view.run.id for view in await listed(Listing("main"))] == ["wf-child", "wf-ä"]
            [done] = await listed(Listing("other", claimed_by="w"))
            assert (done.run.id, done.result) == ("wf-done", '"out"')
            [child] = await store.catalogue.children("wf-ä")
            assert (child.run.id, child.run.parent_id) == ("wf-child", "wf-ä")
            [worker] = await store.catalogue.workers("main", Living(40))
            assert worker.worker.id == "w"
            queues = await store.catalogue.queues("main", Living(40))
            assert queues == [QueueView("default", 0, 0, 1), QueueView("work", 1, 0, 0)]

    run(work())


async def only_new_numbers(instance: Instance) -> None:
    loaded = await load(instance, Key(Need.NUMBERS, 1))
    assert loaded.first_number is not None
    assert loaded.first_number >= 100


def test_both_databases_have_the_same_tables_and_columns(
    shared_place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = sqlite_file(tmp_path_factory.mktemp("other"))
    open_once(shared_place)
    open_once(file)
    of_postgres = {column for column in query(shared_place, POSTGRES_COLUMNS) if plain(column)}
    assert of_postgres == set(query(file, SQLITE_COLUMNS))


def plain(column: Iterable[object]) -> bool:
    """A file has one engine, so nobody enlists there, and nothing waits to be numbered."""
    return "instance" not in list(column)[:1] and column not in WAITING


def test_a_changed_migration_is_refused(lasting_place: Place) -> None:
    open_once(lasting_place)
    change(lasting_place, "UPDATE schema_version SET checksum = 'other' WHERE version = 1")
    with pytest.raises(SchemaFault, match="was changed after it had been applied"):
        open_once(lasting_place)


def test_a_newer_schema_is_refused(lasting_place: Place) -> None:
    open_once(lasting_place)
    change(lasting_place, "INSERT INTO schema_version VALUES (999, '0999_later.sql', 'x')")
    with pytest.raises(SchemaFault, match="schema version 999"):
        open_once(lasting_place)


def test_a_failed_migration_leaves_nothing(
    lasting_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations

    def with_a_bad_one(dialect: str) -> list[Migration]:
        text = "CREATE TABLE half (no INTEGER); SELECT no FROM nowhere;"
        good = known(dialect)
        return [*good, Migration(len(good) + 1, "bad.sql", text)]

    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", with_a_bad_one)
        with pytest.raises(Exception, match="nowhere"):
            open_once(lasting_place)
    assert not [row for row in schema(lasting_place) if "half" in row]
    open_once(lasting_place)


def test_many_starts_at_once_agree(shared_place: Place) -> None:
    async def work() -> None:
        stores = [shared_place.store() for _ in range(6)]
        numbers = await asyncio.gather(*(store.open() for store in stores))
        assert len(set(numbers)) == 6
        await asyncio.gather(*(store.close() for store in stores))

    run(work())
    assert len(query(shared_place, "SELECT * FROM schema_version")) == len(migrations("postgres"))


def test_a_role_that_may_not_create_tables_can_start_what_is_there(shared_place: Place) -> None:
    role = "plain_" + shared_place.address.rsplit("/", 1)[1]
    open_once(shared_place)
    execute(
        shared_place.address,
        f"CREATE ROLE {role} LOGIN",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    )
    parts = urlsplit(shared_place.address)
    host = parts.netloc.rpartition("@")[2]
    open_once(Place("postgres", parts._replace(netloc=f"{role}@{host}").geturl()))
    execute(shared_place.address, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_rows_survive_a_restart(lasting_place: Place) -> None:
    async def work() -> None:
        async with lasting_place.opened() as instance:
            await write(instance, runs=[new(a_run(2))])
        async with lasting_place.opened() as instance:
            assert (await load(instance)).runs == []
            assert [view.run for view in await instance.store.reading.run_views(["wf-2"])] == [
                a_run(2)
            ]

    run(work())


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_other_encodings_are_refused(postgres_server_url: str, encoding: str) -> None:
    with fresh_database(postgres_server_url) as url:
        name = url.rsplit("/", 1)[1]
        execute(
            postgres_server_url,
            f"DROP DATABASE {name}",
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'",
        )
        with pytest.raises(SchemaFault, match=f"encoded in {encoding}, assay needs UTF8"):
            open_once(Place("postgres", url))


@pytest.mark.parametrize(
    "url",
    [
        "postgres://assay:secret@127.0.0.1:1/nowhere",
        "postgres://assay:secret@no.such.host.invalid/nowhere",
        "postgres://assay:secret@127.0.0.1:no-port/nowhere",
        "postgres://[::1/nowhere",
    ],
)
def test_a_database_that_is_not_there_is_said_so_without_its_password(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached") as raised:
        open_once(Place("postgres", url))
    assert "secret" not in str(raised.value)


def test_an_unknown_database_is_named(postgres_server_url: str) -> None:
    url = postgres_server_url.rsplit("/", 1)[0] + "/no_such_database"
    with pytest.raises(StoreUnavailable, match="no_such_database"):
        open_once(Place("postgres", url))
