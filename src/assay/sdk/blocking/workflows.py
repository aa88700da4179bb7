"""The blocking twin of `assay.sdk.client.workflows`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from assay.sdk.blocking.handle import WorkflowHandle
from assay.sdk.blocking.runs import Runs
from assay.sdk.client import workflows as awaited
from assay.sdk.options import StartOptions
from assay.sdk.portal import Portal
from assay.sdk.records import IfExists, RunRecord, RunStatus

if TYPE_CHECKING:
    from assay.sdk.context import WorkflowContext
Input = TypeVar("Input")
Output = TypeVar("Output")


class Workflows(Runs):
    """The runs of an engine."""

    _twin: awaited.Workflows

    def __init__(self, portal: Portal, twin: awaited.Workflows) -> None:
        super().__init__(portal, twin)

    @overload
    def start(
        self,
        workflow_type: "Callable[[WorkflowContext, Input], Coroutine[Any, Any, Output]]",
        workflow_id: str | None,
        input: Input,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Output]: ...

    @overload
    def start(
        self,
        workflow_type: "Callable[[WorkflowContext, Input], Coroutine[Any, Any, Output]]",
        *,
        input: Input,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Output]: ...

    @overload
    def start(
        self,
        workflow_type: "Callable[[WorkflowContext], Coroutine[Any, Any, Output]]",
        workflow_id: str | None = None,
        *,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Output]: ...

    @overload
    def start(
        self,
        workflow_type: str,
        workflow_id: str | None = None,
        input: object = None,
        task_queue: str = "default",
        **opts: Unpack[StartOptions],
    ) -> WorkflowHandle[Any]: ...

    def start(
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
        any_form: Any = self._twin.start
        return WorkflowHandle(
            self._portal,
            self._portal.call(
                any_form(
                    workflow_type,
                    workflow_id,
                    input,
                    task_queue,
                    namespace=namespace,
                    search_attributes=search_attributes,
                    timeout_secs=timeout_secs,
                    start_delay_secs=start_delay_secs,
                    if_exists=if_exists,
                )
            ),
        )

    @overload
    def handle(self, id: str, *, kind: type[Output]) -> WorkflowHandle[Output]: ...

    @overload
    def handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]: ...

    def handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]:
        """A handle for a run that exists, made without asking; its result is read as a `kind`."""
        return WorkflowHandle(self._portal, self._twin.handle(id, kind=kind))

    @overload
    def get_handle(self, id: str, *, kind: type[Output]) -> WorkflowHandle[Output]: ...

    @overload
    def get_handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]: ...

    def get_handle(self, id: str, *, kind: Any = Any) -> WorkflowHandle[Any]:
        """The same as `handle`."""
        return WorkflowHandle(self._portal, self._twin.get_handle(id, kind=kind))

    def list(
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
        return self._portal.call(
            self._twin.list(
                status,
                type,
                search_attrs,
                limit,
                offset,
                claimed_by=claimed_by,
                namespace=namespace,
            )
        )
