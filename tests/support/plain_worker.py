"""The plainest worker there can be: plain polls, one task at a time, no fences, no cleverness."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tests.support.caller import commands_of
from tests.support.http import Answer, Http, Json, Lost
from tests.support.plain_records import Handler, RecordingContext, replay
from tests.support.runs import from_task

HEARTBEAT_SECS = 10.0
LONGEST_PAUSE_SECS = 2.0

ActivityHandler: TypeAlias = Callable[["ActivityContext", Json], Awaitable[Json]]


class Refused(Exception):
    """The engine answered with something a worker can only log and try again."""


class PlainWorker:
    def __init__(
        self, http: Http, queue: str, *, prefix: str = "/api/v1", idle_secs: float = 0.05
    ) -> None:
        self._http = http
        self._queue = queue
        self._prefix = prefix
        self._idle_secs = idle_secs
        self._workflows: dict[str, Handler] = {}
        self._activities: dict[str, ActivityHandler] = {}
        self._worker_id = ""
        self._beat_at = 0.0

    def define(self, name: str, handler: Handler) -> None:
        self._workflows[name] = handler

    def activity(self, name: str, handler: ActivityHandler) -> None:
        self._activities[name] = handler

    async def serve(self) -> None:
        """Work until cancelled, whatever the engine does meanwhile."""
        pause = self._idle_secs
        while True:
            try:
                busy = await self.step()
            except (Lost, TimeoutError, Refused):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECS)
                continue
            pause = self._idle_secs
            if not busy:
                await asyncio.sleep(self._idle_secs)

    async def step(self) -> bool:
        """Do one task if there is one: first of the workflow kind, then an activity."""
        await self._introduce()
        where = {"queue": self._queue, "worker_id": self._worker_id}
        task = (await self.post("/workflow-tasks/poll", where)).json()
        if task and "workflow_id" in task:
            await self._replay(task)
            return True
        task = (await self.post("/tasks/poll", where)).json()
        if task and "id" in task:
            await self._execute(task)
            return True
        return False

    async def post(self, path: str, body: Json) -> Answer:
        """Post; what an old client calls an empty table goes out as `[]`."""
        answer = await self._http.request("POST", self._prefix + path, body or [])
        if answer.status not in (200, 404, 409):
            raise Refused(f"{path}: {answer}")
        return answer

    async def _introduce(self) -> None:
        if not self._worker_id:
            body = {"identity": "plain", "queue": self._queue, "workflows": [], "activities": []}
            answer = await self.post("/workers/register", body)
            self._worker_id = answer.json()["worker_id"]
            self._beat_at = time.monotonic()
        elif time.monotonic() - self._beat_at > HEARTBEAT_SECS:
            await self.post("/workers/heartbeat", {"worker_id": self._worker_id})
            self._beat_at = time.monotonic()

    async def _replay(self, task: Json) -> None:
        run_id, kind = task["workflow_id"], task["workflow_type"]
        if kind in self._workflows:
            context = RecordingContext([from_task(item) for item in task["history"]], run_id)
            commands = replay(self._workflows[kind], task["input"], context)
        else:
            error = f"no workflow handler registered for type: {kind}"
            commands = [{"type": "FailWorkflow", "error": error}]
        await self.post(commands_of(run_id), {"worker_id": self._worker_id, "commands": commands})

    async def _execute(self, task: Json) -> None:
        path = f"/tasks/{task['id']}"
        try:
            result = await self._outcome(task)
        except Exception as error:
            await self.post(f"{path}/fail", {"error": str(error)})
        else:
            await self.post(f"{path}/complete", {} if result is None else {"result": result})

    async def _outcome(self, task: Json) -> Json:
        handler = self._activities.get(task["name"])
        if handler is None:
            raise LookupError(f"No handler registered for activity: {task['name']}")
        given = None if task["input"] is None else json.loads(task["input"])
        result = await handler(ActivityContext(self, task), given)
        json.dumps(result, allow_nan=False)  # a result that is not JSON fails the attempt
        return result


class ActivityContext:
    """What an activity may ask about itself."""

    def __init__(self, worker: PlainWorker, task: Json) -> None:
        details = task["heartbeat_details"]
        self._worker = worker
        self.activity_id: int = task["id"]
        self.workflow_id: str = task["workflow_id"]
        self.attempt: int = task["attempt"]
        self.heartbeat_details: Json = None if details is None else json.loads(details)

    async def heartbeat(self, details: Json = None) -> bool:
        """Tell the engine that work goes on; true when the run is being cancelled."""
        body = {} if details is None else {"details": details}
        answer = await self._worker.post(f"/tasks/{self.activity_id}/heartbeat", body)
        return answer.status == 200 and bool(answer.json()["cancel_requested"])
