"""`assay.open`: engine, client and worker in one process, on a file or a PostgreSQL database.

The same tables as a server's: a file made here can be served by `assay serve` afterwards, and the
other way round, runs in flight included.
"""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import assay
from assay.embedded.transport import HereTransport
from assay.engine.clock import Clock, wall_clock
from assay.engine.runner import Rules, Runner
from assay.model.operations import RegisterWorker
from assay.model.worker import Worker as WorkerRow
from assay.sdk.client import Client
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.worker.options import KEPT_RUNS, WorkerOptions
from assay.sdk.worker.worker import Worker
from assay.server.app import create_app
from assay.server.settings import read_settings
from assay.store.open import open_store

IDENTITY = "assay-embedded"
SERVED_SECS = 5.0


class App(Client):
    """A client whose engine and worker live in this very process."""

    def __init__(
        self, runner: Runner, transport: HereTransport, *, namespace: str, codec: Codec
    ) -> None:
        super().__init__(transport, namespace=namespace, codec=codec)
        self.runner = runner
        self._serving: list[tuple[Worker, asyncio.Task[None]]] = []

    async def serve(
        self,
        queue: str = "default",
        *,
        max_concurrent_workflows: int = 100,
        max_concurrent_activities: int = 20,
        kept_runs: int = KEPT_RUNS,
    ) -> Worker:
        """Run what is registered for that queue, beside the caller."""
        options = WorkerOptions(
            queue=queue,
            identity=IDENTITY,
            namespace=self.namespace,
            max_concurrent_workflows=max_concurrent_workflows,
            max_concurrent_activities=max_concurrent_activities,
            kept_runs=kept_runs,
            drain_secs=0.0,
            heeds_signals=False,
            fails_unknown=False,  # another program may know them that has the file open tomorrow
        )
        worker = self._worker(options)
        if self.runner.store.exclusive:
            worker.introduce = self._introduce
        task = asyncio.get_running_loop().create_task(worker.run())
        self._serving.append((worker, task))
        ready = asyncio.ensure_future(worker.wait_until_ready())
        await asyncio.wait([ready, task], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            ready.cancel()
            await task
        return worker

    @property
    def is_served(self) -> bool:
        """Somebody here runs workflows."""
        return bool(self._serving)

    async def close(self) -> None:
        """Hand back what is in hand, stop the engine, give up the store."""
        for _, task in self._serving:
            task.cancel()
        await asyncio.gather(*(task for _, task in self._serving), return_exceptions=True)
        self._serving.clear()
        await super().close()
        await self.runner.stop()

    def _worker(self, options: WorkerOptions) -> Worker:
        return Worker(self.transport, self.registry, self.codec, options)

    async def _introduce(self, worker: Worker) -> str:
        """The same worker as last time: what that one had in hand when it died is given to it.

        Of several on a queue each is another one: they would take each other's tasks for lost.
        """
        options = worker.options
        there = [served for served, _ in self._serving if served.options.queue == options.queue]
        place = f"{options.namespace}\n{options.queue}\n{there.index(worker)}"
        name = hashlib.sha256(place.encode()).hexdigest()[:16]
        worker_id, now = f"w-{name}", self.runner.clock()
        row = WorkerRow(
            id=worker_id,
            namespace=options.namespace,
            identity=f"{IDENTITY}-{os.getpid()}",
            queue=options.queue,
            workflows=DEFAULT.encode(sorted(self.registry.workflows)).decode(),
            activities=DEFAULT.encode(sorted(self.registry.activities)).decode(),
            max_workflows=options.max_concurrent_workflows,
            max_activities=options.max_concurrent_activities,
            registered_at=now,
            last_seen=now,
        )
        await self.runner.perform(RegisterWorker(row))
        self.runner.presence.register(worker_id, options.namespace)
        return worker_id


@contextlib.asynccontextmanager
async def open(  # noqa: A001 - assay.open reads as the builtin does
    backend: str | os.PathLike[str],
    *,
    workflows: Sequence[Callable[..., Any]] = (),
    activities: Sequence[Callable[..., Any]] = (),
    queue: str = "default",
    namespace: str = "main",
    codec: Codec = DEFAULT,
    max_concurrent_workflows: int = 100,
    max_concurrent_activities: int = 20,
    clock: Clock = wall_clock,
) -> AsyncIterator[App]:
    """An engine in this process, over a file (made if missing), `:memory:`, or postgres://…

    What is given as `workflows` and `activities` runs from the beginning, runs in flight included.
    What is registered later (`app.define`, `app.activity`) runs from the first call on.
    """
    settings = read_settings(os.environ)
    rules = Rules(lease=settings.lease, version=assay.__version__)
    runner = Runner(open_store(os.fspath(backend)), clock, rules)
    await runner.start()
    transport = HereTransport(create_app(runner, settings))
    app = App(runner, transport, namespace=namespace, codec=codec)
    try:
        for function in workflows:
            app.define(function)
        for function in activities:
            app.activity(function)

        async def serve() -> bool:
            if not app.is_served and (app.registry.workflows or app.registry.activities):
                await app.serve(
                    queue,
                    max_concurrent_workflows=max_concurrent_workflows,
                    max_concurrent_activities=max_concurrent_activities,
                )
            return app.is_served

        if workflows or activities:
            await serve()
        else:
            transport.before = serve
        yield app
    finally:
        await app.close()
