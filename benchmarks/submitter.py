"""The client process: keeps so many workflows open, starting the next when one has ended.

It learns of an end in one of two ways. `told`: the worker process says so over a pipe once its
CompleteWorkflow was acknowledged, which costs the engine nothing. `held`: the client holds a
request for the result of each workflow, as a caller who waits for it would.
"""

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Iterator

import msgspec
import uvloop

from benchmarks import calls
from benchmarks.control import CHUNK_BYTES, Reporter
from benchmarks.load import Connection, connect_many

CREATED = 201
OK = 200
HELD = 202


class Plan(msgspec.Struct, frozen=True):
    """How many workflows are open at any time, and the pipe that tells of ends, if there is one."""

    port: int
    in_flight: int
    told: int | None


class Ends:
    """Who waits to be told of which workflow's end."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._torn = b""

    def listen(self, pipe: int) -> None:
        """Read the numbers of ended workflows, one a line, on the running loop."""
        os.set_blocking(pipe, False)
        asyncio.get_running_loop().add_reader(pipe, self._on_lines, pipe)

    def of(self, number: int) -> asyncio.Future[None]:
        """The end of one workflow; to be asked for before it is started."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        return future

    def _on_lines(self, pipe: int) -> None:
        words = os.read(pipe, CHUNK_BYTES)
        if not words:
            asyncio.get_running_loop().remove_reader(pipe)
        *lines, self._torn = (self._torn + words).split(b"\n")
        for line in lines:
            self._waiting.pop(int(line)).set_result(None)


async def submit(
    connection: Connection, numbers: Iterator[int], ends: Ends | None, to: Reporter
) -> None:
    """Start one workflow after the other and wait for each, until told to stop."""
    while not to.stopping.is_set():
        number = next(numbers)
        end = None if ends is None else ends.of(number)
        begun = time.perf_counter()
        status, body = await connection.request(calls.start(name_of(number)))
        if status != CREATED:
            raise RuntimeError(f"start of {number} answered {status}: {body!r}")
        to.count("started")
        await (hold(connection, number) if end is None else end)
        to.latencies.append(time.perf_counter() - begun)
        to.count("ended")


async def hold(connection: Connection, number: int) -> None:
    """Wait for a result as a client of the engine does."""
    status, body = HELD, b""
    while status == HELD:
        status, body = await connection.request(calls.result(name_of(number)))
    if status != OK:
        raise RuntimeError(f"result of {number} answered {status}: {body!r}")


def name_of(number: int) -> str:
    """Name the workflow of that number."""
    return f"bench-{number}"


def number_of(name: str) -> int:
    """Read the number back."""
    return int(name.rpartition("-")[2])


async def main(plan: Plan) -> None:
    to = Reporter()
    connections = await connect_many(plan.port, plan.in_flight)
    ends = None if plan.told is None else Ends()
    if ends is not None and plan.told is not None:
        ends.listen(plan.told)
    to.listen()
    numbers = itertools.count(1)
    await asyncio.gather(*(submit(each, numbers, ends, to) for each in connections))
    to.mark()


if __name__ == "__main__":
    uvloop.run(main(msgspec.json.decode(sys.argv[1], type=Plan)))
