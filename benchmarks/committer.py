"""The engine alone: concurrent callers complete activities in this process, without HTTP.

Before the clock starts, runs are started and each schedules its activities, which are all claimed.
Then every caller completes one after the other, taking runs in turn, so that the completions of
one commit belong to different runs. Only that stretch is measured. Afterwards the engine is stopped
and another one is opened on the same store: every acknowledged completion has to be there, and no
history may have a gap.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import uvloop

from assay.engine.runner import Runner
from assay.engine.wants import Grant
from assay.model.activity import Activity
from assay.model.commands import ScheduleActivity
from assay.model.ids import claim_token
from assay.model.operations import CompleteActivity, Fence, Start, Started, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.model.run import Run as Workflow
from assay.model.task import TaskKind
from benchmarks.control import quantile
from benchmarks.cpu import machine_us, spent_us
from benchmarks.engines import opened
from benchmarks.options import Options
from benchmarks.results import FOREIGN, Report, Run
from benchmarks.rig import Store, open_store, scratch
from benchmarks.runs import repeat

PER_RUN = 10
QUEUE = "bench"
WORKER = "w-00000000000bench"
HOLD_SECS = 10.0
CHUNK = 1000
AIM = "more than W2 asks for: 15,000 completions/s and what their claims take beside them"


T = TypeVar("T")


class AuditError(Exception):
    """The store does not hold what callers were told."""


def measure(options: Options) -> Report:
    """Make all runs, each on a fresh store."""

    def run(_: int) -> Run:
        with scratch(options.directory) as directory, open_store(options.store, directory) as store:
            return uvloop.run(one_run(options, store))

    title = f"committer, {options.callers} callers completing activities"
    return repeat(options, title, "completion", AIM, run)


async def one_run(options: Options, store: Store) -> Run:
    """Prepare, complete everything, then audit with an engine that remembers nothing."""
    count = options.operations // PER_RUN
    async with opened(store.url) as runner:
        runs = await in_parallel(options.callers, (start(runner, n) for n in range(count)))
        work = (claim(runner) for _ in range(count * PER_RUN))
        grants = await in_parallel(options.callers, work)
        figures = await timed(options, store, runner, in_turn(grants))
    async with opened(store.url) as runner:
        await audit(runner, runs, grants)
    return Run(
        figures, {"audit": f"{len(grants)} completions of {count} runs, no gap", **store.facts}
    )


async def in_parallel(callers: int, work: Iterator[Awaitable[T]]) -> list[T]:
    """Let so many callers do the work, each one piece after the other."""
    done: list[T] = []

    async def call() -> None:
        for piece in work:
            done.append(await piece)  # noqa: PERF401 - the callers share one iterator

    await asyncio.gather(*(call() for _ in range(callers)))
    return done


async def start(runner: Runner, number: int) -> int:
    """Start one run and answer its first task with all its activities."""
    outcome = await runner.perform(Start("bench", f"bench-{number}", queue=QUEUE))
    assert isinstance(outcome, Started)
    grant = await taken(runner, TaskKind.WORKFLOW)
    assert isinstance(grant.row, Workflow)
    commands = tuple(
        ScheduleActivity(seq, "step", QUEUE, str(seq), RetryPolicy())
        for seq in range(1, PER_RUN + 1)
    )
    lease = claim_token(grant.claim.token)
    await runner.perform(SubmitCommands(grant.row.id, WORKER, commands, lease))
    return grant.row.no


async def claim(runner: Runner) -> Activity:
    """Claim one activity."""
    row = (await taken(runner, TaskKind.ACTIVITY)).row
    assert isinstance(row, Activity)
    return row


async def taken(runner: Runner, kind: TaskKind) -> Grant:
    """Poll until there is a task."""
    grant = await runner.poll(kind, QUEUE, WORKER, HOLD_SECS)
    if grant is None:
        raise AuditError(f"no {kind} task came within {HOLD_SECS} s")
    return grant


def in_turn(activities: Sequence[Activity]) -> list[Activity]:
    """Order them so that neighbours belong to different runs."""
    return sorted(activities, key=lambda activity: (activity.seq, activity.run_no))


async def timed(
    options: Options, store: Store, runner: Runner, activities: Sequence[Activity]
) -> dict[str, float]:
    """Complete all activities under the clock."""
    latencies: list[float] = []
    parts = {"process": os.getpid(), **({} if store.pid is None else {"store": store.pid})}
    commits, began = runner.engine.batches, time.perf_counter()
    spent = {name: spent_us(pid) for name, pid in parts.items()}
    machine = machine_us()
    work = (complete(runner, activity, latencies) for activity in activities)
    await in_parallel(options.callers, work)
    secs, count = time.perf_counter() - began, len(activities)
    used = {name: spent_us(pid) - spent[name] for name, pid in parts.items()}
    costs = {f"{name} µs": used[name] / count for name in parts}
    costs[FOREIGN] = (machine_us() - machine - sum(used.values())) / secs / 1e6
    latencies.sort()
    p50, p99 = quantile(latencies, 0.50) * 1e3, quantile(latencies, 0.99) * 1e3
    per_commit = count / (runner.engine.batches - commits)
    return {"per s": count / secs, "p50 ms": p50, "p99 ms": p99, "per commit": per_commit, **costs}


async def complete(runner: Runner, activity: Activity, latencies: list[float]) -> None:
    """Report one success under its fence; it returns when that is durable."""
    assert activity.claim_token is not None
    fence = Fence(WORKER, activity.attempt, claim_token(activity.claim_token))
    began = time.perf_counter()
    await runner.perform(CompleteActivity(activity.no, str(activity.seq), fence))
    latencies.append(time.perf_counter() - began)


async def audit(runner: Runner, runs: Sequence[int], activities: Sequence[Activity]) -> None:
    """Compare what the store holds with what was acknowledged."""
    expected = ["WorkflowStarted", *["ActivityScheduled"] * PER_RUN]
    expected += ["ActivityCompleted"] * PER_RUN
    for chunk in chunks(runs):
        rows = await runner.store.reading.histories(chunk)
        for run_no, history in groupby(rows, key=lambda row: row.run_no):
            kept = [(row.seq, row.type) for row in history]
            if kept != list(enumerate(expected, 1)):
                raise AuditError(f"history of run {run_no}: {kept}")
        if {row.run_no for row in rows} != set(chunk):
            raise AuditError("a run has lost its history")
    for chunk in chunks([activity.no for activity in activities]):
        for view in await runner.store.reading.activity_views(chunk):
            if (view.activity.status, view.result) != ("COMPLETED", str(view.activity.seq)):
                raise AuditError(f"an acknowledged completion is not in the store: {view}")


def chunks(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut a list into pieces that one query can take."""
    return (numbers[at : at + CHUNK] for at in range(0, len(numbers), CHUNK))
