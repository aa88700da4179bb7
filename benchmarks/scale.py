"""What grows with the store: the same questions of a thousand runs and of a million.

A store is filled (`fill.py`), an engine is opened on it in this process, and each question is asked
again and again, one at a time. What a dispatch costs must not depend on how much there is; a list
may, but not so that anybody notices.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import count

import uvloop

from assay.engine.limits import HORIZON, WINDOW_TASKS
from assay.engine.runner import Runner
from assay.model.ids import claim_token
from assay.model.operations import Start, SubmitCommands
from assay.model.states import RunStatus
from assay.model.task import TaskKind
from assay.model.worker import Introduction
from assay.store.listing import Listing
from assay.store.port import Look
from benchmarks.control import quantile
from benchmarks.engines import opened
from benchmarks.fill import fill
from benchmarks.machine import describe
from benchmarks.options import Options
from benchmarks.results import Line, Report, say
from benchmarks.rig import ROOT, Store, open_store, scratch

FEW = 1_000
WARM_UP = 5
TIMES = 100
SECONDS = 10.0  # a question that is slow is asked less often
QUEUE = "bench"
WORKER = "w-00000000000bench"
AIM = "a claim costs at most twice as much, the p95 of a list stays below 100 ms"

VERSION = '{"assay_engine_version": "1.0"}'
ONE_TENANT = '{"assay_engine_version": "1.0", "region": 2, "tenant": "t7"}'
NEEDLE = '{"assay_engine_version": "1.0", "age": "old", "needle": true}'
NOBODY = '{"assay_engine_version": "1.0", "tenant": "nobody"}'
COMMON = '{"assay_engine_version": "1.0", "age": "new", "region": 3}'
NEVER_BOTH = '{"age": "old", "colour": "blue"}'
LISTS: dict[str, tuple[Listing, str | None]] = {
    "list": (Listing("main"), None),
    "list, limit 1000": (Listing("main", limit=1000), None),
    "list FAILED": (Listing("main", RunStatus.FAILED), None),
    "list WAITING (none)": (Listing("main", RunStatus.WAITING), None),
    "list a type": (Listing("main", type="type-3"), None),
    "list a rare type": (Listing("main", type="needle"), None),
    "list a type, FAILED": (Listing("main", RunStatus.FAILED, "type-3"), None),
    "list by a worker": (Listing("main", claimed_by="w-3"), None),
    "list by a rare worker": (Listing("main", claimed_by="w-needle"), None),
    "list by an idle worker": (Listing("main", claimed_by="w-none"), None),
    "list by a worker, FAILED": (Listing("main", RunStatus.FAILED, claimed_by="w-3"), None),
    "list of a version": (Listing("main"), VERSION),
    "list of a tenant": (Listing("main"), ONE_TENANT),
    "list of a tenant, 1000": (Listing("main", limit=1000), ONE_TENANT),
    "list of a tenant, FAILED": (Listing("main", RunStatus.FAILED), ONE_TENANT),
    "list of needles": (Listing("main"), NEEDLE),
    "list of nobody": (Listing("main"), NOBODY),
    "list of common things": (Listing("main"), COMMON),
    "list of never both": (Listing("main"), NEVER_BOTH),
    "list of all at once": (
        Listing("main", RunStatus.COMPLETED, "type-3", "w-3"),
        COMMON,
    ),
}

Ask = Callable[[], Awaitable[object]]


def measure(options: Options) -> Report:
    """Ask at both sizes."""
    found: list[dict[str, tuple[float, float]]] = []
    for size in (FEW, options.rows):
        with scratch(options.directory) as directory, open_store(options.store, directory) as store:
            found.append(uvloop.run(at_size(store, size)))
    few, many = found
    lines = [Line(name, *few[name], *many[name]) for name in many]
    machine = describe(options.directory or ROOT.parent)
    title = f"questions at {FEW:,} and at {options.rows:,} runs"
    return Report(title, "one question", AIM, options, machine, [], {}, lines)


async def at_size(store: Store, size: int) -> dict[str, tuple[float, float]]:
    """Fill, then ask everything."""
    began = time.perf_counter()
    await fill(store, size)
    say(f"{size:,} runs filled in {time.perf_counter() - began:.0f} s")
    found: dict[str, tuple[float, float]] = {}
    async with opened(store.url) as runner:
        for _ in range(20):
            await runner.register(Introduction("main", "bench", QUEUE, None, None, 10, 20))
        for name, ask in questions(runner, size):
            found[name] = await timed(ask)
            say(f"  {name}: p50 {found[name][0]:.2f} ms, p95 {found[name][1]:.2f} ms")
    return found


def questions(runner: Runner, size: int) -> Iterator[tuple[str, Ask]]:
    """Everything that is asked, by name."""
    yield from dispatch(runner)
    asked, reading = runner.questions, runner.store.reading
    for name, (listing, attributes) in LISTS.items():
        yield name, partial(asked.runs, listing, attributes)
    yield "list, the last page", partial(asked.runs, Listing("main", offset=size - 50), None)
    an_open, an_ended = f"wf-filled-{size - size % 1000 + 1 - 1000}", f"wf-filled-{size - 2}"
    yield "describe an open run", lambda: asked.describe(an_open)
    yield "describe an ended run", lambda: asked.describe(an_ended)
    page = partial(reading.events, cursor=None, limit=50, descending=True)
    yield "events page", partial(page, an_ended)
    yield "children", lambda: runner.store.catalogue.children(an_ended)
    yield "queues", lambda: asked.queues("main")
    yield "workers", lambda: asked.workers("main")
    yield "namespace", lambda: asked.namespace("main")


def dispatch(runner: Runner) -> Iterator[tuple[str, Ask]]:
    """What work is started, claimed and found by."""
    numbers = count(1)
    claimed: list[tuple[str, str]] = []

    async def start() -> None:
        await runner.perform(Start("bench", f"bench-{next(numbers)}", queue=QUEUE))

    async def claim() -> None:
        grant = await runner.poll(TaskKind.WORKFLOW, QUEUE, WORKER)
        assert grant is not None
        claimed.append((grant.row.id, claim_token(grant.claim.token)))  # type: ignore[union-attr] # a run

    async def release() -> None:
        run, lease = claimed.pop()
        await runner.perform(SubmitCommands(run, WORKER, (), lease))

    store = runner.store
    look = Look(TaskKind.WORKFLOW, None, "queue-30")
    own = Look(TaskKind.ACTIVITY, "main", "queue-1")
    yield "start", start
    yield "claim", claim
    yield "submit", release
    yield "first ready run", lambda: store.ready([look], 1)
    yield "first ready activity", lambda: store.ready([own], 1)
    yield "all ready of two queues", lambda: store.ready([look, own], WINDOW_TASKS)
    yield "sweep", lambda: store.deadlines(runner.clock() + HORIZON)


async def timed(ask: Ask) -> tuple[float, float]:
    """The p50 and p95 of a question, in milliseconds."""
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    for number in range(WARM_UP + TIMES):
        began = time.perf_counter()
        await ask()
        if number >= WARM_UP:
            taken.append((time.perf_counter() - began) * 1e3)
        if taken and time.perf_counter() > end:
            break
    taken.sort()
    return quantile(taken, 0.50), quantile(taken, 0.95)
