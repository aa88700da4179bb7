"""PostgreSQL killed and started again under load, with two servers on it (contract 21)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.caller import until
from tests.support.http import Http
from tests.support.ledger import Ledger
from tests.support.postgres import PostgresCluster, fresh_database
from tests.support.server import Server

OUTAGES = 2
CLIENTS, WORKERS, HANDS = 60, 10, 10
LEASE_SECS = 2.0
QUIET_SECS = 2.5
STORY_SECS = 50.0


@pytest.mark.timeout(100)
def test_an_outage_loses_and_doubles_nothing(
    postgres_cluster: PostgresCluster, tmp_path: Path
) -> None:
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": str(LEASE_SECS)}
    with fresh_database(postgres_cluster.url()) as url:
        first, second = (
            Server(url, tmp_path / f"{name}.log", environment=lease) for name in ("one", "two")
        )
        with first.running(), second.running():
            pids = (first.process.pid, second.process.pid)
            asyncio.run(story(postgres_cluster, first, second))
            assert (first.process.pid, second.process.pid) == pids
            assert first.alive
            assert second.alive


@contextlib.contextmanager
def frozen(cluster: PostgresCluster) -> Iterator[None]:
    """It neither answers nor goes."""
    children = Path(f"/proc/{cluster.pid}/task/{cluster.pid}/children").read_text().split()
    pids = [cluster.pid, *map(int, children)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_stop_does_not_wait_for_a_database_that_does_not_answer(
    postgres_cluster: PostgresCluster, tmp_path: Path, busy: bool
) -> None:
    with fresh_database(postgres_cluster.url()) as url:
        server = Server(url, tmp_path / "log")

        async def story() -> None:
            async with asyncio.timeout(STORY_SECS), Http(server.host, server.port) as http:
                api = Api(http)
                await api.start()
                with frozen(postgres_cluster):
                    asked = asyncio.create_task(api.start()) if busy else None
                    await asyncio.sleep(0.2)
                    began = time.monotonic()
                    server.process.send_signal(signal.SIGTERM)
                    assert await asyncio.to_thread(server.process.wait) == 0
                    assert time.monotonic() - began < 5.0
                    if asked is not None:
                        await asyncio.gather(asked, return_exceptions=True)

        with server.running():
            asyncio.run(story())


def test_an_outage_is_told_in_a_few_lines_while_a_poll_is_held(
    postgres_cluster: PostgresCluster, tmp_path: Path
) -> None:
    with fresh_database(postgres_cluster.url()) as url:
        server = Server(url, tmp_path / "log")

        async def story() -> None:
            async with asyncio.timeout(STORY_SECS), Http(server.host, server.port) as http:
                api = Api(http)
                held = asyncio.create_task(api.poll_run(wait=30))
                await asyncio.sleep(0.2)
                await asyncio.to_thread(postgres_cluster.kill)
                await api.send("POST", "/workflows", {"workflow_type": "Story"}, 500)
                await asyncio.sleep(QUIET_SECS)
                await asyncio.to_thread(postgres_cluster.start)
                await until_ready(http, 200)
                run = await api.start()
                assert (await held)["workflow_id"] == run

        with server.running():
            asyncio.run(story())
        said = server.log.read_text()
        assert "the database cannot be read" in said
        assert "the database can be read again" in said
        assert said.count("WARNING") < 12, said


async def story(cluster: PostgresCluster, first: Server, second: Server) -> None:
    ledger = Ledger("queue", persistent=True)
    async with (
        asyncio.timeout(STORY_SECS),
        Http(first.host, first.port) as one,
        Http(second.host, second.port) as two,
    ):
        doors = (one, two)
        running = asyncio.gather(
            *(ledger.client(doors[n % 2], f"run-{n}") for n in range(CLIENTS)),
            *(ledger.worker(doors[n % 2], f"w-{n}") for n in range(WORKERS)),
            *(ledger.hand(doors[n % 2], f"h-{n}") for n in range(HANDS)),
        )
        for _ in range(OUTAGES):
            await asyncio.sleep(0.7)
            assert not running.done(), running.result()
            await outage(cluster, one, two)
        told = ledger.acknowledged

        async def told_since() -> int:
            return ledger.acknowledged - told

        await until(told_since, lambda count: count > 100)
        ledger.stopped = True
        await running
        assert len(ledger.started) == CLIENTS
        await ledger.audit(Api(two))
        began_at = time.monotonic()
        await ledger.finish(Api(one))
        assert time.monotonic() - began_at < LEASE_SECS + 12
        await ledger.audit(Api(one))


async def outage(cluster: PostgresCluster, one: Http, two: Http) -> None:
    """Kill the database, see that the servers say so, start it again, see that they serve."""
    await asyncio.to_thread(cluster.kill)
    for http in (one, two):
        assert (await Api(http).ask("GET", "/health")).status == 200
        await until_ready(http, 503)
    await asyncio.to_thread(cluster.start)
    for http in (one, two):
        await until_ready(http, 200)


async def until_ready(http: Http, wanted: int) -> None:
    async def status() -> int:
        return (await Api(http).ask("GET", "/ready")).status

    await until(status, lambda seen: seen == wanted)
