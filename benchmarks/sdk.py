"""The SDK against a server: W1 to W7, client, worker, server and store sharing the machine.

Each workload is a number of runs, timed from the first start to the last result its client has in
hand; results are checked. `rate` is units per second; the other columns are processor time per unit
of each process, or latencies. Embedded, engine, worker and client are one process.
"""

import asyncio
import contextlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any

import msgspec
import uvloop

import assay
from assay import Client, WorkflowContext, WorkflowHandle
from benchmarks import sdk_work as work
from benchmarks.control import quantile
from benchmarks.cpu import spent_us
from benchmarks.machine import describe
from benchmarks.options import Options
from benchmarks.results import Report, Run, medians
from benchmarks.rig import ROOT, Store, open_store, scratch, serve

TRIES = 200
FAN_OUTS = 5
READY_SECS = 20.0


class Figures(msgspec.Struct):
    """What one workload came to: units in so much time, or latencies of single ones."""

    units: int
    secs: float
    latencies: list[float] = []


Workflow = Callable[[WorkflowContext, int], Coroutine[Any, Any, int]]
Workload = Callable[[Client, Options], Awaitable[Figures]]


async def many(client: Client, workflow: Workflow, runs: int, each: int) -> None:
    """Start so many at full speed, and have all their results."""

    async def one() -> None:
        handle = await client.workflows.start(workflow, input=each)
        assert await handle.result() == each

    await asyncio.gather(*(one() for _ in range(runs)))


