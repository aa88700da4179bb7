"""A handle: one run, by its id, and what can be done with it."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, overload

from assay.sdk.client.runs import Runs
from assay.sdk.records import DescribedRun, EventRecord, Order, QueryValue, RunState

Result = TypeVar("Result")


class WorkflowHandle(dict[str, Any], Generic[Result]):
    """A run. It reads like the record that its start was answered with."""

    def __init__(self, runs: Runs, record: Mapping[str, Any], kind: Any = Any) -> None:
        super().__init__(record)
        self._runs = runs
        self._kind = kind

    @property
    def id(self) -> str:
        """Its id."""
        return str(self["workflow_id"])

    @property
    def workflow_id(self) -> str:
        """Its id, by the name it has on the wire."""
        return self.id

    @property
    def run_id(self) -> str | None:
        """Its id with the time of its start; None if the handle was made from an id alone."""
        return self.get("run_id")

    async def result(self, timeout: float | None = None) -> Result:
        """Wait for its end and give what it returned; see `workflows.result`."""
        value: Result = await self._runs.result(self.id, timeout, kind=self._kind)
        return value

    async def describe(self) -> DescribedRun | None:
        """Its record as it stands now; None if it is gone."""
        return await self._runs.describe(self.id)

    async def events(
        self, limit: int | None = None, cursor: int | None = None, order: Order | None = None
    ) -> list[EventRecord]:
        """Its history; see `workflows.get_events`."""
        return await self._runs.get_events(self.id, limit, cursor, order)

    @overload
    async def state(self, name: None = None) -> RunState | None: ...
    @overload
    async def state(self, name: str) -> QueryValue | None: ...
    async def state(self, name: str | None = None) -> RunState | QueryValue | None:
        """What its queries answered last, or one of them."""
        if name is None:
            return await self._runs.get_state(self.id)
        return await self._runs.get_state(self.id, name)

    async def signal(
        self, name: str, payload: object = None, request_id: str | None = None
    ) -> None:
        """Tell it something; see `workflows.signal`."""
        await self._runs.signal(self.id, name, payload, request_id)

    async def cancel(self, reason: str | None = None) -> None:
        """Ask it to stop."""
        await self._runs.cancel(self.id, reason)

    async def terminate(self, reason: str | None = None) -> None:
        """Stop it at once."""
        await self._runs.terminate(self.id, reason)
