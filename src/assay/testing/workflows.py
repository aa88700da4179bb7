"""Runs as a test sees them: whoever waits for an end has time skipped until it is there."""

from typing import Any, TypeVar, overload

from assay.model.time import micros
from assay.sdk.client.calls import Calls
from assay.sdk.client.workflows import Workflows
from assay.sdk.faults import RequestTimeout
from assay.testing.clock import VirtualClock
from assay.testing.skipping import Skipper

Result = TypeVar("Result")


class VirtualWorkflows(Workflows):
    """The same calls; time-outs are of virtual time."""

    def __init__(self, calls: Calls, skipper: Skipper, clock: VirtualClock) -> None:
        super().__init__(calls)
        self._skipper = skipper
        self._clock = clock

    @overload
    async def result(
        self, id: str, timeout: float | None = None, *, kind: type[Result]
    ) -> Result: ...
    @overload
    async def result(self, id: str, timeout: float | None = None, *, kind: Any = Any) -> Any: ...
    async def result(self, id: str, timeout: float | None = None, *, kind: Any = Any) -> Any:
        """Wait for the end of a run, and skip time until then; see `Workflows.result`."""
        with self._skipper.wait() as wait:
            if timeout is None:
                return await super().result(id, kind=kind)
            fault = RequestTimeout(f"workflow {id!r} has not ended within {timeout:g} s")
            plan = self._skipper.plan(self._clock.now + micros(timeout), lambda: wait.fail(fault))
            try:
                return await super().result(id, kind=kind)
            finally:
                plan.is_dropped = True
