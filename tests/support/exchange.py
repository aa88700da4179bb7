"""One session of an SDK, spoken by hand: what it says is written out, what arrives is counted."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from tests.support.api import Api
from tests.support.http import Connection, Json, request_bytes

PATH = "/exchange"
KINDS = {"runs": "workflow", "activities": "activity"}
PATIENCE_SECS = 15.0


class Told(Struct):
    """An answer; what there is none of is empty."""

    v: int
    instance: int
    at: float
    lease_secs: float
    fresh: bool = False
    outcomes: list[Json] = []
    runs: list[Json] = []
    activities: list[Json] = []
    endings: list[Json] = []
    histories: list[Json] = []

    @property
    def statuses(self) -> list[int]:
        """Of the operations, in order."""
        return [outcome["status"] for outcome in self.outcomes]

    @property
    def is_empty(self) -> bool:
        """It brings nothing."""
        return not (self.runs or self.activities or self.endings)


class Session:
    """What it takes is said anew each time: `runs=2` is room for two."""

    def __init__(self, api: Api, id: str | None = None) -> None:
        self.api = api
        self.id = id or api.fresh("w")
        self.seen = {"workflow": 0, "activity": 0}

    def body(self, *operations: Json, **said: Any) -> Json:
        """A request as JSON."""
        takings = [
            [kind, said.pop("queue", self.api.queue), said.pop(word), self.seen[kind]]
            for word, kind in KINDS.items()
            if word in said
        ]
        given = {"operations": list(operations), "takings": takings}
        kept = {name: value for name, value in given.items() if value}
        return {"v": 1, "session": self.id, **kept, **said}

    async def say(self, *operations: Json, **said: Any) -> Told:
        """One request and its answer."""
        answer = await self.api.send("POST", PATH, self.body(*operations, **said))
        return self.hear(answer.json())

    def hear(self, answer: Json) -> Told:
        """Count what has come."""
        told = Told(**answer)
        self.seen["workflow"] += sum(not task.get("free", False) for task in told.runs)
        self.seen["activity"] += len(told.activities)
        return told

    async def do(self, *operations: Json, **said: Any) -> Told:
        """Operations that all go well."""
        told = await self.say(*operations, **said)
        assert {*told.statuses} <= {200, 201}, told.outcomes
        return told

    async def hold(self, **said: Any) -> Told:
        """Until something comes."""
        async with asyncio.timeout(PATIENCE_SECS):
            while (told := await self.say(wait_secs=10, **said)).is_empty:
                pass
        return told

    async def take_run(self, id: str | None = None, **said: Any) -> Json:
        """The next run with news; it must be that one."""
        told = await self.hold(runs=1, **said)
        [task] = told.runs
        assert id in (None, task["id"]), task
        return task

    async def take_activity(self, name: str | None = None, **said: Any) -> Json:
        """The next attempt; it must be at that activity."""
        told = await self.hold(activities=1, **said)
        [task] = told.activities
        assert name in (None, task["name"]), task
        return task

    async def begin(self, **said: Any) -> None:
        """Make the session known."""
        assert (await self.say(**said)).fresh

    async def send(self, *operations: Json, **said: Any) -> Connection:
        """Ask on a connection of its own, and do not listen."""
        connection = await self.api.http.open()
        body = self.body(*operations, **said)
        await connection.send(request_bytes("POST", self.api.prefix + PATH, body))
        return connection


# -- operations ----------------------------------------------------------------------------------


def start(api: Api, id: str | None = None, **fields: Any) -> Json:
    fields = {"workflow_type": "Story", "task_queue": api.queue} | fields
    return {"op": "start", "workflow_id": id or api.fresh(), **fields}


def signal(id: str, name: str, payload: Json = None, **fields: Any) -> Json:
    return {"op": "signal", "id": id, "name": name, "payload": payload, **fields}


def submit(task: Json, *commands: Json, **flags: bool | int) -> Json:
    """The outcome of a replay, under the lease of its task."""
    batch = {"id": task["id"], "lease": task["lease"], "commands": list(commands)}
    return {"op": "commands", **batch, **flags}


def mismatch(task: Json, error: str) -> Json:
    return {"op": "mismatch", "id": task["id"], "lease": task["lease"], "error": error}


def complete(task: Json, result: Json = None, **fence: Any) -> Json:
    fence = {"token": task["token"]} | fence
    return {"op": "complete", "no": task["no"], "result": result, **fence}


def fail(task: Json, error: str = "boom", **fields: Any) -> Json:
    return {"op": "fail", "no": task["no"], "token": task["token"], "error": error, **fields}


def beat(task: Json, details: Json = None) -> Json:
    return {"op": "heartbeat", "no": task["no"], "token": task["token"], "details": details}


def back(task: Json) -> Json:
    """A task that was not begun."""
    token, kind = (task["lease"], "workflow") if "lease" in task else (task["token"], "activity")
    return {"op": "return", "kind": kind, "no": task["no"], "token": token}


# -- histories -----------------------------------------------------------------------------------


def kinds(entries: list[Json]) -> list[str]:
    """What happened, without the rest."""
    return [entry[1] for entry in entries]


def seqs(entries: list[Json]) -> list[int]:
    return [entry[0] for entry in entries]
