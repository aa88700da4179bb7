"""Activity tasks: the work itself, in a task of the loop or in a thread, and what came of it."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Raw

from assay.model.task import TaskKind
from assay.sdk import failure as failures
from assay.sdk.activity_context import ActivityContext, Beat
from assay.sdk.application_error import delay_asked
from assay.sdk.convert import Codec
from assay.sdk.definition import ActivityDefinition
from assay.sdk.exchange.pump import Pump
from assay.sdk.faults import PayloadError
from assay.sdk.worker.registry import Registry
from assay.sdk.worker.threads import InThread, Work, allow
from assay.wire.exchange.answer import ActivityTask
from assay.wire.exchange.operations import Complete, Fail, HandBack, Heartbeat, Outcome

OK = 200
REFUSED = (400, 413, 422)  # for what it holds: said again, it would be refused again
BRIEF = 1000  # characters of an error that nothing is to be wrong with
OVER_KEPT = 1000  # far more than end while an answer is on its way
GRACE_SECS = 1.0  # the engine measures start_to_close; what still runs after that is ended here
STUCK = (
    "activity %s of %s has run for longer than its start_to_close_secs (%g s), and nothing can end "
    "a plain function: it takes the place of an activity until it returns"
)
log = logging.getLogger("assay.sdk")


class Attempt:
    """One attempt in hand."""

    __slots__ = ("began", "is_unwanted", "task", "thread", "work")

    def __init__(self, task: ActivityTask) -> None:
        self.task = task
        self.work: asyncio.Task[None] | None = None
        self.thread: Work | None = None
        self.began = False
        self.is_unwanted = False


class Activities:
    """All attempts a worker has in hand."""

    def __init__(
        self,
        *,
        registry: Registry,
        codec: Codec,
        pump: Callable[[], Pump],
        in_thread: InThread,
        room: int,
    ) -> None:
        self.room = room
        self.seen = 0
        self.by_token: dict[str, Attempt] = {}
        # The latest that were in hand: the engine may not know yet.
        self._over: dict[str, None] = {}
        self._stuck: set[str] = set()  # given up, and still in their threads
        self._registry = registry
        self._codec = codec
        self._pump = pump
        self._in_thread = in_thread

    @property
    def free(self) -> int:
        """How many more it takes."""
        return self.room - len(self.by_token) - len(self._stuck)

    def take(self, task: ActivityTask) -> None:
        """A task has come."""
        self.seen += 1
        if task.token in self.by_token or task.token in self._over:
            return  # sent again, since an answer was thought lost
        attempt = self.by_token[task.token] = Attempt(task)
        attempt.work = asyncio.get_running_loop().create_task(self._do(attempt))

    def hand_back_unbegun(self) -> None:
        """Nothing more is begun; whoever takes it next finds it as it was."""
        for attempt in list(self.by_token.values()):
            if not attempt.began:
                self._hand_back(attempt)

    def hand_back_all(self) -> None:
        """There is no time left: what is under way is ended, and begun anew by somebody else."""
        for attempt in list(self.by_token.values()):
            self._hand_back(attempt)

    def _hand_back(self, attempt: Attempt) -> None:
        task = attempt.task
        self._let_go(task.token)
        if attempt.work is not None:
            attempt.work.cancel()
        self._pump().tell(HandBack(kind=TaskKind.ACTIVITY, no=task.no, token=task.token))

    async def _do(self, attempt: Attempt) -> None:
        task = attempt.task
        attempt.began = True
        definition = self._registry.activities.get(task.name)
        if definition is None:
            self._fail(attempt, LookupError(f"No handler registered for activity: {task.name}"))
            return
        scope = asyncio.timeout(None)
        begins = partial(allow, scope, task.start_to_close_secs + GRACE_SECS)
        try:
            async with scope:
                result = Raw(self._codec.encode(await self._run(attempt, definition, begins)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if attempt.work is not None and attempt.work.cancelling():
                raise  # it was handed back
            if scope.expired():
                self._give_up(attempt)
                return
            self._fail(attempt, error)
        else:
            self._report(attempt, Complete(no=task.no, token=task.token, result=result))

    async def _run(
        self, attempt: Attempt, definition: ActivityDefinition, begins: Callable[[], None]
    ) -> Any:
        task = attempt.task
        given = _given(self._codec, definition, task)
        details = self._codec.decode(task.details)
        ctx = ActivityContext(
            workflow_id=task.workflow_id,
            activity_id=task.no,
            attempt=task.attempt,
            heartbeat_details=details,
            beat=self._beater(attempt, is_async=definition.is_async),
        )
        if definition.is_async:
            begins()
            return await definition.call(ctx, given)
        ends = partial(self._has_left_thread, attempt)
        attempt.thread = Work(lambda: definition.call(ctx, given), begins, ends)
        value = await self._in_thread(attempt.thread)
        return await value if asyncio.iscoroutine(value) else value

    def _give_up(self, attempt: Attempt) -> None:
        """The engine has, by now. A plain function cannot be ended: it keeps its room."""
        task = attempt.task
        self.by_token.pop(task.token, None)
        if attempt.thread is not None and attempt.thread.is_under_way:
            self._stuck.add(task.token)
            log.warning(STUCK, task.name, task.workflow_id, task.start_to_close_secs)
        self._pump().announce()

    def _has_left_thread(self, attempt: Attempt) -> None:
        attempt.thread = None
        if attempt.task.token in self._stuck:
            self._stuck.discard(attempt.task.token)
            self._pump().announce()

    def _beater(self, attempt: Attempt, *, is_async: bool) -> Callable[[Any], Any]:
        """How an attempt says that it is alive: from the loop, or from its thread."""
        loop = asyncio.get_running_loop()

        def beat(details: Any) -> Beat:
            return Beat(attempt.is_unwanted, loop.create_task(self._beat(attempt, details)))

        def beat_from_thread(details: Any) -> bool:
            return asyncio.run_coroutine_threadsafe(self._beat(attempt, details), loop).result()

        return beat if is_async else beat_from_thread

    async def _beat(self, attempt: Attempt, details: Any) -> bool:
        task = attempt.task
        raw = Raw(b"null") if details is None else Raw(self._codec.encode(details))
        said = Heartbeat(no=task.no, token=task.token, details=raw)
        outcome = await self._pump().say(said)
        if outcome.status in REFUSED:
            raise PayloadError(f"the engine refuses the details of a heartbeat: {outcome.error}")
        if outcome.status != OK or outcome.cancel_requested is True:
            attempt.is_unwanted = True  # it is cancelled, or the attempt has been given up
        return attempt.is_unwanted

    def _fail(self, attempt: Attempt, error: BaseException) -> None:
        task = attempt.task
        log.info("activity %s of %s failed: %r", task.name, task.workflow_id, error)
        said = Fail(
            no=task.no,
            token=task.token,
            error=failures.text_of(error),
            failure=failures.written(failures.failure_of(error)),
            retryable=getattr(error, "retryable", True) is not False,
            retry_after_secs=delay_asked(error),
        )
        self._report(attempt, said)

    def _report(self, attempt: Attempt, said: Complete | Fail) -> None:
        """It is out of hand from now on; only a refusal of the report still matters."""
        if not self._let_go(attempt.task.token):
            return  # handed back meanwhile
        self._pump().say(said).add_done_callback(lambda done: self._reported(attempt, said, done))

    def _let_go(self, token: str) -> bool:
        self._over[token] = None
        if len(self._over) > OVER_KEPT:
            del self._over[next(iter(self._over))]
        return self.by_token.pop(token, None) is not None

    def _reported(
        self, attempt: Attempt, said: Complete | Fail, done: "asyncio.Future[Outcome]"
    ) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        outcome = done.result()
        if outcome.status == OK:
            return
        task = attempt.task
        log.info("activity %s of %s: %s", task.name, task.workflow_id, outcome.error)
        if outcome.status in REFUSED:
            with contextlib.suppress(RuntimeError):
                self._pump().tell(_plainly(said, outcome.error))


def _given(codec: Codec, definition: ActivityDefinition, task: ActivityTask) -> Any:
    """The input: an activity's travels as JSON text in its task's record, here as JSON itself."""
    try:
        return definition.read(codec, task.input)
    except PayloadError as misfit:
        raise PayloadError(
            f"the input of activity {task.name!r} is not what it takes: {misfit}"
        ) from None


def _plainly(said: Complete | Fail, why: object) -> Fail:
    """What is told of an attempt whose report was refused: without anything that need not be."""
    if isinstance(said, Complete):
        return Fail(no=said.no, token=said.token, error=f"the engine refused the result: {why}")
    brief = failures.cut(said.error, BRIEF)
    return Fail(no=said.no, token=said.token, error=brief, retryable=said.retryable)
