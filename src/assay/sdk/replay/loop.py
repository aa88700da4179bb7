"""The event loop of one run: real asyncio tasks, without a clock, a thread or a socket.

Callbacks run in the order in which they were asked for, and time stands still between two events
of history. A timer is a durable timer of the run. Tasks and futures hash by the number of their
creation, so that asyncio's own sets (task groups, `wait`, `as_completed`) go through them in the
same order in every replay (tests/sdk/test_branches.py). Coroutines hash by their address: where
asyncio would put them into a set the run is blocked (tests/sdk/test_misuse.py).
"""

import asyncio
import sys
from asyncio import events, tasks
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")
MOST_TURNS = 1_000_000  # after one event; about a second
MANY_TASKS = 64  # so many are remembered before those that are done are looked for
BENEATH = ("assay.sdk.", "asyncio.")  # modules whose frames are not the user's
THROWS = 100  # at one branch: code may wait for something anew while it is ended


class EndOfRun(BaseException):
    """Raised where code ends its run itself, and wherever it is when it is let go."""


class Timers(Protocol):
    """What the loop needs of the run it belongs to."""

    def start_timer(self, secs: float, fire: "RunTimer") -> int:
        """Set a durable timer; its number."""

    def drop_timer(self, number: int) -> None:
        """It is no longer wanted."""


class Endless(Exception):
    """Code that goes on and on without waiting for anything; says where."""


class Shuffled(Exception):
    """Coroutines in a set, out of which they come in another order each time; says where."""


class Shared(Exception):
    """Code of a run wakes a branch of another one; says where."""


if TYPE_CHECKING:

    class Call(asyncio.Future[Result], Coroutine[Any, Any, Result]):
        """What a call of ctx gives: a future, of which tasks can be made as of a coroutine.

        Only checkers know the second half, since groups are declared to take coroutines alone.
        At run time `RunLoop.create_task` sees to it; `asyncio.wait` would not have coroutines.
        """

        def send(self, value: Any, /) -> Any: ...
        def throw(self, type: Any, value: Any = None, traceback: Any = None, /) -> Any: ...
        def close(self) -> None: ...

else:
    Call = asyncio.Future


class RunFuture(Call[Result]):
    """A future of one run's loop."""

    __slots__ = ("number",)

    def __init__(self, *, loop: "RunLoop") -> None:
        super().__init__(loop=loop)
        self.number = loop.take_number()

    def __hash__(self) -> int:
        return self.number

    def close(self) -> None:
        """A group that has ended closes what it is to make a task of (Python 3.13)."""
        self.cancel()


class RunTask(asyncio.Task[Result]):
    """A task of one run's loop."""

    __slots__ = ("number",)

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Result],
        *,
        loop: "RunLoop",
        name: str | None = None,
        context: Context | None = None,
    ) -> None:
        self.number = loop.take_number()
        name = name or f"branch-{self.number}"  # asyncio's own counter is the whole process's
        super().__init__(coroutine, loop=loop, name=name, context=context)
        self._log_destroy_pending = False  # a run that is let go leaves its tasks as they are

    def __hash__(self) -> int:
        return self.number


class RunTimer(asyncio.TimerHandle):
    """A callback that a durable timer of the run sets off."""

    number = 0

    def ended_futures(self) -> list["asyncio.Future[Any]"]:
        """The futures it was to resolve: whoever sleeps waits for one of them."""
        return [each for each in self._args or () if isinstance(each, asyncio.Future)]


