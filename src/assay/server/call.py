"""One request as a handler sees it, and how a poll is held for it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Literal, TypeVar
from urllib.parse import parse_qs

from assay.engine.exchange import Exchanges
from assay.engine.questions import Questions
from assay.engine.runner import Runner
from assay.engine.stream import Stream
from assay.engine.wants import Grant
from assay.errors import BadValue
from assay.model.operations import Operation, Outcome
from assay.model.task import TaskKind
from assay.server.answer import Answer
from assay.server.asgi import HUNG_UP, Receive, Scope
from assay.server.body import HungUp
from assay.server.settings import Settings
from assay.store.catalogue import Catalogue
from assay.store.port import Reads
from assay.wire.frames import event_text
from assay.wire.requests import Poll

Awaited = TypeVar("Awaited")
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
    """What all requests share: the engine, the settings, and the polls held right now.

    With it goes the description of the interface, a document for each prefix of its paths.
    """

    def __init__(self, runner: Runner, settings: Settings, documents: Mapping[str, bytes]) -> None:
        self.runner = runner
        self.settings = settings
        self.documents = documents
        self.stream = Stream(runner.store, event_text)
        self.exchanges = Exchanges(runner)
        self.stopping = False
        self.held: set[Held] = set()

    def stop(self) -> None:
        """Nothing is held from now on."""
        self.stopping = True
        self.exchanges.stop()
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

    @property
    def catalogue(self) -> Catalogue:
        """The lists."""
        return self.door.runner.store.catalogue

    @property
    def questions(self) -> Questions:
        """What takes more than rows."""
        return self.door.runner.questions

    @property
    def raw_path(self) -> bytes:
        """The path as it was asked for."""
        return self._scope["raw_path"]

    def header(self, name: bytes) -> bytes | None:
        """The last header of that name, which is in lower case."""
        found = [value for header, value in self._scope["headers"] if header == name]
        return found[-1] if found else None

    def cut(self) -> None:
        """End the connection, whatever is still to be written on it."""
        cut = self._scope.get("assay.cut")
        if cut is not None:
            cut()

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

    def query(self) -> Mapping[str, list[str]]:
        """The parameters of the query, with all that each is given."""
        text = self._scope["query_string"]
        if not text:
            return {}
        try:
            return parse_qs(text.decode(), keep_blank_values=True, errors="strict")
        except ValueError as error:
            raise BadValue(f"the query cannot be read: {error}") from None

    async def poll(self, kind: TaskKind, body: Poll) -> Grant | None:
        """A task, at once or within the time. A client that hangs up gets and keeps nothing."""
        runner, queue, worker_id = self.door.runner, body.queue, body.worker_id
        hold_secs = body.check()
        if hold_secs <= 0 or self.door.stopping:
            return await runner.poll(kind, queue, worker_id)
        return await self.hold(partial(runner.poll, kind, queue, worker_id, hold_secs))

    async def hold(self, wait: Callable[[], Awaitable[Awaited]]) -> Awaited | None:
        """What is waited for; None if the server stops. Who hangs up waits no longer."""
        held = Held()
        self.door.held.add(held)
        watch = asyncio.create_task(_end_with(self._receive, held))
        try:
            return await wait()
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
        undo = partial(self.door.runner.undo, grant.claim)
        try:
            return Answer(200, await build(grant), undo)
        except BaseException:
            undo()
            raise


async def _end_with(receive: Receive, held: Held) -> None:
    """Wait for the end of the connection; a body that is read already says nothing more."""
    while (await receive())["type"] != HUNG_UP:
        pass
    held.end("gone")
