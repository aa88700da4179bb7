"""A portal: one event loop in a thread of its own, and how other threads call into it.

All threads of a program share the connections that live behind it. A call that is interrupted
(Ctrl-C) is cancelled on the other side too. A portal that is still open when the program ends is
closed then; one that was inherited by a fork has no thread, and says so.
"""

import asyncio
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from assay.errors import AssayError, UsageFault
from assay.sdk.faults import ClientFault
from assay.sdk.worker.sigterm import hearing_sigterm

CLOSE_SECS = 5.0  # longer than that nobody waits at the end of a program

Value = TypeVar("Value")


class Closable(Protocol):
    """What lives behind a portal."""

    async def close(self) -> None:
        """End it."""


Thing = TypeVar("Thing", bound=Closable)


class Portal:
    """The way into the loop."""

    def __init__(self) -> None:
        self._room = room = Room()
        self._leave = weakref.finalize(self, room.leave)

    def open(self, make: Callable[[], Coroutine[Any, Any, Thing]]) -> Thing:
        """Make what is to live behind the portal, and is closed with it."""
        try:
            thing = self.call(make())
        except BaseException:
            self.close()
            raise
        self._room.inhabitants.append(thing)
        return thing

    def call(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine on the other side and wait for it."""
        visit = self._room.receive(coroutine)
        try:
            return visit.answer.result()
        except BaseException:
            if not visit.answer.done():  # it is this thread that was interrupted
                visit.break_off()
            raise

    def serve(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        """Run one that goes on until the program is asked to end, which the main thread hears."""
        with hearing_sigterm():
            return self.call(coroutine)

    def close(self) -> None:
        """Close what lives behind it, and end the thread."""
        self._leave()


class Visit(Generic[Value]):
    """One coroutine on the other side."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Value]
    ) -> None:
        self.answer: concurrent.futures.Future[Value] = concurrent.futures.Future()
        self._loop = loop
        self._task: asyncio.Task[Value]
        loop.call_soon_threadsafe(self._begin, coroutine)

    def break_off(self) -> None:
        """Cancel it and wait until it has cleaned up; a second interruption does not wait."""
        self._loop.call_soon_threadsafe(self._cancel)
        concurrent.futures.wait([self.answer])

    def _begin(self, coroutine: Coroutine[Any, Any, Value]) -> None:
        self._task = self._loop.create_task(coroutine)
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        self._task.cancel()

    def _end(self, task: asyncio.Task[Value]) -> None:
        if task.cancelled():
            self.answer.set_exception(ClientFault("the client was closed meanwhile"))
        elif (fault := task.exception()) is not None:
            self.answer.set_exception(fault)
        else:
            self.answer.set_result(task.result())


class Room:
    """The other side: the loop, its thread, and what is to be closed at its end."""

    def __init__(self) -> None:
        self.inhabitants: list[Closable] = []
        self.loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._process = os.getpid()
        self._left = False
        self._lock = threading.RLock()  # the collector may end it in the middle of a call
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(ready)), name="assay-portal", daemon=True
        )
        self._thread.start()
        ready.wait()

    def receive(self, coroutine: Coroutine[Any, Any, Value]) -> "Visit[Value]":
        """Begin a coroutine in there."""
        fault = self._fault()  # before the lock: a fork may have inherited it locked
        if fault is None:
            with self._lock:  # what comes in before the end is ended with all else
                if not self._left:
                    return Visit(self.loop, coroutine)
            fault = ClientFault("the client is closed")
        coroutine.close()  # else it would complain that nobody awaited it
        raise fault

    def leave(self) -> None:
        """End it, from whatever thread."""
        if self._process != os.getpid():
            return
        with self._lock:
            if not self._left:
                self._left = True
                self.loop.call_soon_threadsafe(self._end.set)
        if threading.current_thread() is not self._thread:
            self._thread.join(CLOSE_SECS)

    def _fault(self) -> AssayError | None:
        if self._process != os.getpid():
            return UsageFault("a client does not survive a fork: connect anew in the child process")
        if threading.current_thread() is self._thread:
            return UsageFault("a blocking call would wait for its own thread: use the async client")
        return None

    async def _live(self, ready: threading.Event) -> None:
        self.loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        ready.set()
        await self._end.wait()
        for thing in self.inhabitants:
            await thing.close()
