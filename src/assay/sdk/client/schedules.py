"""Schedules: made, listed, changed, paused, deleted."""

from collections.abc import Callable

from assay.sdk.client.calls import CREATED, OK, Calls, at, type_name
from assay.sdk.records import OverlapPolicy, ScheduleRecord


class Schedules:
    """What the clock starts."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create(  # noqa: PLR0917 - the contract's signature
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
        fields = {
            "name": name,
            "namespace": self._calls.scope(namespace),
            "workflow_type": type_name(workflow_type),
            "cron_expr": cron_expr,
            "timezone": timezone,
            "input": self._calls.payload(input),
            "task_queue": task_queue,
            "overlap_policy": overlap_policy,
        }
        return await self._calls.send(ScheduleRecord, at("schedules"), fields, expect=(CREATED,))

    async def list(self, *, namespace: str | None = None) -> list[ScheduleRecord]:
        """All schedules of a namespace by name."""
        path = at("schedules", namespace=self._calls.scope(namespace))
        return await self._calls.get(list[ScheduleRecord], path)

    async def describe(self, name: str, *, namespace: str | None = None) -> ScheduleRecord | None:
        """A schedule; None if there is none of that name."""
        return await self._calls.find(ScheduleRecord, self._at(name, namespace=namespace))

    async def patch(
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
        path = self._at(name, namespace=namespace)
        fields = {
            "cron_expr": cron_expr,
            "timezone": timezone,
            "input": self._calls.payload(input),
            "task_queue": task_queue,
            "overlap_policy": overlap_policy,
        }
        return await self._calls.send(ScheduleRecord, path, fields, method="PATCH", repeatable=True)

    async def pause(self, name: str, *, namespace: str | None = None) -> ScheduleRecord:
        """Let it start nothing until it is resumed."""
        path = self._at(name, "pause", namespace=namespace)
        return await self._calls.send(ScheduleRecord, path, repeatable=True)

    async def resume(self, name: str, *, namespace: str | None = None) -> ScheduleRecord:
        """Let it go on from now; what it missed while paused stays missed."""
        path = self._at(name, "resume", namespace=namespace)
        return await self._calls.send(ScheduleRecord, path, repeatable=True)

    async def delete(self, name: str, *, namespace: str | None = None) -> None:
        """Delete it; the runs that it started go on."""
        await self._calls.ask("DELETE", self._at(name, namespace=namespace), expect=(OK,))

    def _at(self, *parts: str, namespace: str | None) -> str:
        return at("schedules", *parts, namespace=self._calls.scope(namespace))
