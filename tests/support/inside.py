"""The whole server in this process, asked without a socket: quick, and its tables can be read.

What escapes from the application, where a client would see its connection drop, fails the test.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import asyncpg

from assay.engine.clock import wall_clock
from assay.engine.runner import Rules, Runner
from assay.model.time import MICROS
from assay.server.app import App, create_app
from assay.server.asgi import HUNG_UP, Header, Received, Scope, Sent
from assay.server.settings import Settings
from assay.store.open import open_store
from assay.store.sqlite.store import SqliteStore
from tests.support.api import Api
from tests.support.http import ANSWER_SECS, NOTHING, Answer, Http, Lost, encode

IN_MEMORY = "sqlite::memory:"
LEASE_SECS = 3600
# What a refused request may touch all the same: bookkeeping of commits, and signs of life.
BOOKKEEPING = {"batch", "instance", "meta", "schema_version"}
SIGNS_OF_LIFE = "last_seen"
STILL_FOLDING = "SELECT EXISTS (SELECT FROM batch WHERE size IS NOT NULL)"
Rows = Mapping[str, list[str]]


class Exchange:
    """One request on its way through the application."""

    def __init__(self, body: bytes | None) -> None:
        self.gone = asyncio.Event()
        self._unread = [body or b""]
        self._status = 0
        self._headers: list[Header] = []
        self._body = b""

    async def receive(self) -> Received:
        if self._unread:
            return {"type": "http.request", "body": self._unread.pop(), "more_body": False}
        await self.gone.wait()
        return {"type": HUNG_UP}

    async def send(self, message: Sent) -> None:
        self._status = message.get("status", self._status)
        self._headers += message.get("headers", [])
        self._body += message.get("body", b"")
        if dict(message).get("more_body", False):
            self.gone.set()  # an answer without an end: its beginning is enough

    @property
    def answer(self) -> Answer:
        if not self._status and self.gone.is_set():
            raise Lost("the client has left")
        assert self._status, "the connection would have dropped"
        pairs = {name.decode(): value.decode("latin-1") for name, value in self._headers}
        return Answer(self._status, pairs, self._body)


class Inside(Http):
    """Requests straight into the application."""

    def __init__(self, app: App) -> None:
        super().__init__("inside", 0)
        self.app = app

    async def request(
        self,
        method: str,
        path: str,
        body: object = NOTHING,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = ANSWER_SECS,
    ) -> Answer:
        """One answer. Who runs out of patience hangs up; if nothing was written then: `Lost`."""
        content = encode(body)
        exchange = Exchange(content)
        hang_up = asyncio.get_running_loop().call_later(timeout, exchange.gone.set)
        try:
            sent = scope(method, path, content, headers or {})
            await self.app(sent, exchange.receive, exchange.send)
        finally:
            hang_up.cancel()
        return exchange.answer


def scope(method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Scope:
    """A request as the protocol hands it over; an empty header is left out."""
    raw_path, _, query = path.partition("?")
    usual = {} if content is None else {"content-type": "application/json"}
    given = {**usual, **headers}
    return {
        "type": "http",
        "method": method,
        "raw_path": raw_path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [
            (name.encode(), value.encode("latin-1")) for name, value in given.items() if value
        ],
    }


class Tables(Protocol):
    """All that a database holds, but for bookkeeping."""

    async def rows(self) -> Rows:
        """Every row of every table, as text."""


class SqliteTables:
    """The tables of a store in this process."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    async def rows(self) -> Rows:
        run = self._store._connection.execute
        tables = [row[0] for row in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {}
        for table in sorted(set(tables) - BOOKKEEPING):
            columns = [row[1] for row in run(f"PRAGMA table_info({table})")]
            kept = ", ".join(column for column in columns if column != SIGNS_OF_LIFE)
            found[table] = sorted(map(repr, run(f"SELECT {kept} FROM {table}").fetchall()))
        return found


class PostgresTables:
    """The tables of a database, over a connection of its own.

    What follows from a commit (frames of the stream, counts) is put in its place a little later.
    """

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def rows(self) -> Rows:
        while await self._connection.fetchval(STILL_FOLDING):
            await asyncio.sleep(0.005)
        listed = await self._connection.fetch(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        tables = sorted({str(row[0]) for row in listed} - BOOKKEEPING)
        all_of_them = " UNION ALL ".join(
            f"SELECT '{table}', (to_jsonb(t) - '{SIGNS_OF_LIFE}')::text FROM \"{table}\" t"
            for table in tables
        )
        found: dict[str, list[str]] = {table: [] for table in tables}
        for table, row in await self._connection.fetch(all_of_them):
            found[table].append(row)
        return {table: sorted(rows) for table, rows in found.items()}


class House:
    """A running engine with its door, and a look into its tables."""

    def __init__(self, runner: Runner, app: App, tables: Tables) -> None:
        self.runner = runner
        self.app = app
        self.tables = tables
        self.http = Inside(app)
        self.api = Api(self.http)


@contextlib.asynccontextmanager
async def inside(backend: str) -> AsyncIterator[House]:
    """A server on that database, whose leases end when the test is long over."""
    store = open_store(backend)
    runner = Runner(store, wall_clock, Rules(lease=LEASE_SECS * MICROS, version="0"))
    await runner.start()
    app = create_app(runner, Settings())
    try:
        async with looking_into(backend, runner) as tables:
            yield House(runner, app, tables)
    finally:
        app.door.stop()
        await runner.stop()


@contextlib.asynccontextmanager
async def looking_into(backend: str, runner: Runner) -> AsyncIterator[Tables]:
    if isinstance(runner.store, SqliteStore):
        yield SqliteTables(runner.store)
        return
    connection = await asyncpg.connect(backend)
    try:
        yield PostgresTables(connection)
    finally:
        await connection.close()


def changed(before: Rows, after: Rows) -> dict[str, list[str]]:
    """The rows that are not as they were, by table."""
    return {
        table: sorted(set(before.get(table, ())) ^ set(after.get(table, ())))
        for table in {*before, *after}
        if before.get(table) != after.get(table)
    }