def batch(workflow: Workflow, runs: int, each: int) -> Workload:
    """So many runs of so many steps; a unit is a step."""

    async def measure(client: Client, _: Options) -> Figures:
        await many(client, workflow, max(runs // 10, 1), each)
        began = time.perf_counter()
        await many(client, workflow, runs, each)
        return Figures(runs * each, time.perf_counter() - began)

    return measure


def long(workflow: Workflow, steps: int) -> Workload:
    """One run of so many steps."""

    async def measure(client: Client, _: Options) -> Figures:
        await many(client, workflow, 1, 100)
        began = time.perf_counter()
        await many(client, workflow, 1, steps)
        return Figures(steps, time.perf_counter() - began)

    return measure


def fan_out(workflow: Workflow, width: int) -> Workload:
    """One run of so many parallel steps, some times."""

    async def once(client: Client) -> None:
        handle = await client.workflows.start(workflow, input=width)
        assert await handle.result() == width * (width + 1) // 2

    async def measure(client: Client, _: Options) -> Figures:
        await once(client)
        began = time.perf_counter()
        for _try in range(FAN_OUTS):
            await once(client)
        return Figures(width * FAN_OUTS, time.perf_counter() - began)

    return measure


async def signal_to_end(client: Client, _: Options) -> Figures:
    """From a signal to the result of a run that waited for it."""
    latencies: list[float] = []
    for number in range(TRIES + 20):
        handle = await client.workflows.start(work.parked, input=number)
        await awaits_signal(handle)
        began = time.perf_counter()
        await handle.signal("go")
        assert await handle.result() == number
        latencies.append(time.perf_counter() - began)
    return Figures(TRIES, sum(latencies[20:]), sorted(latencies[20:]))


async def awaits_signal(handle: WorkflowHandle[Any]) -> None:
    """Until its worker has said what it waits for."""
    while True:
        [last] = await handle.events(order="desc", limit=1)
        if last["event_type"] == "WorkflowAwaitingSignal":
            return
        await asyncio.sleep(0.001)


async def start_to_end(client: Client, _: Options) -> Figures:
    """From a start to the result of a one-step run, nothing else going on."""
    latencies: list[float] = []
    for _number in range(TRIES + 20):
        began = time.perf_counter()
        handle = await client.workflows.start(work.inline_steps, input=1)
        assert await handle.result() == 1
        latencies.append(time.perf_counter() - began)
    return Figures(TRIES, sum(latencies[20:]), sorted(latencies[20:]))


async def park(client: Client, _: Options) -> Figures:
    """Starts of runs that wait for a signal."""
    runs = 10_000
    began = time.perf_counter()
    await asyncio.gather(*(client.workflows.start(work.parked, input=n) for n in range(runs)))
    return Figures(runs, time.perf_counter() - began)


WORKLOADS: dict[str, tuple[Workload, str]] = {
    "sdk-w1": (batch(work.inline_steps, 5_000, 1), "W1 one-step workflows: 3,000 workflows/s"),
    "sdk-w1-dispatched": (batch(work.dispatched_steps, 5_000, 1), "W1 with a dispatched step"),
    "sdk-w2": (batch(work.inline_steps, 2_000, 10), "W2 ten inline steps: 8,000 steps/s"),
    "sdk-w2-dispatched": (batch(work.dispatched_steps, 1_000, 10), "W2 dispatched: 4,000 steps/s"),
    "sdk-w3": (long(work.inline_steps, 1_000), "W3 sequential inline steps: 2,000 steps/s"),
    "sdk-w3-10000": (long(work.inline_steps, 10_000), "W3 of 10,000: as fast as of 1,000"),
    "sdk-w3-dispatched": (long(work.dispatched_steps, 1_000), "W3 dispatched"),
    "sdk-w4": (fan_out(work.parallel_inline, 1_000), "W4 parallel steps: 5,000 steps/s"),
    "sdk-w4-dispatched": (fan_out(work.parallel_dispatched, 1_000), "W4 dispatched: 5,000 steps/s"),
    "sdk-w5": (signal_to_end, "W5 signal to completion: p50 2 ms"),
    "sdk-w6": (start_to_end, "W6 start to result: p50 2 ms"),
    "sdk-w7": (park, "W7 starts that park: 8,000 starts/s"),
}


def measure(options: Options) -> Report:
    """So many runs, each on a fresh store."""
    runs = [one(options) for _ in range(options.runs)]
    machine = describe(options.directory or ROOT.parent)
    aim = WORKLOADS[options.name][1]
    return Report(options.name, "one unit", aim, options, machine, runs, medians(runs))


def one(options: Options) -> Run:
    with scratch(options.directory) as directory, open_store(options.store, directory) as store:
        if options.embedded:
            return uvloop.run(embedded(options, store))
        with serve(store, directory) as server, worker(f"http://127.0.0.1:{server.port}") as pid:
            pids = {"server": server.process.pid, "worker": pid}
            if store.pid is not None:
                pids["store"] = store.pid
            return uvloop.run(served(options, f"http://127.0.0.1:{server.port}", pids))


@contextlib.contextmanager
def worker(url: str) -> Iterator[int]:
    """The worker process."""
    command = [sys.executable, "-m", "benchmarks.sdk_worker", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(READY_SECS)


async def served(options: Options, url: str, pids: dict[str, int]) -> Run:
    async with await assay.connect(url) as client:
        return await measured(options, client, pids)


async def embedded(options: Options, store: Store) -> Run:
    async with opened(store) as client:
        return await measured(options, client, {})


@contextlib.asynccontextmanager
async def opened(store: Store) -> AsyncIterator[Client]:
    async with assay.open(
        store.url,
        workflows=work.WORKFLOWS,
        activities=work.ACTIVITIES,
        max_concurrent_workflows=500,
        max_concurrent_activities=500,
    ) as app:
        yield app


async def measured(options: Options, client: Client, pids: dict[str, int]) -> Run:
    before = {name: spent_us(pid) for name, pid in pids.items()}
    own = spent_us(os.getpid()) if not pids else client_us()
    figures = await WORKLOADS[options.name][0](client, options)
    shares = {f"{name} us": spent_us(pid) - before[name] for name, pid in pids.items()}
    shares["client us"] = (spent_us(os.getpid()) if not pids else client_us()) - own
    columns = {"rate": figures.units / figures.secs}
    columns |= {name: value / figures.units for name, value in shares.items()}
    if figures.latencies:
        columns["p50 ms"] = quantile(figures.latencies, 0.50) * 1e3
        columns["p99 ms"] = quantile(figures.latencies, 0.99) * 1e3
    return Run(columns, {"units": figures.units})


def client_us() -> float:
    """What this process alone has used: its children are counted apart."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e6
