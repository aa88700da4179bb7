"""Every public error, as one tree.

AssayError
├── UsageFault              a setting or an argument cannot be used
├── Refusal                 the engine understood the request and says no; nothing was changed
│   ├── BadValue            a value is not admissible
│   ├── BadShape            JSON of the wrong shape
│   ├── NotFound            the thing named does not exist (or is over, where that counts as gone)
│   ├── Gone                a cursor points to events that are not kept
│   └── Conflict            the state of the thing named forbids it
│       └── NonDeterminism  a replay asks for something else than history holds
├── StoreFault              the database said no, or nothing
│   ├── StoreUnavailable    it cannot be reached; try again later
│   ├── StoreLocked         another engine holds the file
│   └── SchemaFault         its schema is newer than this code, or its encoding unusable
└── EngineStopped           the engine is shutting down and takes no more work

HTTP statuses are assigned in `server/problems.py` and nowhere else.
"""


class AssayError(Exception):
    """Something went wrong inside assay."""

    code = "error"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip())


class UsageFault(AssayError):
    """A setting or an argument cannot be used."""

    code = "usage"


class Refusal(AssayError):
    """The engine refused the request; nothing was changed."""

    code = "refused"


class BadValue(Refusal):
    """A value is not admissible."""

    code = "bad_value"


class BadShape(Refusal):
    """The JSON has the wrong shape."""

    code = "bad_shape"


class NotFound(Refusal):
    """The thing named does not exist."""

    code = "not_found"


class Gone(Refusal):
    """A cursor points to events that are not kept."""

    code = "gone"


class Conflict(Refusal):
    """The state of the thing named forbids it."""

    code = "conflict"


class NonDeterminism(Conflict):
    """A replay asks for something else than history holds."""

    code = "non_determinism"


class StoreFault(AssayError):
    """The database refused."""

    code = "store"


class StoreUnavailable(StoreFault):
    """The database cannot be reached."""

    code = "store_unavailable"


class StoreLocked(StoreFault):
    """Another engine holds the file."""

    code = "store_locked"


class SchemaFault(StoreFault):
    """The database cannot be used by this version of the code."""

    code = "schema"


class EngineStopped(AssayError):
    """The engine is shutting down and takes no more work."""

    code = "engine_stopped"
