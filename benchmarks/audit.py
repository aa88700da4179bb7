"""What is looked up in the engine after a run: nothing lost, nothing doubled, no gap."""

import asyncio
import random
from collections.abc import Iterator
from typing import TypeVar

import msgspec
import uvloop

from benchmarks import calls
from benchmarks.load import Connection, connect_many
from benchmarks.submitter import name_of

CONNECTIONS = 20
SAMPLES = 200
SEED = 7
OK = 200
T = TypeVar("T")


class Line(msgspec.Struct):
    """The part of an event record that shows order and kind."""

    seq: int
    event_type: str


class AuditError(Exception):
    """The engine's records do not agree with what its clients were told."""


def audit(port: int, started: int, steps: int) -> str:
    """Check the record of every workflow and the history of a sample."""
    uvloop.run(check(port, started, steps))
    return f"all {started} COMPLETED, {min(SAMPLES, started)} histories without a gap"


async def check(port: int, started: int, steps: int) -> None:
    connections = await connect_many(port, CONNECTIONS)
    numbers = iter(range(1, started + 1))
    await asyncio.gather(*(check_results(each, numbers, steps) for each in connections))
    samples = random.Random(SEED).sample(range(1, started + 1), min(SAMPLES, started))
    for number in samples:
        await check_history(connections[0], name_of(number), steps)


async def check_results(connection: Connection, numbers: Iterator[int], steps: int) -> None:
    """Compare how workflows ended with how they had to."""
    expected = calls.Total(steps, steps * (steps + 1) // 2)
    for number in numbers:
        ended = await read(connection, calls.describe(name_of(number)), calls.Ended)
        if ended.status != "COMPLETED" or calls.read_total(ended.result or "null") != expected:
            raise AuditError(f"workflow {number} should have ended with {expected}: {ended}")


async def check_history(connection: Connection, workflow_id: str, steps: int) -> None:
    """Compare one history with the only one that these workflows can have."""
    lines = await read(connection, calls.events(workflow_id), list[Line])
    kinds = ["WorkflowStarted", *["ActivityScheduled", "ActivityCompleted"] * steps]
    expected = [Line(seq, kind) for seq, kind in enumerate([*kinds, "WorkflowCompleted"], 1)]
    if lines != expected:
        raise AuditError(f"history of {workflow_id}: {lines}")


async def read(connection: Connection, message: bytes, kind: type[T]) -> T:
    status, body = await connection.request(message)
    if status != OK:
        raise AuditError(f"status {status}: {body!r}")
    return msgspec.json.decode(body, type=kind)
