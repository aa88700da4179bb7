"""W1 and W2: workflows of dispatched steps at full speed, by plain HTTP calls.

Four processes share the machine: a client that keeps so many workflows open, one worker process of
plain pollers, the server, and PostgreSQL where it is the store. After a warm-up a stretch of time
is marked off; units and processor time are those of that stretch. Then the client stops starting,
everything in flight ends, and the engine's records are audited.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks import submitter, workers
from benchmarks.audit import audit
from benchmarks.control import Load, Mark
from benchmarks.cpu import machine_us, resident_bytes, spent_us
from benchmarks.options import Options
from benchmarks.profile import profiled
from benchmarks.results import FOREIGN, Report, Run
from benchmarks.rig import Store, standing
from benchmarks.runs import repeat
from tests.support.server import Server


class Workload(msgspec.Struct, frozen=True):
    """What one benchmark of this file asks of the engine."""

    title: str
    unit: str
    counted: str
    steps: int
    aim: str


class Moment(msgspec.Struct, frozen=True):
    """Counts of both load processes and processor time of all parts, read together."""

    client: Mark
    worker: Mark
    spent: dict[str, float]
    machine: float


W1 = Workload(
    title="W1 one-step workflows",
    unit="workflow",
    counted="ended",
    steps=1,
    aim="6,000 workflows/s; 150 µs in all when nothing is batched, 85 with batched starts",
)
W2 = Workload(
    title="W2 ten sequential dispatched steps",
    unit="step",
    counted="steps",
    steps=10,
    aim="15,000 steps/s; worker 35 µs, server with store 55 µs",
)


def measure(options: Options, workload: Workload) -> Report:
    """Make all runs, each on a fresh store, and sum them up."""

    def run(number: int) -> Run:
        sampled = options.profile if number == 0 else None
        with standing(options.store, options.directory) as (store, server, _):
            return one_run(options, workload, store, server, sampled)

    return repeat(options, workload.title, workload.unit, workload.aim, run)


def one_run(
    options: Options, workload: Workload, store: Store, server: Server, sampled: Path | None
) -> Run:
    """Put load on a server, mark off the measured stretch, drain and audit."""
    with loaded(options, workload, server) as (client, worker):
        parts = {"client": client.pid, "worker": worker.pid, "server": server.process.pid}
        if store.pid is not None:
            parts["store"] = store.pid
        time.sleep(options.warmup)
        first = look(client, worker, parts)
        with profiled(server.process.pid, options.seconds, sampled):
            time.sleep(options.seconds)
        last = look(client, worker, parts)
        memory = resident_bytes(server.process.pid)
        ended = client.stop()
        refused = worker.stop().counts.get("refused", 0)
    if refused:
        raise RuntimeError(f"{refused} calls of the worker were refused")
    verdict = audit(server.port, ended.counts["started"], workload.steps)
    figured = figures(first, last, workload.counted)
    notes: dict[str, int | float | str] = {"audit": verdict, "server MiB": memory >> 20}
    return Run(figured, {**notes, **store.facts})


@contextmanager
def loaded(options: Options, workload: Workload, server: Server) -> Iterator[tuple[Load, Load]]:
    """Start the worker, then the client; neither outlives the block."""
    told, tell = os.pipe() if options.ends == "told" else (None, None)
    pollers = (options.workflow_pollers, options.activity_pollers)
    worker = Load("workers", workers.Plan(server.port, workload.steps, *pollers, tell), tell)
    client = Load("submitter", submitter.Plan(server.port, options.in_flight, told), told)
    for end in (told, tell):
        if end is not None:
            os.close(end)
    try:
        yield client, worker
    finally:
        client.kill()
        worker.kill()


def look(client: Load, worker: Load, parts: dict[str, int]) -> Moment:
    """Read counts and clocks as close together as can be."""
    spent = {name: spent_us(pid) for name, pid in parts.items()}
    return Moment(client.mark(), worker.mark(), spent, machine_us())


def figures(first: Moment, last: Moment, counted: str) -> dict[str, float]:
    """Turn two moments into rates and µs per unit."""
    teller = "client" if counted == "ended" else "worker"
    before: Mark = getattr(first, teller)
    after: Mark = getattr(last, teller)
    units = after.counts.get(counted, 0) - before.counts.get(counted, 0)
    costs = {
        f"{name} µs": (last.spent[name] - first.spent[name]) / max(1, units) for name in first.spent
    }
    latency = {"p50 ms": last.client.p50_ms, "p99 ms": last.client.p99_ms}
    return {
        "per s": units / (after.at - before.at),
        **latency,
        **costs,
        "all µs": sum(costs.values()),
        FOREIGN: foreign_cores(first, last),
    }


def foreign_cores(first: Moment, last: Moment) -> float:
    """Tell how much of the machine went to processes that are not part of the benchmark."""
    ours = sum(last.spent.values()) - sum(first.spent.values())
    return (last.machine - first.machine - ours) / (last.worker.at - first.worker.at) / 1e6
