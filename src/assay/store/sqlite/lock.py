"""One engine per file: a record lock on a file of its own beside the database.

Not `flock`, which forked children inherit; not a lock on the database file, whose closing would
drop SQLite's own locks. The lock ends with the process, so a restart after kill -9 is immediate.

A database that has several names (hard links) is refused: each name would have a lock of its own,
and a journal of its own too, so that what one engine wrote last is missing under the other name.
"""

import os
import sys
from pathlib import Path
from typing import ClassVar

from assay.errors import StoreFault, StoreLocked

if sys.platform != "win32":
    import fcntl


class FileLock:
    """Held from `take` to `release`; names its holder to whoever comes second."""

    # Record locks do not see a holder in the same process: it keeps its own list.
    _held_here: ClassVar[set[str]] = set()

    def __init__(self, database: Path) -> None:
        # Behind links and dots there is one file, and it has one lock.
        self._database = database.resolve()
        self._path = self._database.with_name(self._database.name + ".lock")
        self._file: int | None = None

    def take(self) -> None:
        """Hold the lock, or say who does."""
        if self._file is not None:
            return
        self._refuse_other_places()
        name = str(self._path)
        if name in self._held_here:
            raise StoreLocked(self._message(os.getpid()))
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(file)
        except OSError:
            holder = os.read(file, 20).decode(errors="replace").strip()
            os.close(file)
            raise StoreLocked(self._message(holder or "unknown")) from None
        try:
            self._refuse_other_names()
        except StoreFault:
            os.close(file)
            raise
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        self._file = file
        self._held_here.add(name)

    def release(self) -> None:
        """Give it up. The file stays: removing it would race with the next holder."""
        if self._file is not None:
            self._held_here.discard(str(self._path))
            os.close(self._file)
            self._file = None

    def _refuse_other_places(self) -> None:
        if self._database.is_dir():
            raise StoreFault(f"{self._database} is a folder: name a file in it")
        if not self._database.parent.is_dir():
            raise StoreFault(f"{self._database} cannot be made: there is no such folder")

    def _refuse_other_names(self) -> None:
        if self._database.exists() and (names := self._database.stat().st_nlink) > 1:
            raise StoreFault(
                f"{self._database} has {names} names (hard links), and each would have a lock and "
                "a journal of its own, so that engines under different names would destroy the "
                "database. Keep the name that was used last and remove the others "
                f"(`find / -xdev -samefile {self._database}` lists them all); what is to be a "
                "copy, make with `cp` while no engine runs."
            )

    def _message(self, holder: object) -> str:
        return (
            f"{self._database} is in use by another assay engine (pid {holder}). Talk to that "
            "server over HTTP instead (assay.connect, --engine-url), or use PostgreSQL "
            "(--backend postgres://…), which any number of engines can share."
        )


def _lock(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
