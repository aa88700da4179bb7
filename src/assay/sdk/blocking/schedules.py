# ruff: noqa: PLR0917 - the contract's signature
"""The blocking twin of `assay.sdk.client.schedules`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from collections.abc import Callable

from assay.sdk.client import schedules as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import OverlapPolicy, ScheduleRecord


class Schedules:
    """What the clock starts."""

    def __init__(self, portal: Portal, twin: awaited.Schedules) -> None:
        self._portal = portal
        self._twin = twin

    def create(
        self,
        name: str,
        workflow_type: str | Callable[..., object],
        cron_expr: str,
        timezone: str = "UTC",
        input: object = None,
        task_queue: str = "default",
        overlap_policy: OverlapPolicy = "skip",
        *,
        namespace: str | None = None,
    ) -> ScheduleRecord:
        """Make a schedule; `Conflict` if the namespace has one of that name."""
        return self._portal.call(
            self._twin.create(
                name,
                workflow_type,
                cron_expr,
                timezone,
                input,
                task_queue,
                overlap_policy,
                namespace=namespace,
            )
        )

    def list(self, *, namespace: str | None = None) -> list[ScheduleRecord]:
        """All schedules of a namespace by name."""
        return self._portal.call(self._twin.list(namespace=namespace))

    def describe(self, name: str, *, namespace: str | None = None) -> ScheduleRecord | None:
        """A schedule; None if there is none of that name."""
        return self._portal.call(self._twin.describe(name, namespace=namespace))

    def patch(
        self,
        name: str,
        *,
        cron_expr: str | None = None,
        timezone: str | None = None,
        input: object = None,
        task_queue: str | None = None,
        overlap_policy: OverlapPolicy | None = None,
        namespace: str | None = None,
    ) -> ScheduleRecord:
        """Change what is given and keep the rest; to empty the input, give `{}`."""
        return self._portal.call(
            self._twin.patch(
                name,
                cron_expr=cron_expr,
                timezone=timezone,
                input=input,
                task_queue=task_queue,
                overlap_policy=overlap_policy,
                namespace=namespace,
            )
        )

    def pause(self, name: str, *, namespace: str | None = None) -> ScheduleRecord:
        """Let it start nothing until it is resumed."""
        return self._portal.call(self._twin.pause(name, namespace=namespace))

    def resume(self, name: str, *, namespace: str | None = None) -> ScheduleRecord:
        """Let it go on from now; what it missed while paused stays missed."""
        return self._portal.call(self._twin.resume(name, namespace=namespace))

    def delete(self, name: str, *, namespace: str | None = None) -> None:
        """Delete it; the runs that it started go on."""
        self._portal.call(self._twin.delete(name, namespace=namespace))
