"""`assay serve` as a process (contract 11.2, 19): stops, restarts, and refusals to start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import asyncpg
import pytest

import assay
from assay.store.postgres.schema import MIGRATING
from tests.support import commands
from tests.support.api import Api
from tests.support.caller import until
from tests.support.http import Http, Json, Lost, request_bytes
from tests.support.server import STOP_SECS, Server, free_port, refused_start

HELD = 40
SECS = 20.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_answers_held_polls_and_exits_clean(own_server: Server, number: int) -> None:
    async def story() -> None:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            api = Api(http)
            run = await api.start()
            await api.claim(run)
            held = [asyncio.create_task(api.poll_run(wait=60)) for _ in range(HELD)]
            held += [asyncio.create_task(api.poll_activity(wait=60)) for _ in range(HELD)]
            await api.poll_run(wait=0.3)  # begun after all others, so they are all held
            own_server.process.send_signal(number)
            assert await asyncio.gather(*held) == [None] * 2 * HELD

    asyncio.run(story())
    assert own_server.process.wait(STOP_SECS) == 0, own_server.said()


def test_an_idle_server_stops_at_once_and_starts_again(own_server: Server) -> None:
    for _ in range(3):
        asked_at = time.monotonic()
        own_server.stop()
        assert time.monotonic() - asked_at < STOP_SECS
        own_server.start()


def test_a_stop_with_idle_and_half_open_connections(own_server: Server) -> None:
    async def story() -> None:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            quiet = await http.open()
            half = await http.open()
            await half.send(request_bytes("POST", "/api/v1/workflows", b"{}")[:-1])
            await http.request("GET", "/api/v1/health")
            await asyncio.to_thread(own_server.stop)
            quiet.hang_up()
            half.hang_up()

    asyncio.run(story())


def test_a_restart_after_kill_is_immediate(own_server: Server) -> None:
    async def start(name: str) -> None:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            await Api(http).start(name)

    async def check(names: list[str]) -> None:
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            for name in names:
                assert await Api(http).status(name) == "PENDING"

    names = [f"run-{n}" for n in range(3)]
    for name in names:
        asyncio.run(start(name))
        own_server.kill()
        own_server.start()
    asyncio.run(check(names))


def test_a_second_engine_on_the_file_is_refused(tmp_path: Path) -> None:
    backend = f"sqlite://{tmp_path / 'one.db'}"
    first = Server(backend, tmp_path / "first.log")
    with first.running():
        refusal = refused_start(backend, free_port())
        assert refusal.returncode == 1, refusal
        assert str(first.process.pid) in refusal.stderr
        assert "postgres" in refusal.stderr.lower()  # one of the two ways out
        assert "Traceback" not in refusal.stderr
        assert first.ready()


def test_on_the_same_port_too_the_holder_of_the_file_is_named(tmp_path: Path) -> None:
    backend = f"sqlite://{tmp_path / 'one.db'}"
    first = Server(backend, tmp_path / "first.log")
    with first.running():
        refusal = refused_start(backend, first.port)
        assert refusal.returncode == 1, refusal
        assert f"(pid {first.process.pid})" in refusal.stderr
        assert "--engine-url" in refusal.stderr
        assert "--backend postgres://" in refusal.stderr
        assert "Traceback" not in refusal.stderr
        assert first.ready()


def test_a_file_with_a_second_name_is_refused(tmp_path: Path) -> None:
    backend = f"sqlite://{tmp_path / 'one.db'}"
    with Server(backend, tmp_path / "first.log").running():
        (tmp_path / "two.db").hardlink_to(tmp_path / "one.db")
        refusal = refused_start(f"sqlite://{tmp_path / 'two.db'}", free_port())
    assert refusal.returncode == 1, refusal
    assert "hard links" in refusal.stderr
    assert "Traceback" not in refusal.stderr


@contextlib.contextmanager
def nobody_writes(backend: str) -> Iterator[None]:
    """As long as this lasts a server on that SQLite file cannot get ready."""
    connection = apsw.Connection(backend.removeprefix("sqlite://"))
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
    finally:
        connection.close()


@contextlib.contextmanager
def nobody_migrates(backend: str) -> Iterator[None]:
    """As long as this lasts a server on that PostgreSQL database cannot get ready."""

    async def hold() -> None:
        connection = await asyncpg.connect(backend)
        await connection.execute(f"SELECT pg_advisory_lock({MIGRATING})")
        held.set()
        while not over.is_set():
            await asyncio.sleep(0.01)
        await connection.close()

    held, over = threading.Event(), threading.Event()
    holder = threading.Thread(target=lambda: asyncio.run(hold()))
    holder.start()
    try:
        assert held.wait(SECS)
        yield
    finally:
        over.set()
        holder.join()


def opening(server: Server, store: str) -> contextlib.AbstractContextManager[None]:
    """A server that has just been started and does not get ready as long as this lasts."""
    return (nobody_writes if store == "sqlite" else nobody_migrates)(server.backend)


async def until_it_listens(server: Server) -> None:
    async def answers() -> bool:
        with contextlib.suppress(Lost):
            async with Http(server.host, server.port) as http:
                return (await http.request("GET", "/api/v1/health")).status == 200
        return False

    await until(answers)


def test_while_the_store_is_opened_it_says_so(own_server: Server, store: str) -> None:
    async def story() -> None:
        await until_it_listens(own_server)
        async with asyncio.timeout(SECS), Http(own_server.host, own_server.port) as http:
            for path in ("ready", "workflows"):
                answer = await http.request("GET", f"/api/v1/{path}")
                assert (answer.status, answer.error) == (503, "the engine is starting"), path
            for path, status in (("nothing/here", 404), ("openapi.json", 200)):
                assert (await http.request("GET", f"/api/v1/{path}")).status == status
            body = {"workflow_type": "Story", "input": "x" * 100_000}
            assert (await http.request("POST", "/api/v1/workflows", body)).status == 503
            answer = await http.request("GET", "/api/v1/version")
            assert answer.json()["version"] == assay.__version__

    own_server.stop()
    with opening(own_server, store):
        own_server.launch()
        asyncio.run(story())
    own_server.wait_ready()


def test_a_stop_while_the_store_is_opened(own_server: Server, store: str) -> None:
    own_server.stop()
    with opening(own_server, store):
        own_server.launch()
        asyncio.run(until_it_listens(own_server))
        own_server.process.send_signal(signal.SIGTERM)
        if store == "postgres":
            assert own_server.process.wait(STOP_SECS) == 0
    assert own_server.process.wait(STOP_SECS) == 0
    assert "Traceback" not in own_server.said()
    own_server.start()


def test_two_engines_share_a_postgres_database(postgres_url: str, tmp_path: Path) -> None:
    first, second = (Server(postgres_url, tmp_path / f"{name}.log") for name in ("one", "two"))

    async def story() -> None:
        async with (
            asyncio.timeout(SECS),
            Http(first.host, first.port) as http_one,
            Http(second.host, second.port) as http_two,
        ):
            one, two = Api(http_one), Api(http_two)
            two.queue = one.queue
            held = asyncio.create_task(two.claim())
            run = await one.start()
            task = await held
            assert task["workflow_id"] == run
            await one.signal(run, "go")
            await one.submit(run, commands.activity(1, "work", task_queue=one.queue))
            activity = await two.take("work")
            await one.complete(activity["id"], 1, token=activity["token"])
            await two.advance(run, commands.complete())

            async def seen() -> Json:
                return await one.describe(run)

            await until(seen, lambda record: record["status"] == "COMPLETED")

    with first.running(), second.running():
        asyncio.run(story())


def test_a_taken_port_is_refused(backend: str) -> None:
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", free_port()))
        holder.listen()
        port = holder.getsockname()[1]
        refusal = refused_start(backend, port)
    assert refusal.returncode == 1, refusal
    assert str(port) in refusal.stderr
    assert "Traceback" not in refusal.stderr


@pytest.mark.parametrize(
    ("backend", "code"),
    [
        ("mysql://127.0.0.1/assay", 64),
        ("http://127.0.0.1/", 64),
        ("redis://", 64),
        ("postgresql://assay@127.0.0.1:1/assay", 1),
        ("sqlite:///nowhere/at/all/assay.db", 1),
    ],
)
@pytest.mark.parametrize("through", ["flag", "environment"])
def test_a_store_that_cannot_be_used(backend: str, code: int, through: str) -> None:
    by_flag = through == "flag"
    environment = {} if by_flag else {"DATABASE_URL": backend}
    refusal = refused_start(backend if by_flag else None, free_port(), environment)
    assert refusal.returncode == code, refusal
    assert refusal.stderr.strip()
    assert "Traceback" not in refusal.stderr


def test_a_url_that_is_none(tmp_path: Path) -> None:
    refusal = refused_start("postgresql://127.0.0.1:notaport/x", free_port())
    assert refusal.returncode in (1, 64), refusal
    assert "Traceback" not in refusal.stderr


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear reader, this is not a database. " * 100)
    refusal = refused_start(f"sqlite://{path}", free_port())
    assert refusal.returncode == 1, refusal
    assert "Traceback" not in refusal.stderr
    assert path.read_text().startswith("Dear reader")


@pytest.mark.parametrize("form", ["sqlite:///{}", "sqlite://{}?mode=rwc", "sqlite:{}", "{}"])
def test_the_forms_of_a_sqlite_url(form: str, tmp_path: Path) -> None:
    path = tmp_path / "here.db"
    where = str(path).lstrip("/") if form.startswith("sqlite:///") else str(path)
    with Server(form.format(where), tmp_path / "server.log").running():
        assert path.exists()


def test_the_flag_wins_over_the_environment(tmp_path: Path) -> None:
    environment = {"DATABASE_URL": "mysql://127.0.0.1/assay"}
    backend = f"sqlite://{tmp_path / 'here.db'}"
    server = Server(backend, tmp_path / "server.log", environment=environment)
    with server.running():
        os.kill(server.process.pid, 0)


@pytest.mark.parametrize("value", ["soon", "0", "-3", ""])
def test_an_odd_lease_time_is_the_default_with_a_warning(value: str, tmp_path: Path) -> None:
    environment = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": value}
    backend = f"sqlite://{tmp_path / 'here.db'}"
    server = Server(backend, tmp_path / "server.log", environment=environment)
    with server.running():
        pass
    if value:
        assert "ASSAY_WF_DISPATCH_TIMEOUT_SECS" in server.said()


@pytest.mark.parametrize("words", [["--port", "none"], ["--dance"], ["extra"]])
def test_a_bad_command_line(words: list[str]) -> None:
    refusal = refused_start("sqlite::memory:", free_port(), arguments=words)
    assert refusal.returncode == 64, refusal
