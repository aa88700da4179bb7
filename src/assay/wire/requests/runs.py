"""What can be asked of a run."""

from typing import Annotated

from msgspec import Raw, Struct

from assay.errors import BadValue
from assay.model.operations import Cancel, ContinueRun, Retry, Signal, Start, Terminate
from assay.wire import values
from assay.wire.codec import NULL, check_object, object_text, payload_text
from assay.wire.fields import Label, Name, Namespace, ObjectOrNull, Queue, Seconds, Span, said


class StartWorkflow(Struct):
    """Begin a run."""

    workflow_type: Name
    workflow_id: Label | None = None
    namespace: Namespace | None = None
    input: Raw = NULL
    task_queue: Queue | None = None
    search_attributes: ObjectOrNull = NULL
    timeout_secs: Span | None = None
    start_delay_secs: Annotated[Seconds, said(default=0)] | None = None
    if_exists: Annotated[str, said(enum=["error", "use"], default="error")] | None = None

    def __post_init__(self) -> None:
        if self.search_attributes != NULL:
            check_object("search_attributes", self.search_attributes)

    def operation(self) -> Start:
        """With blank ids counted as absent."""
        timeout, delay = self.timeout_secs, self.start_delay_secs or 0.0
        if self.if_exists not in (None, "error", "use"):
            raise BadValue(f"if_exists must be error or use, not {self.if_exists!r}")
        if delay < 0:
            raise BadValue("start_delay_secs must not be negative")
        return Start(
            type=values.name("workflow_type", self.workflow_type),
            id=values.new_id(self.workflow_id),
            namespace=values.namespace(self.namespace),
            input=payload_text(self.input),
            queue=values.queue(self.task_queue),
            search_attributes=None
            if self.search_attributes == NULL
            else object_text("search_attributes", self.search_attributes),
            timeout_secs=None if timeout is None else values.span("timeout_secs", timeout),
            delay_secs=values.seconds("start_delay_secs", delay),
            use_existing=self.if_exists == "use",
        )


class SendSignal(Struct):
    """Tell a run something; the same `request_id` again is a repeat."""

    payload: Raw = NULL
    request_id: Label | None = None

    def operation(self, id: str, name: str) -> Signal:
        """Both names come from the path."""
        values.identifier("workflow id", id)
        request = self.request_id
        return Signal(
            id,
            values.name("signal name", name),
            payload_text(self.payload),
            None if not request else values.label("request_id", request),
        )


class EndWorkflow(Struct):
    """Ask a run to stop, or make it."""

    reason: str | None = None

    def cancel(self, id: str) -> Cancel:
        """Ask."""
        return Cancel(values.identifier("workflow id", id), values.optional_text(self.reason))

    def terminate(self, id: str) -> Terminate:
        """Make."""
        return Terminate(values.identifier("workflow id", id), values.optional_text(self.reason))


class RetryWorkflow(Struct):
    """Try the last failed activity of a failed run anew."""

    requested_by: Annotated[str, said(minLength=1)]
    reason: Annotated[str, said(minLength=1)]

    def operation(self, id: str) -> Retry:
        """Who asks and why goes into the history."""
        return Retry(
            values.identifier("workflow id", id),
            values.filled("requested_by", self.requested_by),
            values.filled("reason", self.reason),
        )


class ContinueWorkflow(Struct):
    """Start the successor of a run."""

    input: Raw = NULL
    workflow_id: Label | None = None

    def operation(self, id: str) -> ContinueRun:
        """A blank id is derived."""
        values.identifier("workflow id", id)
        return ContinueRun(id, payload_text(self.input), values.new_id(self.workflow_id))
