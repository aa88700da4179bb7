"""Calls about runs: start, look, signal, cancel, terminate, retry."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.support.caller import Caller, at
from tests.support.http import NOTHING, Answer, Json


@dataclass(frozen=True, slots=True)
class Event:
    """An event with its payload parsed, wherever it was read."""

    seq: int
    type: str
    payload: Json
    timestamp: float


def from_record(record: Json) -> Event:
    """An event of the REST history, where the payload is JSON in a string."""
    text = record["payload"]
    payload = None if text is None else json.loads(text)
    return Event(record["seq"], record["event_type"], payload, record["timestamp"])


def from_task(record: Json) -> Event:
    """An event of a workflow task, where the payload is real JSON."""
    return Event(record["seq"], record["event_type"], record["payload"], record["timestamp"])


def gapless(events: list[Event]) -> list[Event]:
    """The same events, after a check that seq counts 1, 2, 3 ..."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), events
    return events


class Runs(Caller):
    async def start(self, run_id: str | None = None, **fields: Any) -> str:
        """Start a run on this test's queue and return its id."""
        fields = {"workflow_type": "Story", "task_queue": self.queue} | fields
        fields["workflow_id"] = run_id or self.fresh()
        answer = await self.send("POST", "/workflows", fields, 201)
        return str(answer.json()["workflow_id"])

    async def describe(self, run_id: str) -> Json:
        return await self.get(at(run_id))

    async def status(self, run_id: str) -> str:
        return str((await self.describe(run_id))["status"])

    async def history(self, run_id: str) -> list[Event]:
        return gapless([from_record(item) for item in await self.get(at(run_id, "events"))])

    async def kinds(self, run_id: str) -> list[str]:
        return [event.type for event in await self.history(run_id)]

    async def events(self, run_id: str, kind: str) -> list[Event]:
        return [event for event in await self.history(run_id) if event.type == kind]

    async def signal(
        self, run_id: str, name: str, payload: object = NOTHING, status: int = 200
    ) -> Answer:
        body = NOTHING if payload is NOTHING else {"payload": payload}
        return await self.send("POST", at(run_id, "signal", name), body, status)

    async def cancel(self, run_id: str, reason: str | None = None, status: int = 200) -> Answer:
        body = NOTHING if reason is None else {"reason": reason}
        return await self.send("POST", at(run_id, "cancel"), body, status)

    async def terminate(self, run_id: str, reason: str | None = None, status: int = 200) -> Answer:
        body = NOTHING if reason is None else {"reason": reason}
        return await self.send("POST", at(run_id, "terminate"), body, status)

    async def retry(self, run_id: str, status: int = 200) -> Json:
        body = {"requested_by": "ann", "reason": "mended"}
        return (await self.send("POST", at(run_id, "retry"), body, status)).json()

    async def continue_as_new(self, run_id: str, status: int = 201, **fields: Any) -> Json:
        """The answer: the successor's record."""
        path = at(run_id, "continue-as-new")
        return (await self.send("POST", path, fields or NOTHING, status)).json()

    async def delete(self, run_id: str, status: int = 204) -> Answer:
        return await self.send("DELETE", at(run_id), status=status)

    async def listed(self, **query: str | int) -> list[Json]:
        """The runs that a query finds."""
        return list(await self.get(f"/workflows?{urlencode(query)}"))

    async def children(self, run_id: str) -> list[Json]:
        return list(await self.get(at(run_id, "children")))
