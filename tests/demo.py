"""The main job in one go: a worker is killed in the middle of a run, and another one finishes it.

Run by `./dev demo`: an engine on SQLite, served; workers in processes of their own; a run seen
through to its result. On a terminal the engine stays up until Ctrl-C, so that it can be looked at.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import assay
from tests.support.server import Server

ID = "order-1"
WAIT_SECS = 20.0
PACK_SECS = 2.0


# What the workers run


@dataclass
class Order:
    item: str
    amount: int


@dataclass
class Delivery:
    charged: str
    parcel: str


@assay.activity
async def charge(ctx: assay.ActivityContext, order: Order) -> str:
    if ctx.attempt == 1:
        say("asks the bank for the money, which does not answer")
        raise ConnectionError("the bank did not answer")
    say(f"charges {order.amount} EUR, at attempt {ctx.attempt}")
    return f"{order.amount} EUR"


@assay.activity
async def pack(ctx: assay.ActivityContext, order: Order) -> str:
    say(f"packs the {order.item}, attempt {ctx.attempt}")
    await asyncio.sleep(PACK_SECS)
    say(f"has packed the {order.item}")
    return f"{order.item}, packed at attempt {ctx.attempt}"


@assay.workflow
async def fulfil(ctx: assay.WorkflowContext, order: Order) -> Delivery:
    charged = await ctx.execute_activity(charge, order, initial_interval_secs=0.3)
    await ctx.sleep(0.5)  # the customer may think it over
    parcel = await ctx.execute_activity(
        pack, order, heartbeat_timeout_secs=1, initial_interval_secs=0.3
    )
    return Delivery(charged, parcel)


def say(words: str) -> None:
    print(words, flush=True)


async def work(url: str) -> None:
    """A worker's whole program."""
    async with await assay.connect(url) as client:
        client.define(fulfil)
        client.activity(charge)
        client.activity(pack)
        await client.listen()


# What happens to them


class WorkerProcess:
    """A worker of its own, and all that it has said."""

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self.said: list[str] = []
        self.packs = asyncio.Event()
        self._process = process
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def begin(cls, name: str, url: str) -> WorkerProcess:
        command = (sys.executable, "-m", "tests.demo", "work", url)
        worker = cls(name, await asyncio.create_subprocess_exec(*command, stdout=PIPE))
        print(f"  {name} is process {worker._process.pid}")
        return worker

    async def end(self, by: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(by)
        await self._process.wait()
        await self._reader

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            words = line.decode().strip()
            print(f"    {self.name} {words}", flush=True)
            self.said.append(words)
            if words.startswith("packs"):
                self.packs.set()


async def see_through(url: str) -> list[str]:
    """Tell the whole story; what is not as it should be."""
    workers: list[WorkerProcess] = []
    async with await assay.connect(url) as client:
        try:
            print(f"A worker starts, and a customer orders: {ID}.")
            workers.append(await WorkerProcess.begin("worker A", url))
            run = await client.workflows.start(fulfil, ID, Order("teapot", 42))
            await asyncio.wait_for(workers[0].packs.wait(), WAIT_SECS)

            await asyncio.sleep(PACK_SECS / 4)
            await workers[0].end(signal.SIGKILL)
            print("kill -9: worker A is gone in the middle of its work. The engine keeps the run.")

            print("Another worker starts. It replays what history holds, and goes on from there.")
            workers.append(await WorkerProcess.begin("worker B", url))
            delivery = await run.result(WAIT_SECS)
            print(f"{ID} is completed: {delivery}")
        finally:
            for worker in workers:
                await worker.end(signal.SIGTERM)
        print("\nWhat the engine has kept of it, event by event:")
        for event in await run.events():
            print(f"  {event['seq']:>3}  {event['event_type']:<20} {(event['payload'] or '')[:70]}")
    return list(complaints(delivery, [words for each in workers for words in each.said]))


def complaints(delivery: Delivery, said: Sequence[str]) -> list[str]:
    """What should have been otherwise."""
    found: list[str] = []
    if delivery != Delivery("42 EUR", "teapot, packed at attempt 2"):
        found.append(f"the result is {delivery}")
    for words, times in (("charges", 1), ("packs", 2), ("has packed", 1)):
        counted = sum(each.startswith(words) for each in said)
        if counted != times:
            found.append(f"{words!r} was said {counted} times, not {times}")
    return found


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="assay-demo-") as folder:
        server = Server(f"sqlite://{folder}/demo.db", Path(folder) / "server.log")
        with server.running():
            url = f"http://{server.host}:{server.port}"
            print(f"assay serve: an engine on {folder}/demo.db answers at {url}.")
            wrong = asyncio.run(see_through(url))
            for words in wrong:
                print(f"This is wrong: {words}")
            if not wrong:
                print("\nThe money was taken once, though a worker died and another began anew.")
            if sys.stdout.isatty():
                print(f"Look at it yourself: {url}/api/v1/workflows/{ID}, {url}/api/v1/docs")
                print("Ctrl-C ends the engine.")
                try:
                    server.process.wait()
                except KeyboardInterrupt:
                    print()
    return 1 if wrong else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work", url]:
            asyncio.run(work(url))
        case _:
            sys.exit(main())
