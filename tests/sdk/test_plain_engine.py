"""A client of an engine that speaks nothing but the plain routes of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.sdk.client import Client
from assay.sdk.convert import DEFAULT
from assay.sdk.transport import ANSWER_SECS, Reply, Transport

SECS = 20.0
UNKNOWN = Reply(404, b'{"error": "not found: /api/v1/exchange"}')


@assay.workflow
async def greet(ctx: assay.WorkflowContext, name: str) -> str:
    return f"{await ctx.wait_for_signal('greeting')}, {name}!"


class Plain:
    """A transport to an engine that has no exchange; it notes what is asked."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, body: bytes | None = None, *, secs: float = ANSWER_SECS
    ) -> Reply:
        self.asked.append(f"{method} {path}")
        if path == "/exchange":
            return UNKNOWN
        return await self.transport.request(method, path, body, secs=secs)

    def from_thread(self) -> None:
        return None

    async def close(self) -> None:
        """The engine closes its own."""


def with_plain(story: Callable[[Client, Plain], Awaitable[None]]) -> Callable[[Path], None]:
    def test(tmp_path: Path) -> None:
        async def tell() -> None:
            async with (
                asyncio.timeout(SECS),
                assay.open(tmp_path / "x.db", workflows=[greet]) as app,
            ):
                plain = Plain(app.transport)
                await story(Client(plain, namespace="main", codec=DEFAULT), plain)

        asyncio.run(tell())

    return test


@with_plain
async def test_what_is_said_goes_by_routes_of_its_own(client: Client, plain: Plain) -> None:
    run = await client.workflows.start(greet, "a/b", "you")
    assert (run["workflow_id"], run["status"]) == ("a/b", "PENDING")
    await run.signal("greeting", "Hello")
    assert await run.result() == "Hello, you!"
    assert plain.asked.count("POST /exchange") == 1
    assert "POST /workflows" in plain.asked
    assert "POST /workflows/a%2Fb/signal/greeting" in plain.asked


@with_plain
async def test_refusals_are_the_same(client: Client, plain: Plain) -> None:
    run = await client.workflows.start(greet, "taken", "you")
    with pytest.raises(assay.Conflict):
        await client.workflows.start(greet, "taken", "you")
    with pytest.raises(assay.NotFound):
        await client.workflows.signal("nobody", "greeting")
    await run.terminate("enough")
    with pytest.raises(assay.WorkflowTerminated, match="enough"):
        await run.result()


@with_plain
async def test_an_end_that_is_asked_for_first_is_waited_for(client: Client, plain: Plain) -> None:
    async with asyncio.TaskGroup() as group:
        body: Any = b'{"workflow_type": "greet", "workflow_id": "wf", "input": "you"}'
        await plain.request("POST", "/workflows", body)
        waiting = group.create_task(client.workflows.result("wf"))
        await asyncio.sleep(0.05)
        await client.workflows.signal("wf", "greeting", "Hi")
    assert waiting.result() == "Hi, you!"
