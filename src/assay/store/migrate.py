"""Numbered migrations: which are to be applied, and that nobody changed one that was."""

import hashlib
from importlib.resources import files

from msgspec import Struct

from assay.errors import SchemaFault


class Migration(Struct, frozen=True):
    """One numbered file of a dialect."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What the file held when it was applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations(dialect: str) -> list[Migration]:
    """All migrations of a dialect, by version, numbered from 1 without a gap."""
    folder = files("assay.store") / dialect / "migrations"
    found = [
        Migration(int(path.name.split("_", 1)[0]), path.name, path.read_text())
        for path in folder.iterdir()
        if path.name.endswith(".sql")
    ]
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise AssertionError(f"the migrations of {dialect} are not numbered 1, 2, 3 …")
    return found


def missing_migrations(dialect: str, applied: dict[int, str]) -> list[Migration]:
    """What is still to be applied to a database that holds `applied` (version → checksum)."""
    known = migrations(dialect)
    newest = max(applied, default=0)
    if newest > len(known):
        raise SchemaFault(
            f"the database has schema version {newest}, this assay knows up to {len(known)}: "
            "run the newer assay that made it"
        )
    for migration in known[:newest]:
        if applied.get(migration.version) != migration.checksum:
            raise SchemaFault(
                f"migration {migration.name} was changed after it had been applied to this database"
            )
    return known[newest:]
