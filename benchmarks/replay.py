"""The worker's memory and replay alone: no engine, no network.

`sdk-replay` feeds histories of 10,000 events to fresh copies of their runs; `sdk-memory` keeps
10,000 runs that wait for a signal after one activity, as a worker's cache does.
"""

import gc
import os
import time
from collections.abc import Iterator

from msgspec import Raw

from assay.sdk.context import replay_of
from assay.sdk.convert import DEFAULT
from assay.sdk.definition import WorkflowDefinition
from assay.sdk.replay.outgoing import outgoing
from assay.sdk.replay.replay import Replay
from assay.sdk.worker.live_run import LiveRun
from assay.wire.exchange.answer import Entry
from benchmarks import sdk_work
from benchmarks.cpu import resident_bytes
from benchmarks.machine import describe
from benchmarks.options import Options
from benchmarks.results import Report, Run, medians
from benchmarks.rig import ROOT

EVENTS = 10_000
PARKED = 10_000


def measure_replay(options: Options) -> Report:
    """Milliseconds for a whole history, dispatched and inline."""
    runs = [
        Run({"dispatched ms": replayed(dispatched()), "inline ms": replayed(inline())})
        for _ in range(options.runs)
    ]
    return report(options, "replay of 10,000 events", "300 ms", runs)


def measure_memory(options: Options) -> Report:
    """Bytes and microseconds for each parked run."""
    runs = [parked()]  # once: what is let go of is used again, and would not be seen
    return report(options, "a run parked in a worker's cache", "10 KB", runs)


def report(options: Options, unit: str, aim: str, runs: list[Run]) -> Report:
    return Report(options.name, unit, aim, options, describe(ROOT), runs, medians(runs))


def replayed(of: tuple[WorkflowDefinition, list[Entry]]) -> float:
    definition, history = of
    replay = replay_of(definition, "replayed", DEFAULT)
    began = time.perf_counter()
    replay.advance(history)
    said, _ = outgoing(replay, 1.0, None)
    assert said.ends
    return (time.perf_counter() - began) * 1e3


def dispatched() -> tuple[WorkflowDefinition, list[Entry]]:
    steps = EVENTS // 2
    history = [Entry(1, "WorkflowStarted", Raw(b"%d" % steps), 1.0)]
    for number in range(1, steps + 1):
        history += activity(2 * number, number, number)
    return WorkflowDefinition("dispatched", sdk_work.dispatched_steps), history


def inline() -> tuple[WorkflowDefinition, list[Entry]]:
    history = [Entry(1, "WorkflowStarted", Raw(b"%d" % EVENTS), 1.0)]
    for number in range(1, EVENTS + 1):
        said = b'{"step_seq":%d,"name":"add","attempt":1,"result":%d}' % (number, number)
        history.append(Entry(number + 1, "StepCompleted", Raw(said), 1.0))
    return WorkflowDefinition("inline", sdk_work.inline_steps), history


def activity(seq: int, number: int, result: int) -> Iterator[Entry]:
    about = b'"activity_id":%d,"activity_seq":%d,"name":"bump"' % (number, number)
    yield Entry(seq, "ActivityScheduled", Raw(b"{%s}" % about), 1.0)
    yield Entry(seq + 1, "ActivityCompleted", Raw(b'{%s,"result":%d}' % (about, result)), 1.0)


def parked() -> Run:
    definition = WorkflowDefinition("parked", sdk_work.parked_after_work)
    started = [Entry(1, "WorkflowStarted", Raw(b"1"), 1.0)]
    worked = list(activity(2, 1, 2))
    gc.collect()
    before, began = resident_bytes_here(), time.perf_counter()
    kept: list[LiveRun] = []
    for number in range(PARKED):
        replay: Replay = replay_of(definition, f"run-{number}", DEFAULT)
        for entries in (started, worked):
            replay.advance(entries)
            outgoing(replay, 1.0, None)
        kept.append(LiveRun(number, replay.workflow_id, replay))
    spent = time.perf_counter() - began
    gc.collect()
    each = (resident_bytes_here() - before) / PARKED
    for live in kept:
        live.let_go()
    return Run({"bytes": each, "us": spent / PARKED * 1e6})


def resident_bytes_here() -> int:
    return resident_bytes(os.getpid())
