"""An idle engine leaves its database alone: under five statements a second."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw

from assay.core.decide import Rules
from assay.engine.clock import wall_clock
from assay.engine.runner import Runner
from assay.model.task import TaskKind
from assay.model.worker import Introduction
from assay.store.sqlite.store import SqliteStore

SECONDS = 3
WORKERS = 20


def test_an_idle_engine_with_idle_workers_sends_few_statements(tmp_path: Path) -> None:
    """Twenty workers hold both polls and one more heartbeat each; every statement is counted."""
    statements: list[str] = []

    def note(_: apsw.Cursor, statement: str, __: object) -> bool:
        statements.append(statement)
        return True

    async def story() -> None:
        store = SqliteStore(str(tmp_path / "idle.db"))
        runner = Runner(store, wall_clock, Rules(lease=30_000_000))
        await runner.start()
        told = Introduction("main", "idle", "default", None, None, 10, 20)
        workers = [await runner.register(told) for _ in range(WORKERS)]
        polls = [
            asyncio.create_task(runner.poll(kind, "default", worker, 60))
            for worker in workers
            for kind in TaskKind
        ]
        await asyncio.sleep(0.1)
        store._connection.exec_trace = note
        for worker in workers:
            await runner.heartbeat(worker)
        await asyncio.sleep(SECONDS)
        store._connection.exec_trace = None
        await runner.stop()
        assert await asyncio.gather(*polls) == [None] * len(polls)

    asyncio.run(asyncio.wait_for(story(), 20))
    seen = [text for text in statements if "last_seen" in text]
    # One `executemany` writes all twenty signs of life behind; the trace sees it row by row.
    assert len(seen) <= WORKERS
    assert len(statements) - len(seen) < 5 * SECONDS, statements
