"""A server killed under load (contract 21): what it acknowledged is there, and work goes on."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import commands
from tests.support.api import Api
from tests.support.caller import until
from tests.support.http import Http
from tests.support.ledger import Ledger
from tests.support.server import Server

KILLS = int(os.environ.get("ASSAY_KILLS", "3"))
CLIENTS, WORKERS, HANDS = 220, 20, 20
IN_FLIGHT = 200
LEASE_SECS = 2.0
ROUND_SECS = 25.0
FAMILY_SECS = 40.0


@pytest.fixture
def server(backend: str, tmp_path: Path) -> Iterator[Server]:
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": str(LEASE_SECS)}
    server = Server(backend, tmp_path / "server.log", environment=lease)
    with server.running():
        yield server


@pytest.mark.timeout(60 + KILLS * ROUND_SECS)
def test_killed_under_load(server: Server) -> None:
    ledgers = [asyncio.run(killed_once(server, n)) for n in range(KILLS)]
    asyncio.run(audit_all(server, ledgers))


async def killed_once(server: Server, number: int) -> Ledger:
    async with asyncio.timeout(ROUND_SECS):
        ledger = Ledger(f"queue-{number}")
        async with Http(server.host, server.port) as http:
            load = [
                *(ledger.client(http, f"run-{number}-{n}") for n in range(CLIENTS)),
                *(ledger.worker(http, f"w-{n}") for n in range(WORKERS)),
                *(ledger.hand(http, f"h-{n}") for n in range(HANDS)),
            ]
            running = asyncio.gather(*load)
            await asyncio.sleep(random.uniform(0.3, 1.2))
            assert http.busy >= IN_FLIGHT
            server.process.kill()
            await running  # everybody noticed
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        assert len(ledger.started) > CLIENTS // 2
        assert ledger.acknowledged > IN_FLIGHT
        async with Http(server.host, server.port) as http:
            api = Api(http)
            await ledger.audit(api)
            began_at = time.monotonic()
            await ledger.finish(api)
            assert time.monotonic() - began_at < LEASE_SECS + 12
            await ledger.audit(api)
    return ledger


async def audit_all(server: Server, ledgers: list[Ledger]) -> None:
    """Later kills did no harm to what was there from before."""
    async with Http(server.host, server.port) as http:
        api = Api(http)
        for ledger in ledgers:
            await ledger.audit(api)
            for run in list(ledger.started)[::20]:
                assert await api.status(run) == "COMPLETED"


def test_a_cancel_of_three_thousand_descendants_survives(server: Server) -> None:
    children = [f"child-{n}" for n in range(30)]

    async def grow(api: Api) -> None:
        await api.start("root")
        await api.advance(
            "root", *(commands.child(name, task_queue=api.queue) for name in children)
        )
        for _ in children:
            name = (await api.claim())["workflow_id"]
            leaves = (commands.child(f"{name}-{n}", task_queue="nobody") for n in range(100))
            await api.submit(name, *leaves)

    async def before() -> str:
        async with asyncio.timeout(FAMILY_SECS), Http(server.host, server.port) as http:
            api = Api(http)
            await grow(api)
            await api.cancel("root", "all of you")
            server.kill()
            return api.queue

    async def after(queue: str) -> None:
        async with asyncio.timeout(FAMILY_SECS), Http(server.host, server.port) as http:
            api = Api(http)
            api.queue = queue

            left = [f"{name}-{n}" for name in children for n in range(100)]

            async def none_left() -> bool:
                while left and await api.status(left[-1]) == "CANCELLED":
                    left.pop()
                return not left

            await until(none_left, secs=12)
            for _ in range(len(children) + 1):
                name = (await api.claim())["workflow_id"]
                await api.submit(name, commands.cancelled("all of you"))
            for name in ("root", *children, "child-7-99"):
                [request] = await api.events(name, "WorkflowCancelRequested")
                assert request.payload == {"reason": "all of you"}
                assert await api.status(name) == "CANCELLED"

    queue = asyncio.run(before())
    server.start()
    asyncio.run(after(queue))
