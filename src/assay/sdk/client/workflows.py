"""Workflows: started and listed; for what can be done with one, see `runs.py`."""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from msgspec import Raw

from assay.sdk.client.calls import at, type_name
from assay.sdk.client.handle import WorkflowHandle
from assay.sdk.client.runs import Runs
from assay.sdk.client.starts import start
from assay.sdk.convert import DEFAULT
from assay.sdk.options import StartOptions
from assay.sdk.records import IfExists, RunRecord, RunStatus
from assay.sdk.signatures import result_kind

if TYPE_CHECKING:
    from assay.sdk.context import WorkflowContext

Input = TypeVar("Input")
Output = TypeVar("Output")


class Workflows(Runs):
    """The runs of an engine."""

    @overload
    async def start(
        self,
        workflow_type: "Callable[[WorkflowContext, Input], Coroutine[Any, Any, Output]]",
        workflow_id: str | None,
        input: Input,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Output]: ...
    @overload
    async def start(
        self,
        workflow_type: "Callable[[WorkflowContext, Input], Coroutine[Any, Any, Output]]",
        *,
        input: Input,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Output]: ...
    @overload
    async def start(
        self,
        workflow_type: "Callable[[WorkflowContext], Coroutine[Any, Any, Output]]",
        workflow_id: str | None = None,
        *,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Output]: ...
    @overload
    async def start(
        self,
        workflow_type: str,
        workflow_id: str | None = None,
        input: object = None,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Any]: ...
    async def start(
        self,
        workflow_type: str | Callable[..., object],
        workflow_id: str | None = None,
        input: object = None,
        task_queue: str = "default",
        *,
        namespace: str | None = None,
        search_attributes: Mapping[str, object] | None = None,
        timeout_secs: float | None = None,
        start_delay_secs: float | None = None,
        if_exists: IfExists = "error",
    ) -> WorkflowHandle[Any]:
        """Start a run; `Conflict` if its id is taken, unless a run of that type may be used.

        With an id, a start whose answer was lost is sent again. If the id is taken then, by a run
        with the same type, queue and input that is no older than this call, that run is taken for
        the one that the lost answer told of. Without an id nothing is sent again: `AnswerLost` then
        means that there may be a run.
        """
        fields = {
            "workflow_type": type_name(workflow_type),
            "workflow_id": workflow_id,
            "namespace": self._calls.scope(namespace),
            "input": self._calls.payload(input),
            "task_queue": task_queue,
            "search_attributes": _readable(search_attributes),
            "timeout_secs": timeout_secs,
            "start_delay_secs": start_delay_secs,
            "if_exists": if_exists if if_exists != "error" else None,
        }
        kind = Any if isinstance(workflow_type, str) else result_kind(workflow_type)
        return WorkflowHandle(self, await start(self._calls, fields), kind)

    @overload
    def handle(self, id: str, *, kind: type[Output]) -> WorkflowHandle[Output]: ...
    @overload
    def handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]: ...
    def handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]:
        """A handle for a run that exists, made without asking; its result is read as a `kind`."""
        return WorkflowHandle(self, {"workflow_id": id}, kind)

    @overload
    def get_handle(self, id: str, *, kind: type[Output]) -> WorkflowHandle[Output]: ...
    @overload
    def get_handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]: ...
    def get_handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]:
        """The same as `handle`."""
        return self.handle(id, kind=kind)

    async def list(
        self,
        status: RunStatus | None = None,
        type: str | None = None,
        search_attrs: Mapping[str, object] | None = None,
        limit: int | None = None,
        offset: int | None = None,
        *,
        claimed_by: str | None = None,
        namespace: str | None = None,
    ) -> list[RunRecord]:
        """The runs of a namespace, the newest first, 50 unless `limit` says otherwise.

        `search_attrs` are attributes that a run must all have.
        """
        wanted = _readable(search_attrs)
        path = at(
            "workflows",
            namespace=self._calls.scope(namespace),
            status=status,
            type=type,
            claimed_by=claimed_by,
            search_attrs=None if wanted is None else bytes(wanted),
            limit=limit,
            offset=offset,
        )
        return await self._calls.get(list[RunRecord], path)


def _readable(attributes: Mapping[str, object] | None) -> Raw | None:
    """As the engine can read them, whatever codec all else goes through."""
    return None if attributes is None else Raw(DEFAULT.encode(attributes))
