"""One request as a handler sees it, and how a poll is held for it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal
from urllib.parse import parse_qsl

from assay.engine.runner import Runner
from assay.engine.wants import Grant
from assay.errors import BadValue
from assay.model.operations import Operation, Outcome
from assay.model.task import TaskKind
from assay.server.answer import Answer
from assay.server.asgi import HUNG_UP, Receive, Scope
from assay.server.body import HungUp
from assay.server.settings import Settings
from assay.store.port import Reads
from assay.wire.requests import Poll

Ending = Literal["gone", "stopping"]


class Held:
    """A poll that is being held; ending it makes its task go on without a grant."""

    __slots__ = ("_task", "ending")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self.ending: Ending | None = None

    def end(self, why: Ending) -> None:
        """Hold it no longer. What may have been claimed for it is undone."""
        if self.ending is None:
            self.ending = why
            self._task.cancel()

    def resume(self) -> None:
        """The cancellation was ours and has done its work."""
        self._task.uncancel()


class Door:
    """What all requests share: the engine, the settings, and the polls held right now."""

    def __init__(self, runner: Runner, settings: Settings) -> None:
        self.runner = runner
        self.settings = settings
        self.stopping = False
        self.held: set[Held] = set()

    def stop(self) -> None:
        """Nothing is held from now on."""
        self.stopping = True
        for held in tuple(self.held):
            held.end("stopping")


class Call:
    """One request."""

    __slots__ = ("_receive", "_scope", "door", "path")

    def __init__(self, door: Door, path: list[str], scope: Scope, receive: Receive) -> None:
        self.door = door
        self.path = path
        self._scope = scope
        self._receive = receive

    @property
    def reading(self) -> Reads:
        """The read models."""
        return self.door.runner.store.reading

    def perform(self, operation: Operation) -> Awaitable[Outcome]:
        """One operation, durable when it is answered; a refusal is raised."""
        return self.door.runner.perform(operation)

    async def seen(self, worker_id: str | None) -> None:
        """A sign of life of the worker that a body names, if it does (contract §10.3)."""
        if worker_id is None:
            return
        runner = self.door.runner
        await runner.presence.namespace_of(worker_id)  # it may have registered elsewhere
        runner.presence.seen(worker_id, runner.clock())

    def query(self) -> Mapping[str, str]:
        """The parameters of the query; the last of a name counts."""
        text = self._scope["query_string"]
        try:
            return dict(parse_qsl(text.decode(), keep_blank_values=True, errors="strict"))
        except ValueError as error:
            raise BadValue(f"the query cannot be read: {error}") from None

    async def poll(self, kind: TaskKind, body: Poll) -> Grant | None:
        """A task, at once or within the time. A client that hangs up gets and keeps nothing."""
        runner, queue, worker_id = self.door.runner, body.queue, body.worker_id
        hold_secs = body.check()
        if hold_secs <= 0 or self.door.stopping:
            return await runner.poll(kind, queue, worker_id)
        held = Held()
        self.door.held.add(held)
        watch = asyncio.create_task(_end_with(self._receive, held))
        try:
            return await runner.poll(kind, queue, worker_id, hold_secs)
        except asyncio.CancelledError:
            if held.ending is None:
                raise
            held.resume()
            if held.ending == "gone":
                raise HungUp from None
            return None
        finally:
            self.door.held.discard(held)
            watch.cancel()

    async def hand_over(self, grant: Grant, build: Callable[[Grant], Awaitable[bytes]]) -> Answer:
        """The answer with a claimed task; the claim is undone if it cannot even be built."""
        try:
            return Answer(200, await build(grant), grant.claim)
        except BaseException:
            self.door.runner.undo(grant.claim)
            raise


async def _end_with(receive: Receive, held: Held) -> None:
    """Wait for the end of the connection; a body that is read already says nothing more."""
    while (await receive())["type"] != HUNG_UP:
        pass
    held.end("gone")
