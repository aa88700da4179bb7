"""What the driver's errors mean here: to whoever reads, and to a commit."""

import contextlib
from collections.abc import Iterator

import asyncpg

from assay.errors import StoreFault, StoreUnavailable
from assay.store.port import CommitOutcome, Failed, Refused, Stale, Unknown

STALE = "AS001"
_GONE = ("08", "25", "40", "53", "57")
_DATA = ("22", "23", "54")
_FATAL = ("FATAL", "PANIC")
_UNIQUE = "23505"
_CROSSED = ("40001", "40P01")

# A TimeoutError is an OSError.
DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)


@contextlib.contextmanager
def store_faults(place: str) -> Iterator[None]:
    """Errors of the driver leave as ours: unavailable when a later attempt may succeed."""
    try:
        yield
    except asyncpg.PostgresError as error:
        if (error.sqlstate or "").startswith(_GONE):
            raise StoreUnavailable(f"the database at {place} is gone: {error}") from error
        raise StoreFault(f"the database at {place} refused: {error}") from error
    except DRIVER_ERRORS as error:
        raise StoreUnavailable(f"the database at {place} is gone: {said(error)}") from error


def said(error: BaseException) -> str:
    """What an error says, or at least what it is."""
    return str(error) or type(error).__name__


def commit_outcome(error: BaseException, *, connection_lost: bool) -> CommitOutcome:
    """What came of a commit whose statement raised.

    A connection that ended leaves it open, whatever it said last: a session that is cut while it
    waits for a replica has committed (tests/stores/test_lost_connections.py).
    """
    if connection_lost or not isinstance(error, asyncpg.PostgresError):
        return Unknown(said(error))
    if getattr(error, "severity_en", None) in _FATAL:
        return Unknown(said(error))
    state = error.sqlstate or ""
    if state in (STALE, *_CROSSED):
        return Stale()
    if state == _UNIQUE:
        if getattr(error, "constraint_name", None) == "batch_pkey":
            return Failed("another engine has this instance's number")
        return Stale()
    return Refused(said(error)) if state.startswith(_DATA) else Failed(said(error))
