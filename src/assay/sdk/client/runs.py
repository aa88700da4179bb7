"""Runs that exist: whatever can be asked of one by its id."""

import secrets
from typing import Any, TypeVar, overload

from msgspec import Raw

from assay.sdk.client.calls import CREATED, NO_CONTENT, OK, Calls, at
from assay.sdk.client.results import outcome
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
from assay.wire.exchange.operations import SignalRun

Result = TypeVar("Result")


class Runs:
    """What clients and handles can do with a run."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @overload
    async def result(
        self, id: str, timeout: float | None = None, *, kind: type[Result]
    ) -> Result: ...
    @overload
    async def result(self, id: str, timeout: float | None = None, *, kind: Any = Any) -> Any: ...
    async def result(self, id: str, timeout: float | None = None, *, kind: Any = Any) -> Any:
        """Wait for the end of a run and of all it continues as, and give what it returned.

        Raises `WorkflowFailed`, or the kind of it that fits, if the run did not complete, and
        `RequestTimeout` if it is still open after `timeout` seconds. The value is read as a `kind`.
        """
        return await outcome(self._calls, id, timeout, kind)

    async def describe(self, id: str) -> DescribedRun | None:
        """The record of a run, and what it waits for while it is open; None if there is none."""
        return await self._calls.find(DescribedRun, at("workflows", id))

    async def get_events(
        self,
        id: str,
        limit: int | None = None,
        cursor: int | None = None,
        order: Order | None = None,
    ) -> list[EventRecord]:
        """The history of a run: all of it, or with any of the parameters a page.

        A page goes on behind the event whose `seq` is the cursor.
        """
        path = at("workflows", id, "events", limit=limit, cursor=cursor, order=order)
        return await self._calls.get(list[EventRecord], path)

    @overload
    async def get_state(self, id: str, name: None = None) -> RunState | None: ...
    @overload
    async def get_state(self, id: str, name: str) -> QueryValue | None: ...
    async def get_state(self, id: str, name: str | None = None) -> RunState | QueryValue | None:
        """What the queries of a run answered last, or one of them; None if that is not there."""
        if name is None:
            return await self._calls.find(RunState, at("workflows", id, "state"))
        return await self._calls.find(QueryValue, at("workflows", id, "state", name))

    async def list_children(self, id: str) -> list[RunRecord]:
        """The runs that a run has started, the oldest first."""
        return await self._calls.get(list[RunRecord], at("workflows", id, "children"))

    async def list_attempts(self, activity_id: int) -> list[AttemptRecord]:
        """The failed attempts at an activity, whose id its events hold, the oldest first."""
        return await self._calls.get(
            list[AttemptRecord], at("activities", str(activity_id), "attempts")
        )

    async def signal(
        self, id: str, name: str, payload: object = None, request_id: str | None = None
    ) -> None:
        """Tell a run something. It hears it once, however often the request had to be sent.

        A `request_id` of your own extends that promise to calls that you repeat yourself.
        """
        request_id = secrets.token_hex(16) if request_id is None else request_id
        text = Raw(self._calls.codec.encode(payload))
        said = SignalRun(id=id, name=name, payload=text, request_id=request_id)
        await self._calls.exchanging.perform(said)

    async def cancel(self, id: str, reason: str | None = None) -> None:
        """Ask a run to stop; its code may clean up first, and its children are asked too."""
        await self._calls.ask(
            "POST", at("workflows", id, "cancel"), {"reason": reason}, expect=(OK,)
        )

    async def terminate(self, id: str, reason: str | None = None) -> None:
        """Stop a run at once, as failed; its children go on."""
        path = at("workflows", id, "terminate")
        await self._calls.ask("POST", path, {"reason": reason}, expect=(OK,))

    async def continue_as_new(
        self, id: str, input: object = None, workflow_id: str | None = None
    ) -> ContinuedRecord:
        """End a run, if it has not ended, and start it anew with that input: the successor."""
        fields = {"input": self._calls.payload(input), "workflow_id": workflow_id}
        path = at("workflows", id, "continue-as-new")
        return await self._calls.send(ContinuedRecord, path, fields, expect=(CREATED,))

    async def retry_failed_activity(self, id: str, requested_by: str, reason: str) -> RetriedRecord:
        """Let a failed run go on from its last failed activity, which is tried anew."""
        fields = {"requested_by": requested_by, "reason": reason}
        return await self._calls.send(RetriedRecord, at("workflows", id, "retry"), fields)

    async def delete(self, id: str) -> None:
        """Delete a run that has ended, and all that belongs to it."""
        await self._calls.ask("DELETE", at("workflows", id), expect=(NO_CONTENT,))
