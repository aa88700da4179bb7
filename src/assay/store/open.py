"""Which store a URL names."""

import re

from assay.errors import UsageFault
from assay.store.port import Store

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_SERVERS = ("postgres", "postgresql")


def open_store(url: str) -> Store:
    """The store, not yet opened. A path without a scheme is a file's."""
    match = _SCHEME.fullmatch(url)
    scheme = "sqlite" if match is None else match[1].lower()
    if scheme in _SERVERS:
        from assay.store.postgres.store import PostgresStore

        return PostgresStore(url)
    if scheme != "sqlite":
        raise UsageFault(f"the backend {url!r} is neither postgres://... nor sqlite:...")
    from assay.store.sqlite.store import SqliteStore

    return SqliteStore(file_path(url if match is None else match[2]))


def file_path(rest: str) -> str:
    """The path after `sqlite:`, with or without slashes; a query part is ignored."""
    path = rest.removeprefix("//").partition("?")[0]
    if not path:
        raise UsageFault("the backend names no file")
    return path
