"""What a benchmark stands on: a fresh durable store, and a server of this checkout on it."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import msgspec

from tests.support.postgres import PostgresCluster
from tests.support.server import Server

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ("server_version", "fsync", "synchronous_commit", "full_page_writes")


class Store(msgspec.Struct, frozen=True):
    """A database to serve from, and the process tree that runs it, if it is one of its own."""

    kind: str
    url: str
    pid: int | None
    facts: dict[str, str]


@contextmanager
def scratch(under: Path | None) -> Iterator[Path]:
    """Make a directory for one run on the disk of the checkout, and remove it afterwards."""
    beside = ROOT.parent if os.access(ROOT.parent, os.W_OK) else ROOT
    directory = Path(tempfile.mkdtemp(prefix=".assay-bench-", dir=under or beside))
    directory.chmod(0o755)  # PostgreSQL may have to run as another user
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def open_store(kind: str, directory: Path) -> Iterator[Store]:
    """Make an empty store with the durability it has by default."""
    if kind == "sqlite":
        yield Store(kind, f"sqlite://{directory / 'bench.db'}", None, {})
        return
    home = directory / "postgres"
    home.mkdir(mode=0o755)
    cluster = PostgresCluster(home, durable=True)
    cluster.start()
    try:
        yield Store(kind, cluster.url(), cluster.pid, asyncio.run(settings(cluster.url())))
    finally:
        cluster.remove()


async def settings(url: str) -> dict[str, str]:
    """Read what a PostgreSQL says of itself; a server that is not durable is refused."""
    connection = await asyncpg.connect(url)
    try:
        facts = {name: str(await connection.fetchval(f"SHOW {name}")) for name in SETTINGS}
    finally:
        await connection.close()
    if (facts["fsync"], facts["synchronous_commit"]) != ("on", "on"):
        raise RuntimeError(f"this PostgreSQL loses commits: {facts}")
    return facts


@contextmanager
def serve(store: Store, directory: Path) -> Iterator[Server]:
    """Run `assay serve` until the block ends; its log is shown when the block fails."""
    server = Server(store.url, directory / "server.log", environment={"ASSAY_LOG": "warning"})
    try:
        yield server.start()
    except BaseException:
        sys.stderr.write(server.said())
        raise
    finally:
        end(server)


def end(server: Server) -> None:
    """Stop the server; one that stops badly is told of, but its figures still count."""
    if not server.alive:
        return
    try:
        server.stop()
    except AssertionError as failure:
        sys.stderr.write(f"{failure}\n")


@contextmanager
def standing(kind: str, under: Path | None) -> Iterator[tuple[Store, Server, Path]]:
    """Put up a store and a server on it, in a directory of their own."""
    with (
        scratch(under) as directory,
        open_store(kind, directory) as store,
        serve(store, directory) as server,
    ):
        yield store, server, directory
