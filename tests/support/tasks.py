"""Calls of a worker: polls, command batches, activity outcomes."""

from __future__ import annotations

from typing import Any

from tests.support.caller import Caller, commands_of
from tests.support.http import NOTHING, Answer, Json
from tests.support.runs import Event, from_task, gapless

WORKER = "w-test"
HOLD_SECS = 10.0


class Tasks(Caller):
    patience = HOLD_SECS

    async def poll_run(
        self, *, worker: str = WORKER, wait: float = 0, queue: str | None = None
    ) -> Json:
        """Poll a workflow task: the task, or None."""
        body = {"queue": queue or self.queue, "worker_id": worker, "wait_secs": wait}
        return (await self.send("POST", "/workflow-tasks/poll", body)).json()

    async def claim(
        self, run_id: str | None = None, *, worker: str = WORKER, wait: float | None = None
    ) -> Json:
        """Claim the next workflow task, held until there is one; it must be that of `run_id`."""
        secs = self.patience if wait is None else wait
        task = await self.poll_run(worker=worker, wait=secs)
        assert task is not None, f"no workflow task within {secs} s"
        assert run_id in (None, task["workflow_id"]), task
        return task

    async def submit(
        self, run_id: str, *commands: Json, worker: str = WORKER, status: int = 200, **fence: Any
    ) -> Answer:
        body = {"worker_id": worker, "commands": list(commands), **fence}
        return await self.send("POST", commands_of(run_id), body, status)

    async def advance(self, run_id: str, *commands: Json) -> list[Event]:
        """Claim the run's task, submit the commands, return the history that was handed out."""
        task = await self.claim(run_id)
        await self.submit(run_id, *commands, lease=task["lease"])
        return task_history(task)

    async def poll_activity(
        self, *, worker: str = WORKER, wait: float = 0, queue: str | None = None
    ) -> Json:
        """Poll an activity task: its record, or None."""
        body = {"queue": queue or self.queue, "worker_id": worker, "wait_secs": wait}
        record = (await self.send("POST", "/tasks/poll", body)).json()
        return record if "id" in record else check_empty(record)

    async def take(self, name: str | None = None, *, worker: str = WORKER) -> Json:
        """Claim the next activity, held until there is one; it must be called `name`."""
        record = await self.poll_activity(worker=worker, wait=self.patience)
        assert record is not None, "no activity came"
        assert name in (None, record["name"]), record
        return record

    async def complete(
        self, activity_id: int, result: object = NOTHING, status: int = 200, **fence: Any
    ) -> Answer:
        body = fence if result is NOTHING else {"result": result, **fence}
        path = f"/tasks/{activity_id}/complete"
        return await self.send("POST", path, body or NOTHING, status)

    async def fail(
        self, activity_id: int, error: str = "boom", status: int = 200, **fence: Any
    ) -> Answer:
        path = f"/tasks/{activity_id}/fail"
        return await self.send("POST", path, {"error": error, **fence}, status)

    async def beat(self, activity_id: int, details: object = NOTHING, **fence: Any) -> bool:
        """Heartbeat an activity; tell whether its run is being cancelled."""
        body = fence if details is NOTHING else {"details": details, **fence}
        path = f"/tasks/{activity_id}/heartbeat"
        answer = (await self.send("POST", path, body or NOTHING)).json()
        return bool(answer["cancel_requested"])

    async def activity(self, activity_id: int) -> Json:
        return await self.get(f"/activities/{activity_id}")


def check_empty(record: Json) -> None:
    assert record["task"] is None, record


def task_history(task: Json) -> list[Event]:
    return [from_task(item) for item in task["history"]]


def whole_task_history(task: Json) -> list[Event]:
    """The history of a task of which nothing was voided."""
    return gapless(task_history(task))
