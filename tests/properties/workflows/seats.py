"""A worker's side of the world: its runs as in any worker, its loop and its wire in our hands."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from assay.engine.wants import Grant, Want
from assay.model.task import TaskKind
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.worker.options import WorkerOptions
from assay.sdk.worker.registry import Registry
from assay.sdk.worker.runs import Runs
from assay.sdk.worker.threads import Work
from assay.store.port import Look
from assay.wire.exchange.answer import History, RunTask
from assay.wire.exchange.operations import Operations, Outcome

RUNS = Look(TaskKind.WORKFLOW, "main", "default")
ROOM = 5
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Operations).decode


class HandLoop(asyncio.SelectorEventLoop):
    """An event loop that turns when it is told to, and goes by a clock of the world's."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._world_clock = clock
        super().__init__()

    def time(self) -> float:
        return self._world_clock()

    def settle(self) -> None:
        """Turn until nothing is left to do at this moment."""
        turns = 0
        while True:
            self.call_soon(self.stop)
            self.run_forever()
            turns += 1
            assert turns < 1000, "a worker spins"
            if not self._ready:  # type: ignore[attr-defined] # asyncio keeps it to itself
                return

    def next_at(self) -> float | None:
        """When a timer is due."""
        timers = [each for each in self._scheduled if not each.cancelled()]  # type: ignore[attr-defined] # the same
        return min((each.when() for each in timers), default=None)


class Letter(NamedTuple):
    """What a worker has to say, or (`position`) a history it asks for."""

    future: "asyncio.Future[Any]"
    text: bytes = b""
    position: tuple[int, int] | None = None

    @property
    def operation(self) -> Any:
        """As it comes out at the other end."""
        return _decode(self.text)


class Reply(NamedTuple):
    """What came back, on its way."""

    letters: list[Letter]
    outcomes: list[Outcome | History]
    at: float


class Wire:
    """What stands where a worker has its pump: it keeps what it is given until it is fetched."""

    def __init__(self, loop: HandLoop) -> None:
        self.out: deque[Letter] = deque()
        self._loop = loop

    def tell(self, operation: Any) -> None:
        self.out.append(Letter(self._loop.create_future(), _encode(operation)))

    def say(self, operation: Any) -> "asyncio.Future[Outcome]":
        letter = Letter(self._loop.create_future(), _encode(operation))
        self.out.append(letter)
        return letter.future

    def history(self, no: int, after: int) -> "asyncio.Future[History]":
        letter = Letter(self._loop.create_future(), position=(no, after))
        self.out.append(letter)
        return letter.future

    def go(self) -> None:
        """Everything is fetched anyway."""


class Seat:
    """A worker: real runs, and all that is on its way to it and from it."""

    def __init__(self, id: str, loop: HandLoop, registry: Registry, kept: int) -> None:
        self.id = id
        self.registry = registry
        self.codec: Codec = DEFAULT
        self.options = WorkerOptions()
        self.loop = loop
        self.wire = Wire(loop)
        self.pump: Any = self.wire
        self.runs = Runs(self, ROOM, kept)
        self.want = Want(RUNS, id, held=True, answer=self._granted, several=True)
        self.coming: list[Grant] = []
        self.tasks: list[list[RunTask]] = []
        self.replies: list[Reply] = []
        self.lost: list[Grant] = []
        self.threads: list[tuple[asyncio.Future[Any], Callable[[], Any]]] = []
        self.alive = True
        self.frozen_until = 0

    def run_in_thread(self, kind: TaskKind, work: Work) -> "asyncio.Future[Any]":
        """The function runs when the world says so."""
        future: asyncio.Future[Any] = self.loop.create_future()
        self.threads.append((future, work.call))
        return future

    @property
    def room(self) -> int:
        """Room for tasks, less those on their way."""
        coming = sum(grant.spends for grant in self.coming)
        under_way = sum(not task.free for tasks in self.tasks for task in tasks)
        return self.runs.free - coming - under_way - len(self.lost)

    def take(self, tasks: list[RunTask], at: float) -> None:
        """Tasks have come."""
        self.runs.engine_time = max(at, self.runs.engine_time)
        for task in tasks:
            self.loop.call_soon(self.runs.take, task)
        self.loop.settle()

    def hear(self, reply: Reply) -> None:
        """What came of what it said."""
        self.runs.engine_time = max(reply.at, self.runs.engine_time)
        for letter, outcome in zip(reply.letters, reply.outcomes, strict=True):
            if not letter.future.done():
                letter.future.set_result(outcome)
        self.loop.settle()

    def finish_thread(self, at: int) -> None:
        """A function that runs beside the loop is done."""
        future, call = self.threads.pop(at)
        if not future.done():
            try:
                future.set_result(call())
            except Exception as error:
                future.set_exception(error)
        self.loop.settle()

    def die(self) -> None:
        """Whatever it had is gone."""
        self.alive = False
        for live in list(self.runs._live.values()):
            live.let_go()
        self.runs._live.clear()
        self.runs._fetching.clear()
        letters = [*self.wire.out, *(each for reply in self.replies for each in reply.letters)]
        for letter in letters:
            letter.future.cancel()
        for future, _ in self.threads:
            future.cancel()
        self.wire.out.clear()
        self.loop.settle()

    @property
    def is_idle(self) -> bool:
        """Nothing is on its way to it or from it, and nothing runs in it."""
        return not (
            self.coming or self.tasks or self.replies or self.lost or self.threads or self.wire.out
        )

    def _granted(self, grant: Any) -> None:
        if isinstance(grant, Grant):
            self.coming.append(grant)
