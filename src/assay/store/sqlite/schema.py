"""What a file must be before an engine works on it: up to date."""

from collections.abc import Sequence

import apsw

from assay.store.migrate import missing_migrations
from assay.store.rows import Row


def migrate(connection: apsw.Connection) -> None:
    """Apply what is missing, all of it or nothing."""
    run = connection.execute
    with connection:
        run(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY,"
            " name TEXT NOT NULL, checksum TEXT NOT NULL)"
        )
        rows: Sequence[Row] = run("SELECT version, checksum FROM schema_version").fetchall()
        applied = {row[0]: row[1] for row in rows}
        for migration in missing_migrations("sqlite", applied):
            run(migration.text)
            run(
                "INSERT INTO schema_version VALUES (?, ?, ?)",
                (migration.version, migration.name, migration.checksum),
            )
