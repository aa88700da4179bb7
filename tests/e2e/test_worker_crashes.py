"""Workers killed in the middle of a run: others finish it, and it comes to what it would have."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.voyager import LEGS, total_of
from tests.support.api import Api
from tests.support.caller import until
from tests.support.http import Http
from tests.support.server import Server
from tests.support.worker_process import WorkerProcess, ended

KILLS = int(os.environ.get("ASSAY_KILLS", "6"))
SEED = int(os.environ.get("ASSAY_SEED", "1"))
LEASE_SECS = 0.6
SECS = 50.0
ONCE = {
    "ActivityScheduled": ("activity_seq",),
    "ActivityCompleted": ("activity_seq",),
    "TimerScheduled": ("timer_seq",),
    "TimerFired": ("timer_seq",),
    "ChildWorkflowStarted": ("child_workflow_id",),
    "ChildWorkflowCompleted": ("child_workflow_id",),
    "SideEffectRecorded": ("side_effect_seq",),
    "StepCompleted": ("step_seq",),
}


@pytest.fixture
def server(backend: str, tmp_path: Path) -> Iterator[Server]:
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": str(LEASE_SECS)}
    server = Server(backend, tmp_path / "server.log", environment=lease)
    with server.running():
        yield server


@pytest.mark.timeout(SECS + 20 + 2 * KILLS)
def test_a_voyage_survives_its_captains(server: Server, tmp_path: Path) -> None:
    workers: list[WorkerProcess] = []
    with ended(workers):
        asyncio.run(Voyage(server, tmp_path, workers).make())


class Voyage:
    """Two workers on the queue; one after the other is killed, and another one comes."""

    def __init__(self, server: Server, logs: Path, workers: list[WorkerProcess]) -> None:
        self.server = server
        self.logs = logs
        self.workers = workers
        self.dice = random.Random(SEED)
        self.id = ""
        self.killed = 0

    async def make(self) -> None:
        async with (
            asyncio.timeout(SECS + 2 * KILLS),
            Http(self.server.host, self.server.port) as http,
        ):
            api = Api(http)
            self.id = await api.start(workflow_type="voyage", input=LEGS)
            self.hire(api)
            self.hire(api)
            signals = asyncio.create_task(self.call_out(api))
            await self.kill_some(api)
            await signals
            run = await until(
                lambda: api.describe(self.id), lambda run: run["status"] != "RUNNING", SECS
            )
            assert run["status"] == "COMPLETED", (run, self.workers[-1].said())
            await self.inspect(api, json.loads(run["result"]))

    def hire(self, api: Api) -> None:
        log = self.logs / f"worker-{len(self.workers)}.log"
        self.workers.append(WorkerProcess("tests.e2e.voyager", self.server, api.queue, log=log))

    async def kill_some(self, api: Api) -> None:
        """At any moment, but while there is something to do."""
        await until(lambda: api.describe(self.id), lambda run: run["claimed_by"] is not None)
        for _ in range(KILLS):
            await asyncio.sleep(self.dice.uniform(0.05, 0.7))
            victim = self.dice.choice([each for each in self.workers if each.alive])
            await asyncio.to_thread(victim.kill)
            self.killed += 1
            self.hire(api)

    async def call_out(self, api: Api) -> None:
        """The signals: one for each leg, and none before its share of the workers is dead."""
        for leg in range(LEGS):
            await until(
                lambda: api.events(self.id, "ChildWorkflowStarted"),
                lambda found, leg=leg: len(found) > leg,  # type: ignore[misc] # bound at once
                SECS,
            )
            while self.killed < KILLS * leg // (LEGS - 1):
                await asyncio.sleep(self.dice.uniform(0, 0.1))
            await api.signal(self.id, "go", leg)

    async def inspect(self, api: Api, result: dict[str, object]) -> None:
        """Everything is in history once, and the result is that of an undisturbed voyage."""
        history = await api.history(self.id)
        seen = Counter(
            (event.type, *(event.payload[name] for name in ONCE[event.type]))
            for event in history
            if event.type in ONCE
        )
        assert not [key for key, times in seen.items() if times > 1]
        kinds = Counter(event.type for event in history)
        assert kinds["ActivityScheduled"] == kinds["ActivityCompleted"] == 3 * LEGS
        assert kinds["SideEffectRecorded"] == kinds["StepCompleted"] == LEGS
        assert kinds["ChildWorkflowStarted"] == kinds["SignalReceived"] == LEGS
        assert kinds["TimerFired"] == LEGS
        assert not kinds["StepFailed"] + kinds["StepAttemptFailed"] + kinds["ActivityFailed"]
        stamps = [e.payload["value"] for e in history if e.type == "SideEffectRecorded"]
        looks = [e.payload["result"] for e in history if e.type == "StepCompleted"]
        logbook = [each for pair in zip(stamps, looks, strict=True) for each in pair]
        assert result == {"total": total_of(LEGS), "logbook": logbook}
