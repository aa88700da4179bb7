"""What a database must be before an engine works on it: in sessions, in UTF-8, up to date."""

import asyncpg

from assay.errors import SchemaFault, StoreFault
from assay.store.migrate import missing_migrations
from assay.store.postgres.faults import store_faults
from assay.store.postgres.limits import LONG_STATEMENT_SECS
from assay.store.postgres.line import Session, connect, place_of

# Whoever migrates holds this lock until the end of its transaction; the number is "assay" in ASCII.
MIGRATING = 0x6173736179

_POOLED = (
    "the database at {} is behind a proxy that pools transactions (PgBouncer's pool_mode ="
    " transaction, for one). Notifications and advisory locks need a session: point assay at the"
    " database itself or at a pool in session mode"
)


async def require_sessions(url: str) -> None:
    """Refuse a proxy that gives every transaction another session, with the reason.

    While the second connection is inside a transaction, the first must still be where it was.
    """
    place = place_of(url)
    first = await connect(url)
    try:
        second = await connect(url)
        try:
            with store_faults(place):
                pooled = await _are_pooled(first, second)
        finally:
            second.terminate()
    finally:
        first.terminate()
    if pooled:
        raise StoreFault(_POOLED.format(place))


async def _are_pooled(first: Session, second: Session) -> bool:
    await first.execute("LISTEN assay_probe")
    try:
        home = await first.fetchval("SELECT pg_backend_pid()")
        async with second.transaction():
            away = await second.fetchval("SELECT pg_backend_pid()")
            now = await first.fetchval("SELECT pg_backend_pid()")
            heard = await first.fetchval("SELECT count(*) FROM pg_listening_channels()")
    except (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError):
        # What was prepared in one session is asked of another.
        return True
    return bool(home != now or home == away or heard != 1)


async def require_utf8(session: Session, place: str) -> None:
    """Refuse other encodings: not every payload would fit."""
    encoding = await session.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise SchemaFault(
            f"the database at {place} is encoded in {encoding}, assay needs UTF8: "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


async def migrate(session: Session) -> None:
    """Apply what is missing, all of it or nothing, one instance at a time."""
    async with session.transaction():
        await session.execute(
            f"SELECT pg_advisory_xact_lock({MIGRATING})", timeout=LONG_STATEMENT_SECS
        )
        # Not IF NOT EXISTS: once the tables are there, a start needs no right to create any.
        if await session.fetchval("SELECT to_regclass('schema_version') IS NULL"):
            await session.execute(
                "CREATE TABLE schema_version (version bigint PRIMARY KEY,"
                " name text NOT NULL, checksum text NOT NULL)"
            )
        rows = await session.fetch("SELECT version, checksum FROM schema_version ORDER BY version")
        applied: dict[int, str] = {row[0]: row[1] for row in rows}
        for migration in missing_migrations("postgres", applied):
            await session.execute(migration.text, timeout=LONG_STATEMENT_SECS)
            await session.execute(
                "INSERT INTO schema_version (version, name, checksum) VALUES ($1, $2, $3)",
                migration.version,
                migration.name,
                migration.checksum,
            )
