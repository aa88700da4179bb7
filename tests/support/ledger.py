"""Load on servers that may die: what was tried, what was acknowledged, what must be there."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.support import commands
from tests.support.api import Api
from tests.support.caller import at, commands_of
from tests.support.http import Answer, Http, Json, Lost
from tests.support.runs import Event

ACTIVITIES_PER_RUN = 5
PAUSE_SECS = 0.1


class Unsettled(Exception):
    """No answer, or one that says nothing: it may have happened or not."""


@dataclass
class Ledger:
    """What clients and workers of one load remember."""

    queue: str
    persistent: bool = False  # go on after lost answers, and repeat what is safe to repeat
    stopped: bool = False
    started: set[str] = field(default_factory=set)
    signals_tried: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    signals_told: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    completed: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    scheduled: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @property
    def acknowledged(self) -> int:
        """How many signals, schedulings and completions were."""
        books = (self.signals_told, self.scheduled, self.completed)
        return sum(len(told) for book in books for told in book.values())

    # --- the load ---------------------------------------------------------------------------

    async def client(self, http: Http, run: str) -> None:
        """Start a run and signal it, one request after the other."""
        body = {"workflow_type": "Story", "workflow_id": run, "task_queue": self.queue}
        if not await self._settle(http, "/workflows", body, good=(201, 409)):
            return
        self.started.add(run)
        n = 0
        while not self.stopped:
            n += 1
            self.signals_tried[run].add(n)
            signal: Json = {"payload": n}
            if repeatable := self.persistent and n % 2 == 0:
                signal["request_id"] = f"{run}-{n}"
            path = at(run, "signal", "go")
            if await self._settle(http, path, signal, repeat=repeatable):
                self.signals_told[run].add(n)
            elif self.persistent:
                await asyncio.sleep(PAUSE_SECS)
            else:
                return

    async def worker(self, http: Http, name: str) -> None:
        """Let each run schedule a few activities, one with every task."""
        poll = {"queue": self.queue, "worker_id": name, "wait_secs": 1}
        while not self.stopped:
            try:
                task = (await post(http, "/workflow-tasks/poll", poll)).json()
                if task is not None:
                    await self._advance(http, name, task)
            except Unsettled:
                if not self.persistent:
                    return
                await asyncio.sleep(PAUSE_SECS)

    async def hand(self, http: Http, name: str) -> None:
        """Do activities."""
        poll = {"queue": self.queue, "worker_id": name, "wait_secs": 1}
        while not self.stopped:
            try:
                task = (await post(http, "/tasks/poll", poll)).json()
                if "id" in task:
                    body = {"result": task["seq"], "token": task["token"]}
                    answer = await post(http, f"/tasks/{task['id']}/complete", body)
                    assert answer.status in (200, 409), answer
                    if answer.status == 200:
                        self.completed[task["workflow_id"]].add(task["seq"])
            except Unsettled:
                if not self.persistent:
                    return
                await asyncio.sleep(PAUSE_SECS)

    async def _advance(self, http: Http, name: str, task: Json) -> None:
        run = task["workflow_id"]
        known = sum(item["event_type"] == "ActivityScheduled" for item in task["history"])
        batch = []
        if known < ACTIVITIES_PER_RUN:
            batch = [commands.activity(known + 1, task_queue=self.queue, max_attempts=9)]
        body = {"worker_id": name, "commands": batch, "lease": task["lease"]}
        answer = await post(http, commands_of(run), body)
        assert answer.status in (200, 409), answer
        if answer.status == 200 and batch:
            self.scheduled[run].add(known + 1)

    async def _settle(
        self,
        http: Http,
        path: str,
        body: Json,
        *,
        good: tuple[int, ...] = (200,),
        repeat: bool | None = None,
    ) -> bool:
        """Post, again and again if that is safe; tell whether it was acknowledged."""
        while True:
            try:
                answer = await post(http, path, body)
            except Unsettled:
                if self.stopped or not (self.persistent if repeat is None else repeat):
                    return False
                await asyncio.sleep(PAUSE_SECS)
                continue
            assert answer.status in good, (path, body, answer)
            return True

    # --- the audit --------------------------------------------------------------------------

    async def audit(self, api: Api) -> None:
        """Compare every run with what is remembered of it."""
        room = asyncio.Semaphore(20)

        async def one(run: str) -> None:
            async with room:
                self._check(run, await api.history(run))  # read gapless

        await asyncio.gather(*(one(run) for run in self.started))

    def _check(self, run: str, history: list[Event]) -> None:
        by_kind: defaultdict[str, list[Json]] = defaultdict(list)
        for event in history:
            by_kind[event.type].append(event.payload)
        assert len(by_kind["WorkflowStarted"]) == 1, run
        signals = Counter(item["payload"] for item in by_kind["SignalReceived"])
        signals.pop("finish", None)
        assert max(signals.values(), default=1) == 1, f"{run}: a signal twice"
        lost = self.signals_told[run] - signals.keys()
        assert not lost, f"{run}: signals {lost} were acknowledged and are gone"
        assert signals.keys() <= self.signals_tried[run], run
        for kind, told in (
            ("ActivityScheduled", self.scheduled),
            ("ActivityCompleted", self.completed),
        ):
            seqs = Counter(item["activity_seq"] for item in by_kind[kind])
            assert max(seqs.values(), default=1) == 1, f"{run}: {kind} twice"
            lost = told[run] - seqs.keys()
            assert not lost, f"{run}: {kind} {lost} was acknowledged and is gone"

    async def finish(self, api: Api, workers: int = 10) -> None:
        """Show that work goes on: end every run by a worker's hand."""
        left = set(self.started)

        async def end_runs(name: str) -> None:
            while left:
                task = await api.poll_run(worker=name, queue=self.queue, wait=0.2)
                if task is None:
                    continue
                run = task["workflow_id"]
                await api.submit(run, commands.complete(), worker=name, lease=task["lease"])
                left.discard(run)

        for run in self.started:
            await api.signal(run, "go", "finish")
        await asyncio.gather(*(end_runs(f"w-end-{n}") for n in range(workers)))


async def post(http: Http, path: str, body: Json) -> Answer:
    try:
        answer = await http.request("POST", f"/api/v1{path}", body)
    except Lost as error:
        raise Unsettled(str(error)) from error
    if answer.status in (500, 503):
        raise Unsettled(f"{path}: {answer}")
    return answer
