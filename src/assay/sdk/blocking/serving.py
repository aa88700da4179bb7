"""The blocking twin of `assay.sdk.client.serving`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from assay.sdk.client import serving as awaited
from assay.sdk.portal import Portal
from assay.sdk.worker.options import KEPT_RUNS

Function = TypeVar("Function", bound=Callable[..., Any])


class Serving:
    """Workflows and activities by name, and workers that run them."""

    def __init__(self, portal: Portal, twin: awaited.Serving) -> None:
        self._portal = portal
        self._twin = twin

    @overload
    def define(self, name: str, handler: Function) -> Function: ...

    @overload
    def define(self, name: str) -> Callable[[Function], Function]: ...

    @overload
    def define(self, name: Function) -> Function: ...

    def define(self, name: Any, handler: Any = None) -> Any:
        """Register a workflow, `async def (ctx, input)`; with a name alone, a decorator."""
        return self._twin.define(name, handler)

    @overload
    def activity(self, name: str, handler: Function) -> Function: ...

    @overload
    def activity(self, name: str) -> Callable[[Function], Function]: ...

    @overload
    def activity(self, name: Function) -> Function: ...

    def activity(self, name: Any, handler: Any = None) -> Any:
        """Register an activity, `(ctx, input)`, `async` or not; with a name alone, a decorator."""
        return self._twin.activity(name, handler)

    def listen(
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
        self._portal.serve(
            self._twin.listen(
                queue,
                identity,
                namespace=namespace,
                max_concurrent_workflows=max_concurrent_workflows,
                max_concurrent_activities=max_concurrent_activities,
                kept_runs=kept_runs,
                drain_secs=drain_secs,
            )
        )
