"""Schemas: made at the first start, carried forward at later ones, never guessed at."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from urllib.parse import urlsplit

import asyncpg
import pytest

from assay.errors import SchemaFault, StoreUnavailable
from assay.store import migrate
from assay.store.migrate import Migration, migrations
from tests.stores.places import Place, run, sqlite_file
from tests.stores.rows import a_run, load, new, write
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
SQLITE_COLUMNS = """
SELECT schema.name, columns.name FROM sqlite_schema AS schema
JOIN pragma_table_info(schema.name) AS columns WHERE schema.type = 'table'
"""


def open_once(place: Place) -> None:
    async def work() -> None:
        async with place.opened():
            pass

    run(work())


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


def test_starting_again_changes_nothing(lasting_place: Place) -> None:
    open_once(lasting_place)
    before = schema(lasting_place)
    open_once(lasting_place)
    assert schema(lasting_place) == before
    assert len(query(lasting_place, "SELECT * FROM schema_version")) == len(
        migrations(lasting_place.kind.split("-", maxsplit=1)[0])
    )


def test_a_schema_carried_forward_is_like_a_new_one(
    lasting_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations

    def the_first(count: int) -> None:
        def some(dialect: str) -> list[Migration]:
            return known(dialect)[:count]

        monkeypatch.setattr(migrate, "migrations", some)

    newest = len(known("sqlite"))
    for count in range(1, newest + 1):
        the_first(count)
        open_once(lasting_place)
    carried = schema(lasting_place)
    open_once(lasting_place)
    assert schema(lasting_place) == carried
    applied = query(lasting_place, "SELECT version FROM schema_version ORDER BY version")
    assert applied == [(version,) for version in range(1, newest + 1)]


def test_both_databases_have_the_same_tables_and_columns(
    shared_place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = sqlite_file(tmp_path_factory.mktemp("other"))
    open_once(shared_place)
    open_once(file)
    of_postgres = {column for column in query(shared_place, POSTGRES_COLUMNS) if plain(column)}
    assert of_postgres == set(query(file, SQLITE_COLUMNS))


def plain(column: Iterable[object]) -> bool:
    """A file has one engine, so nobody enlists there."""
    return "instance" not in list(column)[:1]


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
