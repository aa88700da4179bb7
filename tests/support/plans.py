"""Calls about schedules and namespaces."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from urllib.parse import quote, urlencode

from tests.support.caller import Caller
from tests.support.http import NOTHING, Answer, Json

EVERY_SECOND = "* * * * * *"
NEVER_SOON = "0 0 0 1 1 *"


def of_schedule(name: str, *parts: str, namespace: str | None = None) -> str:
    """The path of a schedule, or of what can be done with it."""
    scope = "" if namespace is None else f"?{urlencode({'namespace': namespace})}"
    return "/schedules/" + "/".join((quote(name, safe=""), *parts)) + scope


class Plans(Caller):
    async def schedule(self, name: str | None = None, status: int = 201, **fields: Json) -> Json:
        """Make a schedule that starts runs on this test's queue; its record."""
        given = {"workflow_type": "Story", "cron_expr": NEVER_SOON, "task_queue": self.queue}
        body = {"name": name or self.fresh("plan"), **given, **fields}
        return (await self.send("POST", "/schedules", body, status)).json()

    @contextlib.asynccontextmanager
    async def scheduled(self, **fields: Json) -> AsyncIterator[str]:
        """The name of a schedule that is gone afterwards."""
        record = await self.schedule(**{"cron_expr": EVERY_SECOND, **fields})
        try:
            yield record["name"]
        finally:
            await self.ask("DELETE", of_schedule(record["name"], namespace=record["namespace"]))

    async def patch(
        self, name: str, status: int = 200, namespace: str | None = None, **fields: Json
    ) -> Json:
        """Change a schedule, or with nothing to change look at it."""
        path = of_schedule(name, namespace=namespace)
        return (await self.send("PATCH", path, fields or NOTHING, status)).json()

    async def pause(self, name: str, status: int = 200, namespace: str | None = None) -> Json:
        path = of_schedule(name, "pause", namespace=namespace)
        return (await self.send("POST", path, status=status)).json()

    async def resume(self, name: str, status: int = 200, namespace: str | None = None) -> Json:
        path = of_schedule(name, "resume", namespace=namespace)
        return (await self.send("POST", path, status=status)).json()

    async def unschedule(
        self, name: str, status: int = 200, namespace: str | None = None
    ) -> Answer:
        return await self.send("DELETE", of_schedule(name, namespace=namespace), status=status)

    async def open_namespace(self) -> str:
        """Make a namespace of this test's own."""
        name = self.fresh("space")
        await self.send("POST", "/namespaces", {"name": name}, 201)
        return name

    async def close_namespace(self, name: str, status: int = 200) -> Answer:
        return await self.send("DELETE", f"/namespaces/{quote(name, safe='')}", status=status)
