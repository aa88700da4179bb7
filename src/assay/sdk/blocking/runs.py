"""The blocking twin of `assay.sdk.client.runs`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from typing import Any, TypeVar, overload

from assay.sdk.client import runs as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import (
    AttemptRecord,
    ContinuedRecord,
    DescribedRun,
    EventRecord,
    Order,
    QueryValue,
    RetriedRecord,
    RunRecord,
    RunState,
)

Result = TypeVar("Result")


class Runs:
    """What clients and handles can do with a run."""

    def __init__(self, portal: Portal, twin: awaited.Runs) -> None:
        self._portal = portal
        self._twin = twin

    @overload
    def result(self, id: str, timeout: float | None = None, *, kind: type[Result]) -> Result: ...

    @overload
    def result(self, id: str, timeout: float | None = None, *, kind: Any = Any) -> Any: ...

    def result(self, id: str, timeout: float | None = None, *, kind: Any = Any) -> Any:
        """Wait for the end of a run and of all it continues as, and give what it returned.

        Raises `WorkflowFailed`, or the kind of it that fits, if the run did not complete, and
        `RequestTimeout` if it is still open after `timeout` seconds. The value is read as a `kind`.
        """
        return self._portal.call(self._twin.result(id, timeout, kind=kind))

    def describe(self, id: str) -> DescribedRun | None:
        """The record of a run, and what it waits for while it is open; None if there is none."""
        return self._portal.call(self._twin.describe(id))

    def get_events(
        self,
        id: str,
        limit: int | None = None,
        cursor: int | None = None,
        order: Order | None = None,
    ) -> list[EventRecord]:
        """The history of a run: all of it, or with any of the parameters a page.

        A page goes on behind the event whose `seq` is the cursor.
        """
        return self._portal.call(self._twin.get_events(id, limit, cursor, order))

    @overload
    def get_state(self, id: str, name: None = None) -> RunState | None: ...

    @overload
    def get_state(self, id: str, name: str) -> QueryValue | None: ...

    def get_state(self, id: str, name: str | None = None) -> RunState | QueryValue | None:
        """What the queries of a run answered last, or one of them; None if that is not there."""
        return self._portal.call(self._twin.get_state(id, name))

    def list_children(self, id: str) -> list[RunRecord]:
        """The runs that a run has started, the oldest first."""
        return self._portal.call(self._twin.list_children(id))

    def list_attempts(self, activity_id: int) -> list[AttemptRecord]:
        """The failed attempts at an activity, whose id its events hold, the oldest first."""
        return self._portal.call(self._twin.list_attempts(activity_id))

    def signal(
        self, id: str, name: str, payload: object = None, request_id: str | None = None
    ) -> None:
        """Tell a run something. It hears it once, however often the request had to be sent.

        A `request_id` of your own extends that promise to calls that you repeat yourself.
        """
        self._portal.call(self._twin.signal(id, name, payload, request_id))

    def cancel(self, id: str, reason: str | None = None) -> None:
        """Ask a run to stop; its code may clean up first, and its children are asked too."""
        self._portal.call(self._twin.cancel(id, reason))

    def terminate(self, id: str, reason: str | None = None) -> None:
        """Stop a run at once, as failed; its children go on."""
        self._portal.call(self._twin.terminate(id, reason))

    def continue_as_new(
        self, id: str, input: object = None, workflow_id: str | None = None
    ) -> ContinuedRecord:
        """End a run, if it has not ended, and start it anew with that input: the successor."""
        return self._portal.call(self._twin.continue_as_new(id, input, workflow_id))

    def retry_failed_activity(self, id: str, requested_by: str, reason: str) -> RetriedRecord:
        """Let a failed run go on from its last failed activity, which is tried anew."""
        return self._portal.call(self._twin.retry_failed_activity(id, requested_by, reason))

    def delete(self, id: str) -> None:
        """Delete a run that has ended, and all that belongs to it."""
        self._portal.call(self._twin.delete(id))
