"""Schedules: made and changed."""

from typing import Annotated

from msgspec import Raw, Struct

from assay.errors import BadValue
from assay.model import operations
from assay.model.schedule import OverlapPolicy
from assay.wire import values
from assay.wire.codec import NULL, payload_text
from assay.wire.fields import Label, Name, Namespace, Overlap, Queue, said

UTC = "UTC"


class CreateSchedule(Struct):
    """A new schedule."""

    name: Name
    workflow_type: Name
    cron_expr: Name
    namespace: Namespace | None = None
    timezone: Annotated[str, said(default=UTC)] | None = None
    input: Raw = NULL
    task_queue: Queue | None = None
    overlap_policy: Annotated[Overlap, said(default=OverlapPolicy.SKIP)] | None = None

    def operation(self) -> operations.CreateSchedule:
        """With its defaults; the expression and the zone are judged by the engine."""
        overlap = _overlap(self.overlap_policy)
        return operations.CreateSchedule(
            namespace=values.namespace(self.namespace),
            name=values.name("name", self.name),
            type=values.name("workflow_type", self.workflow_type),
            cron=values.label("cron_expr", self.cron_expr),
            timezone=values.label("timezone", UTC if self.timezone is None else self.timezone),
            input=payload_text(self.input),
            queue=values.queue(self.task_queue),
            overlap=OverlapPolicy.SKIP if overlap is None else overlap,
        )


class PatchSchedule(Struct):
    """Change a schedule; what is absent stays."""

    cron_expr: Name | None = None
    timezone: Label | None = None
    input: Raw = NULL
    task_queue: Name | None = None
    overlap_policy: Overlap | None = None

    def operation(self, namespace: str, name: str) -> operations.PatchSchedule:
        """Of the schedule in the path."""
        cron, timezone = self.cron_expr, self.timezone
        return operations.PatchSchedule(
            namespace=namespace,
            name=values.identifier("schedule name", name),
            cron=None if cron is None else values.label("cron_expr", cron),
            timezone=None if timezone is None else values.label("timezone", timezone),
            input=payload_text(self.input),
            queue=None if self.task_queue is None else values.name("task_queue", self.task_queue),
            overlap=_overlap(self.overlap_policy),
        )


class NoFields(Struct):
    """A body that says nothing."""


def _overlap(value: str | None) -> OverlapPolicy | None:
    if value is None:
        return None
    try:
        return OverlapPolicy(value)
    except ValueError:
        known = ", ".join(OverlapPolicy)
        raise BadValue(f"overlap_policy must be one of {known}, not {value!r}") from None
