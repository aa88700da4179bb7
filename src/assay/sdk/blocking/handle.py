"""The blocking twin of `assay.sdk.client.handle`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from typing import Any, Generic, TypeVar, overload

from assay.sdk.client import handle as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import DescribedRun, EventRecord, Order, QueryValue, RunState

Result = TypeVar("Result")


class WorkflowHandle(dict[str, Any], Generic[Result]):
    """A run. It reads like the record that its start was answered with."""

    def __init__(self, portal: Portal, twin: awaited.WorkflowHandle[Result]) -> None:
        super().__init__(twin)
        self._portal = portal
        self._twin = twin

    @property
    def id(self) -> str:
        """Its id."""
        return self._twin.id

    @property
    def workflow_id(self) -> str:
        """Its id, by the name it has on the wire."""
        return self._twin.workflow_id

    @property
    def run_id(self) -> str | None:
        """Its id with the time of its start; None if the handle was made from an id alone."""
        return self._twin.run_id

    def result(self, timeout: float | None = None) -> Result:
        """Wait for its end and give what it returned; see `workflows.result`."""
        return self._portal.call(self._twin.result(timeout))

    def describe(self) -> DescribedRun | None:
        """Its record as it stands now; None if it is gone."""
        return self._portal.call(self._twin.describe())

    def events(
        self, limit: int | None = None, cursor: int | None = None, order: Order | None = None
    ) -> list[EventRecord]:
        """Its history; see `workflows.get_events`."""
        return self._portal.call(self._twin.events(limit, cursor, order))

    @overload
    def state(self, name: None = None) -> RunState | None: ...

    @overload
    def state(self, name: str) -> QueryValue | None: ...

    def state(self, name: str | None = None) -> RunState | QueryValue | None:
        """What its queries answered last, or one of them."""
        return self._portal.call(self._twin.state(name))

    def signal(self, name: str, payload: object = None, request_id: str | None = None) -> None:
        """Tell it something; see `workflows.signal`."""
        self._portal.call(self._twin.signal(name, payload, request_id))

    def cancel(self, reason: str | None = None) -> None:
        """Ask it to stop."""
        self._portal.call(self._twin.cancel(reason))

    def terminate(self, reason: str | None = None) -> None:
        """Stop it at once."""
        self._portal.call(self._twin.terminate(reason))
