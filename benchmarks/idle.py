"""What an idle server with idle workers asks of its database, in statements and commits a second.

Workers register, hold both polls and send a heartbeat now and then; nothing else happens. On
PostgreSQL the statements come from pg_stat_statements where that is loaded, else the transactions
of pg_stat_database stand in (a statement outside a transaction counts as one; our own first look
adds two in all). On SQLite the server's own counter is read from `/metrics`, under the name
below; without it only commits can be told, as moments at which the WAL was written.
"""

import asyncio
import re
import time
from pathlib import Path

import asyncpg
import uvloop

from benchmarks import calls
from benchmarks.cpu import spent_us
from benchmarks.load import connect, get
from benchmarks.options import Options
from benchmarks.results import Report, Run
from benchmarks.rig import Store, standing
from benchmarks.runs import repeat
from benchmarks.workers import register
from tests.support.server import Server

WORKERS = 20
HEARTBEAT_SECS = 10.0
SETTLE_SECS = 12.0  # PostgreSQL's idle backends hand in their counts within 10 s
COUNTER = "assay_store_statements_total"
AIM = "fewer than 5 statements/s"
OK = 200


def measure(options: Options) -> Report:
    """Leave a server alone with its workers, each time on a fresh store."""

    def run(_: int) -> Run:
        with standing(options.store, options.directory) as (store, server, directory):
            return uvloop.run(watch(options, store, server, directory))

    return repeat(options, f"idle server with {WORKERS} idle workers", "second", AIM, run)


async def watch(options: Options, store: Store, server: Server, directory: Path) -> Run:
    """Count over the measured stretch; it should span several heartbeats."""
    pid = server.process.pid
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(idle_worker(server.port, n)) for n in range(WORKERS)]
        await asyncio.sleep(SETTLE_SECS)
        began, spent, counted = time.monotonic(), spent_us(pid), await count(store, server.port)
        journal = wal_state(directory)
        changes = 0
        while time.monotonic() - began < options.seconds:
            await asyncio.sleep(0.05)
            seen = wal_state(directory)
            changes, journal = changes + (seen != journal), seen
        if store.kind == "postgres":
            await asyncio.sleep(SETTLE_SECS)  # its counts are late, so the stretch is longer
        after, now = await count(store, server.port), time.monotonic()
        spent = spent_us(pid) - spent
        for worker in workers:
            worker.cancel()
    secs = now - began
    figures = {name: (after[name] - counted[name]) / secs for name in counted}
    if store.kind == "sqlite":
        figures["WAL writes"] = changes / secs
    return Run({**figures, "server µs": spent / secs}, {"stretch": round(secs, 1)})


async def idle_worker(port: int, number: int) -> None:
    """Register, hold one poll of each kind for ever, and show a sign of life now and then."""
    me = await register(port, f"idle-{number}")
    async with asyncio.TaskGroup() as group:
        for poll in (calls.poll_workflow_task(me), calls.poll_activity(me)):
            group.create_task(ask_on(port, poll, 0.0))
        group.create_task(ask_on(port, calls.heartbeat(me), HEARTBEAT_SECS))


async def ask_on(port: int, message: bytes, pause: float) -> None:
    """Send the same request again and again, each time anew: servers close idle connections."""
    while True:
        connection = await connect(port)
        status, body = await connection.request(message)
        connection.close()
        if status != OK:
            raise RuntimeError(f"an idle worker was answered {status}: {body!r}")
        await asyncio.sleep(pause)


async def count(store: Store, port: int) -> dict[str, float]:
    """Read whatever counts the store's statements."""
    if store.kind == "postgres":
        return await count_in_postgres(store.url)
    connection = await connect(port)
    status, body = await connection.request(get("/metrics"))
    connection.close()
    found = re.search(rf"^{COUNTER}(?:{{.*}})? ([0-9.e+]+)$", body.decode(), re.MULTILINE)
    return {"statements": float(found.group(1))} if status == OK and found else {}


async def count_in_postgres(url: str) -> dict[str, float]:
    """Read the server's counters, leaving out what this function itself causes."""
    connection = await asyncpg.connect(url)
    try:
        loaded = await connection.fetchval("show shared_preload_libraries")
        if "pg_stat_statements" in str(loaded):
            await connection.execute("create extension if not exists pg_stat_statements")
            own = "%pg_stat%"
            query = "select sum(calls) from pg_stat_statements where query not ilike $1"
            return {"statements": float(await connection.fetchval(query, own) or 0)}
        query = (
            "select xact_commit + xact_rollback from pg_stat_database"
            " where datname = current_database()"
        )
        return {"transactions": float(await connection.fetchval(query) or 0)}
    finally:
        await connection.close()


def wal_state(directory: Path) -> tuple[int, int]:
    """Look at the write-ahead log's size and time: both move with each commit."""
    try:
        found = (directory / "bench.db-wal").stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)
