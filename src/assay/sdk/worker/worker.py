"""A worker's life: it registers, takes tasks, is alive, drains, goes."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from assay.model.task import TaskKind
from assay.sdk.convert import Codec
from assay.sdk.exchange.backoff import Backoff
from assay.sdk.exchange.pump import Pump
from assay.sdk.faults import ClientFault, refusal
from assay.sdk.transport import Reply, ThreadTransport, Transport
from assay.sdk.worker.activities import Activities
from assay.sdk.worker.heartbeats import LONGEST_SECS, Heartbeats, Sign
from assay.sdk.worker.options import WorkerOptions
from assay.sdk.worker.registry import Registry
from assay.sdk.worker.runs import Runs
from assay.sdk.worker.sigterm import heeding_sigterm
from assay.sdk.worker.threads import Threads, Work
from assay.wire.exchange.answer import ExchangeAnswer
from assay.wire.exchange.operations import HandBack
from assay.wire.exchange.request import Taking

LAST_WORDS_SECS = 3.0
log = logging.getLogger("assay.sdk")
_encode = msgspec.json.encode


class _Registered(Struct):
    worker_id: str


class Worker:
    """One worker on one queue."""

    def __init__(
        self, transport: Transport, registry: Registry, codec: Codec, options: WorkerOptions
    ) -> None:
        self.registry = registry
        self.codec = codec
        self.options = options
        self.id = ""
        self.introduce: Callable[[Worker], Awaitable[str]] | None = None
        self.pump: Pump
        self._transport = transport
        self._runs = Runs(self, options.max_concurrent_workflows, options.kept_runs, options.seed)
        self._activities = Activities(
            registry=registry,
            codec=codec,
            pump=lambda: self.pump,
            in_thread=partial(self.run_in_thread, TaskKind.ACTIVITY),
            room=options.max_concurrent_activities,
        )
        threads = max(options.max_concurrent_activities, 1)
        self._threads = {  # of an activity that waited for a step the engine would think it runs
            TaskKind.WORKFLOW: Threads(threads, "assay-worker-steps"),
            TaskKind.ACTIVITY: Threads(threads, "assay-worker-activities"),
        }
        self._lease_secs = 30.0
        self._is_draining = False
        self._is_leaving = False
        self._is_closed = False
        self._life: asyncio.Timeout | None = None  # which ends when it is closed
        self._gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._beats: set[asyncio.Task[Reply]] = set()
        self._drain = asyncio.Event()
        self._ready = asyncio.Event()

    # -- life ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is cancelled, asked to drain, or closed."""
        if self._is_closed:
            raise ClientFault("the client is closed")
        try:
            async with asyncio.timeout(None) as self._life:
                await self._live()
        except TimeoutError:
            if self._life is None or not self._life.expired():
                raise
        finally:
            self._gone.set()

    async def _live(self) -> None:
        with contextlib.ExitStack() as heeding:
            heeding.enter_context(heeding_sigterm(self.drain, ours=self.options.heeds_signals))
            if self.introduce is None:
                await self._register()
            else:
                self.id = await self.introduce(self)
            heartbeats = self._begin()
            try:
                await self._drain.wait()
                heeding.close()
                await self._finish()
            finally:
                try:
                    await self._leave()
                finally:  # whoever is cancelled a second time leaves at once
                    self.registry.listeners.remove(self._has_learnt)
                    heartbeats.stop()

    def _begin(self) -> Heartbeats:
        """From now on it takes tasks, and is alive."""
        self.pump = Pump(self._transport, self.id, self, may_have_missed=self.introduce is not None)
        beside = self._transport.from_thread()
        heartbeats = Heartbeats(
            look=self._in_hand,
            beat=partial(self._beat, beside),
            every=self._beat_every,
            turn=self._loop.call_soon_threadsafe,
            leave=lambda: None if beside is None else beside.close(),
        )
        heartbeats.start()
        self.pump.go()
        self._ready.set()
        self.registry.listeners.append(self._has_learnt)
        return heartbeats

    def _has_learnt(self) -> None:
        """Something was registered, in whatever thread."""
        self._loop.call_soon_threadsafe(self.pump.announce)

    def drain(self) -> None:
        """Take nothing more, finish what is in hand, then end."""
        self._drain.set()
        if not self._ready.is_set():
            self._end()  # it has not even found its engine

    async def close(self) -> None:
        """Hand back what is in hand, now; `run` returns, or never begins."""
        self._is_closed = True
        self._end()
        if self._life is not None:
            await self._gone.wait()

    def _end(self) -> None:
        life = self._life
        if not (life is None or life.expired() or self._is_leaving or self._gone.is_set()):
            life.reschedule(self._loop.time())

    async def wait_until_ready(self) -> None:
        """Registered, and asking for tasks."""
        await self._ready.wait()

    @property
    def is_idle(self) -> bool:
        """Nothing is in hand, nothing on its way out."""
        return not (self._runs.claimed or self._activities.by_token or self.pump.is_busy)

    async def _register(self) -> None:
        options, backoff = self.options, Backoff()
        fields = {
            "identity": options.identity or f"assay-worker-{socket.gethostname()}",
            "queue": options.queue,
            "namespace": options.namespace,
            "workflows": sorted(self.registry.workflows),
            "activities": sorted(self.registry.activities),
            "max_concurrent_workflows": options.max_concurrent_workflows,
            "max_concurrent_activities": options.max_concurrent_activities,
        }
        while True:
            try:
                reply = await self._transport.request("POST", "/workers/register", _encode(fields))
                if reply.status != 200:
                    raise refusal(reply.status, reply.body)
                self.id = msgspec.json.decode(reply.body, type=_Registered).worker_id
            except ClientFault as fault:
                await backoff.pause(fault)
            else:
                log.info("worker %s takes tasks of queue %r", self.id, options.queue)
                return

    async def _finish(self) -> None:
        """What was begun is finished, as far as there is time."""
        self._is_draining = True
        self._activities.hand_back_unbegun()
        self.pump.announce()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.options.drain_secs):
                while not self.is_idle:  # noqa: ASYNC110 - it ends in several ways, and once
                    await asyncio.sleep(0.01)

    async def _leave(self) -> None:
        """The rest goes back, so that others have it at once."""
        self._is_draining = self._is_leaving = True
        if self._life is not None and not self._life.expired():
            self._life.reschedule(None)  # what closes it now only waits
        self._activities.hand_back_all()
        self._runs.stop()
        for threads in self._threads.values():
            threads.close()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_SECS):
                    await self.pump.leave()
        finally:
            await self.pump.close()

    # -- the pump's partner ----------------------------------------------------------------------

    takes_tasks = True

    def takings(self) -> Sequence[Taking]:
        """How much of each kind, as of now."""
        queue = self.options.queue
        runs = 0 if self._is_draining else max(self._runs.free, 0)
        attempts = 0 if self._is_draining else max(self._activities.free, 0)
        return (
            Taking(TaskKind.WORKFLOW, queue, runs, self._runs.seen),
            Taking(TaskKind.ACTIVITY, queue, attempts, self._activities.seen),
        )

    def held(self) -> list[str]:
        """The claims of everything in hand."""
        return [*self._runs.claims, *self._activities.by_token]

    def receive(self, answer: ExchangeAnswer) -> None:
        """Workflow code is stepped from a plain callback: asyncio allows no task in a task."""
        self._lease_secs = answer.lease_secs
        self._runs.engine_time = answer.at
        if self._is_leaving:
            self._hand_back(answer)
            return
        for attempt in answer.activities:
            self._activities.take(attempt)
        if answer.runs:
            asyncio.get_running_loop().call_soon(self._take_runs, answer)

    def _hand_back(self, answer: ExchangeAnswer) -> None:
        """It comes too late: somebody else is to have it, now."""
        for attempt in answer.activities:
            self.pump.tell(HandBack(kind=TaskKind.ACTIVITY, no=attempt.no, token=attempt.token))
        for task in answer.runs:
            self.pump.tell(HandBack(kind=TaskKind.WORKFLOW, no=task.no, token=task.lease))

    def despair(self, fault: Exception) -> None:
        """A worker never does."""

    def _take_runs(self, answer: ExchangeAnswer) -> None:
        if self._is_leaving:
            self._hand_back(answer)
            return
        for task in answer.runs:
            try:
                self._runs.take(task)
            except Exception:
                log.exception("the task of %s is dropped: its lease will expire", task.id)

    # -- threads ---------------------------------------------------------------------------------

    def run_in_thread(self, kind: TaskKind, work: Work) -> "asyncio.Future[Any]":
        """A plain function, beside the loop."""
        return self._threads[kind].run(work)

    def _beat_every(self) -> float:
        shortest = [
            attempt.task.heartbeat_timeout_secs
            for attempt in list(self._activities.by_token.values())
            if attempt.task.heartbeat_timeout_secs is not None
        ]
        return min([LONGEST_SECS, self._lease_secs / 3, *(secs / 3 for secs in shortest)])

    def _in_hand(self) -> Sign:
        """Called from another thread: what is read is copied in one go."""
        attempts = [
            (attempt.task.no, attempt.task.token)
            for attempt in list(self._activities.by_token.values())
            if attempt.task.heartbeat_timeout_secs is not None
        ]
        return Sign(self._runs.claimed_ids, attempts)

    def _beat(self, beside: ThreadTransport | None, sign: Sign) -> None:
        """Over the thread's own connection; an engine on this very loop hears it on the loop."""
        for path, body in self._signs(sign):
            if beside is not None:
                beside.post(path, body)
            else:
                self._loop.call_soon_threadsafe(self._beat_here, path, body)

    def _signs(self, sign: Sign) -> Iterator[tuple[str, bytes]]:
        """Those of attempts are without details, so that what user code said last is kept."""
        held = {"worker_id": self.id, "workflow_ids": sign.runs}
        yield "/workers/heartbeat", _encode(held)
        for no, token in sign.attempts:
            fence = {"worker_id": self.id, "token": token}
            yield f"/tasks/{no}/heartbeat", _encode(fence)

    def _beat_here(self, path: str, body: bytes) -> None:
        task = self._loop.create_task(self._transport.request("POST", path, body))
        self._beats.add(task)
        task.add_done_callback(self._beats.discard)
