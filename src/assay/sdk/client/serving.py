"""The worker half of a client: what it can do, and serving a queue with it."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import WeakSet

from assay.sdk.client.calls import Calls
from assay.sdk.definition import NAME, name_of
from assay.sdk.faults import ClientFault
from assay.sdk.worker.options import KEPT_RUNS, WorkerOptions
from assay.sdk.worker.registry import Registry

if TYPE_CHECKING:
    from assay.sdk.worker.worker import Worker

Function = TypeVar("Function", bound=Callable[..., Any])


class Serving:
    """Workflows and activities by name, and workers that run them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.registry = Registry()
        self._workers: WeakSet[Worker] = WeakSet()
        self._has_ended = False

    @overload
    def define(self, name: str, handler: Function) -> Function: ...
    @overload
    def define(self, name: str) -> Callable[[Function], Function]: ...
    @overload
    def define(self, name: Function) -> Function: ...
    def define(self, name: Any, handler: Any = None) -> Any:
        """Register a workflow, `async def (ctx, input)`; with a name alone, a decorator."""
        return _registered(self.registry.define, name, handler)

    @overload
    def activity(self, name: str, handler: Function) -> Function: ...
    @overload
    def activity(self, name: str) -> Callable[[Function], Function]: ...
    @overload
    def activity(self, name: Function) -> Function: ...
    def activity(self, name: Any, handler: Any = None) -> Any:
        """Register an activity, `(ctx, input)`, `async` or not; with a name alone, a decorator."""
        return _registered(self.registry.activity, name, handler)

    def worker(
        self,
        queue: str = "default",
        identity: str | None = None,
        *,
        namespace: str | None = None,
        max_concurrent_workflows: int = 10,
        max_concurrent_activities: int = 20,
        kept_runs: int = KEPT_RUNS,
        drain_secs: float = 10.0,
    ) -> "Worker":
        """A worker that does not run yet: `await worker.run()`; `worker.drain()` ends it."""
        from assay.sdk.worker.worker import Worker  # most clients never serve

        if self._has_ended:
            raise ClientFault("the client is closed")
        options = WorkerOptions(
            queue=queue,
            identity=identity or "",
            namespace=self._calls.scope(namespace),
            max_concurrent_workflows=max_concurrent_workflows,
            max_concurrent_activities=max_concurrent_activities,
            kept_runs=kept_runs,
            drain_secs=drain_secs,
        )
        worker = Worker(self._calls.transport, self.registry, self._calls.codec, options)
        self._workers.add(worker)
        return worker

    async def listen(
        self,
        queue: str = "default",
        identity: str | None = None,
        *,
        namespace: str | None = None,
        max_concurrent_workflows: int = 10,
        max_concurrent_activities: int = 20,
        kept_runs: int = KEPT_RUNS,
        drain_secs: float = 10.0,
    ) -> None:
        """Serve a queue until cancelled; SIGTERM lets what is in hand finish first.

        Closing the client ends it as well: what is in hand goes back, and this returns.
        """
        worker = self.worker(
            queue,
            identity,
            namespace=namespace,
            max_concurrent_workflows=max_concurrent_workflows,
            max_concurrent_activities=max_concurrent_activities,
            kept_runs=kept_runs,
            drain_secs=drain_secs,
        )
        await worker.run()

    async def _end_workers(self) -> None:
        """They hand back what they have, as long as there is a way to the engine."""
        self._has_ended = True
        await asyncio.gather(*(worker.close() for worker in self._workers))


def _registered(register: Callable[[Any, Any], None], name: Any, handler: Any) -> Any:
    def mark(function: Function) -> Function:
        register(name, function)
        if not hasattr(function, NAME):
            with contextlib.suppress(AttributeError):  # a method takes no marks
                setattr(function, NAME, name_of(name))
        return function

    if callable(name):
        return mark(name)
    return mark if handler is None else mark(handler)