class RunLoop(asyncio.AbstractEventLoop):
    """Runs everything that can run, then stands still.

    What it has not got (threads, sockets, processes) raises; `misuse.py` says what to do instead.
    """

    def __init__(self, timers: Timers) -> None:
        self.now = 0.0
        self.is_over = False
        self.fault: BaseException | None = None
        self._timers = timers
        self._ready: deque[asyncio.Handle] = deque()
        self._numbers = count(1)
        self._tasks: list[RunTask[Any]] = []  # kept: a branch nobody can wake is not collected
        self._many = MANY_TASKS

    def take_number(self) -> int:
        """The next of the numbers by which tasks and futures are told apart."""
        return next(self._numbers)

    def run_until_blocked(self) -> None:
        """Let everything go on that can. Called from a plain callback, never from inside a task."""
        ready, turns = self._ready, 0
        if not ready:
            return  # as after most events: the loop need not be set up for it
        with self._stepping():
            try:
                while ready and not self.is_over and turns < MOST_TURNS:
                    turns += 1
                    ready.popleft()._run()
            except SystemExit as error:  # of the code, not of the worker
                self.fault = self.fault or error
        if turns == MOST_TURNS:
            self.fault = self.fault or Endless(_code_of(ready[0]) if ready else "")

    def let_go(self) -> None:
        """The run is over here: nothing of it goes on.

        Its branches are ended now and here, where what their code does meanwhile has no effect:
        left to the garbage collector they would be closed anywhere, and complain.
        """
        self.is_over = True
        left = [task for task in self._tasks if not task.done()]
        self._ready.clear()
        with self._stepping():
            for task in left:
                _end(task.get_coro())

    @contextmanager
    def _stepping(self) -> Iterator[None]:
        """Meanwhile this is the loop that code finds, its asynchronous generators included."""
        outer, hooks = events._get_running_loop(), sys.get_asyncgen_hooks()
        events._set_running_loop(self)
        sys.set_asyncgen_hooks(None, self._close)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*hooks)
            events._set_running_loop(outer)

    def _close(self, generator: AsyncGenerator[Any, None]) -> None:
        """Nobody holds it any more: what it has left to do is a branch, from this turn on.

        One that the garbage collector finds while others have their turn stays as it is: no replay
        would find it there again.
        """
        if self.is_over:
            with self._stepping():
                _end(generator.aclose())
        elif events._get_running_loop() is self:
            _closing = self.create_task(generator.aclose())

    def awaited(self) -> set["asyncio.Future[Any]"]:
        """What its branches wait for, each for itself."""
        left = [task for task in self._tasks if not task.done()]
        waiters = [getattr(task, "_fut_waiter", None) for task in left]
        return {waiter for waiter in waiters if isinstance(waiter, asyncio.Future)}

    # -- what tasks and futures ask of a loop ----------------------------------------------------

    def time(self) -> float:
        """The time of the newest event."""
        return self.now

    def get_debug(self) -> bool:
        """Never: asyncio's own checks look at clocks."""
        return False

    def is_running(self) -> bool:
        """Whenever somebody can ask."""
        return not self.is_over

    def is_closed(self) -> bool:
        """Once the run has been let go."""
        return self.is_over

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """After everything that was asked for before."""
        handle = asyncio.Handle(callback, args, self, context)
        if not self.is_over:
            running = events._get_running_loop()  # none, or the worker's, while history is fed
            if running is not self and isinstance(running, RunLoop):
                self.fault = running.fault = running.fault or Shared(_place_in_code())
            self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """By a durable timer of the run."""
        handle = RunTimer(self.now + delay, callback, args, self, context)
        if not self.is_over:
            handle.number = self._timers.start_timer(max(delay, 0.0), handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """By a durable timer of the run."""
        return self.call_later(when - self.now, callback, *args, context=context)

    def fire(self, timer: RunTimer) -> None:
        """Its durable timer has fired."""
        if not timer.cancelled():
            self._ready.append(timer)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if isinstance(handle, RunTimer) and not self.is_over:
            self._timers.drop_timer(handle.number)

    def create_future(self) -> RunFuture[Any]:
        """A future of this run."""
        return RunFuture(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, Result] | Generator[Any, None, Result] | asyncio.Future[Result],
        *,
        name: str | None = None,
        context: Context | None = None,
        **_: object,
    ) -> RunTask[Result]:
        """A branch of this run; one that is made of a future waits for it."""
        if isinstance(coro, asyncio.Future):
            coro = _outcome(coro)
        self.fault = self.fault or _shuffled()
        if self.is_over:
            coro.close()  # it will never begin
        task = RunTask(coro, loop=self, name=name, context=context)  # type: ignore[arg-type] # old-style generators are no longer made
        self._tasks.append(task)
        if len(self._tasks) > self._many:
            self._tasks = [each for each in self._tasks if not each.done()]
            self._many = max(MANY_TASKS, 2 * len(self._tasks))
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Nobody awaited it: what a callback raised is the run's own fault, the rest is no news."""
        if "handle" in context and self.fault is None:
            self.fault = context.get("exception")

    async def shutdown_asyncgens(self) -> None:
        """Nothing is kept of them."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""


def _shuffled() -> Shuffled | None:
    """Whether a branch is asked for by `as_completed`, which puts what it is given into a set."""
    frame = sys._getframe(2)
    while frame.f_globals is tasks.__dict__ and frame.f_back is not None:
        if frame.f_code is tasks.as_completed.__code__:
            return Shuffled(_place(frame.f_back))
        frame = frame.f_back
    return None


def _place_in_code() -> str:
    """Where the code stands that is running, asyncio's and our own left out."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(BENEATH):
        frame = frame.f_back
    return _place(frame)


def _place(frame: FrameType) -> str:
    return f" ({frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name})"


async def _outcome(future: asyncio.Future[Result]) -> Result:
    return await future


def _code_of(handle: asyncio.Handle) -> str:
    """Where the branch stands that is to go on next."""
    task = getattr(getattr(handle, "_callback", None), "__self__", None)
    frames = task.get_stack(limit=1) if isinstance(task, RunTask) else []
    return _place(frames[0]) if frames else ""


def _end(coroutine: Any) -> None:
    """Not by `close`, which tears an outer coroutine from an inner one that waits anew."""
    for _ in range(THROWS):
        try:
            coroutine.throw(EndOfRun())
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - the code's last words: nobody hears them
            return
