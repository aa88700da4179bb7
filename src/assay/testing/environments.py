"""An engine, a client and a worker in the test's own process, on a clock that is skipped ahead."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar, Unpack, overload

from msgspec.structs import replace

import assay
from assay.embedded.app import App
from assay.embedded.transport import HereTransport
from assay.engine.runner import Rules, Runner
from assay.engine.seeds import Seeds
from assay.errors import UsageFault
from assay.model.task import TaskKind
from assay.model.time import micros, seconds
from assay.sdk.definition import ActivityDefinition, name_of
from assay.sdk.worker.options import WorkerOptions
from assay.sdk.worker.threads import Work
from assay.sdk.worker.worker import Worker
from assay.server.app import create_app
from assay.server.settings import Settings
from assay.store.open import open_store
from assay.store.port import Store
from assay.testing.clock import VirtualClock
from assay.testing.history import History
from assay.testing.quiet import Quiet
from assay.testing.setting import Options, Setting, moment_of, span_of
from assay.testing.skipping import Skipper
from assay.testing.standstill import reasons
from assay.testing.workflows import VirtualWorkflows

LEASE_SECS = 1e9  # a worker that lives in the test is never thought dead, however far time is moved
Function = TypeVar("Function", bound=Callable[..., Any])


class Environment(App):
    """What `assay.open` gives, on virtual time.

    Time is skipped only while the test waits for it (a run's result, `sleep`, `skipping`) and
    nothing runs; otherwise it stands still.
    """

    def __init__(
        self,
        runner: Runner,
        transport: HereTransport,
        skipper: Skipper,
        *,
        clock: VirtualClock,
        setting: Setting,
    ) -> None:
        super().__init__(runner, transport, namespace=setting.namespace, codec=setting.codec)
        self._setting = setting
        self._skipper = skipper
        self._clock = clock
        self.workflows: VirtualWorkflows = VirtualWorkflows(self._calls, skipper, clock)
        skipper.explain = lambda: reasons(self)
        skipper.on_move = self._has_moved

    # -- time ------------------------------------------------------------------------------------

    def now(self) -> float:
        """The virtual time, in Unix seconds."""
        return seconds(self._clock.now)

    async def sleep(self, secs: float | timedelta) -> None:
        """Wait in virtual time: everything due until then happens, and all that follows from it."""
        await self._skipper.wait_until(self._clock.now + span_of(secs))

    async def settle(self) -> None:
        """Wait until nothing runs; time is not skipped."""
        await self._skipper.wait_until(self._clock.now)

    async def advance(self, secs: float | timedelta) -> None:
        """Move time on, whatever is in hand and whoever holds it: for time-outs of activities.

        What comes to its end at once is waited for; what does not is overtaken.
        """
        await self._skipper.wait_until(self._clock.now + span_of(secs), forced=True)

    def after(self, secs: float | timedelta, call: Callable[[], object]) -> None:
        """Call something (awaited, if it can be) so much later. Time stands still while it runs."""
        self._skipper.plan(self._clock.now + span_of(secs), lambda: self._skipper.visit(call))

    def at(self, moment: float | datetime, call: Callable[[], object]) -> None:
        """The same at a moment, in Unix seconds or as a datetime with a time zone."""
        self._skipper.plan(moment_of(moment), lambda: self._skipper.visit(call))

    def skipping(self) -> contextlib.AbstractContextManager[object]:
        """Inside, time is skipped while nothing runs, whatever is awaited there."""
        return self._skipper.wait()

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Inside, time is not skipped; `advance` still moves it."""
        return self._skipper.hold()

    # -- what differs from an App ----------------------------------------------------------------

    @overload
    def activity(self, name: str | Callable[..., Any], handler: Function) -> Function: ...
    @overload
    def activity(self, name: str) -> Callable[[Function], Function]: ...
    @overload
    def activity(self, name: Function) -> Function: ...
    def activity(self, name: Any, handler: Any = None) -> Any:
        """Register an activity; with the name or the function of one that is there, in its place.

        A stand-in without annotations gets its input as the one that it stands in for would.
        """
        if handler is None and isinstance(name, str):
            return lambda function: self.activity(name, function)
        known = name_of(name)
        before = self.registry.activities.pop(known, None)
        if before is None and handler is not None and callable(name):
            before = ActivityDefinition(known, name)
        self.registry.activity(known, name if handler is None else handler)
        now = self.registry.activities[known]
        if before is not None and now.input_kind is Any:
            now.input_kind = before.input_kind
        return now.handler

    async def history(self, workflow_id: str) -> History:
        """All events of a run, to be looked at, kept, and replayed."""
        run = await self.workflows.describe(workflow_id)
        if run is None:
            raise UsageFault(f"there is no workflow {workflow_id!r}")
        events = await self.workflows.get_events(workflow_id)
        return History(workflow_id, run["workflow_type"], events)

    async def close(self) -> None:
        """End everything."""
        await self._skipper.stop()
        await super().close()

    def check(self) -> None:
        """Raise what a planned call raised that nobody has waited to hear."""
        self._skipper.check()

    def _worker(self, options: WorkerOptions) -> Worker:
        setting = self._setting
        options = replace(options, seed=setting.seed, kept_runs=setting.kept_runs)
        worker = _Worker(self.transport, self.registry, self.codec, options)
        worker.quiet = self._skipper.quiet
        return worker

    def _has_moved(self) -> None:
        """Workers that live here are alive, however much time was skipped."""
        for worker, _ in self._serving:
            self.runner.presence.seen(worker.id, self._clock.now)


class _Worker(Worker):
    """A worker that comes out the same each time.

    Blocking functions run one at a time, each when all that followed from the one before has
    happened.
    """

    quiet: Quiet

    def run_in_thread(self, kind: TaskKind, work: Work) -> "asyncio.Future[Any]":
        """A plain function, beside the loop, in its turn."""
        return asyncio.get_running_loop().create_task(self._in_turn(kind, work))

    async def _in_turn(self, kind: TaskKind, work: Work) -> Any:
        async with self._turn:
            await self.quiet.comes()
            return await super().run_in_thread(kind, work)

    @cached_property
    def _turn(self) -> asyncio.Lock:
        return asyncio.Lock()


@contextlib.asynccontextmanager
async def environment(**options: Unpack[Options]) -> AsyncIterator[Environment]:
    """Workflows and activities on an engine in memory; the options are told of in `Options`."""
    setting = Setting(**options)
    clock = VirtualClock(moment_of(setting.start))
    env = await open_environment(setting, clock, open_store(":memory:"))
    try:
        yield env
    finally:
        await env.close()
    env.check()


async def open_environment(setting: Setting, clock: VirtualClock, store: Store) -> Environment:
    """An environment over a store, which is to be closed."""
    rules = Rules(lease=micros(LEASE_SECS), version=assay.__version__)
    runner = Runner(store, clock, rules, Seeds(str(setting.seed).encode()), pace=clock)
    await runner.start()
    skipper = Skipper(
        runner, clock, patience_secs=setting.patience_secs, may_block=setting.may_block
    )
    transport = HereTransport(create_app(runner, Settings()))
    env = Environment(runner, transport, skipper, clock=clock, setting=setting)
    try:
        for function in setting.workflows:
            env.define(function)
        for function in setting.activities:
            env.activity(function)
    except BaseException:
        await env.close()
        raise

    async def serve() -> bool:
        await env.serve(setting.queue)
        return True

    transport.before = serve
    skipper.start()
    return env
