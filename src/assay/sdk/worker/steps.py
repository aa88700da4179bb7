"""Inline steps: a function runs beside the replay, and what came of it becomes a command."""

import asyncio
import inspect
import logging
import random
from functools import partial
from typing import Any

from msgspec import Raw

from assay.sdk import failure as failures
from assay.sdk.convert import Codec
from assay.sdk.replay.asked import Asked
from assay.sdk.step_policy import StepPolicy
from assay.sdk.worker.threads import InThread, Work, allow
from assay.wire.commands.recorded import RecordStep

TOO_LONG = "start_to_close timeout"  # the words that the engine has for an activity's
STUCK = (
    "step %s has run for longer than its start_to_close_secs (%g s), and nothing can end a plain "
    "function: it keeps one of the worker's threads for steps until it returns"
)
log = logging.getLogger("assay.sdk")


async def run_step(
    asked: Asked, codec: Codec, in_thread: InThread, dice: random.Random
) -> RecordStep:
    """One attempt. An error is recorded too: whether another attempt follows, and when."""
    work, number = asked.work, asked.key[1]
    assert work is not None
    assert isinstance(number, int)
    policy: StepPolicy = work.policy
    scope = asyncio.timeout(None)  # its time begins when it does: there may be no thread yet
    call = Work(work.call, partial(allow, scope, policy.start_to_close_secs))
    try:
        async with scope:
            value = await _done(call, in_thread)
        result = Raw(codec.encode(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # its run has ended, or is no longer here
        if call.is_under_way:
            log.warning(STUCK, asked.name, policy.start_to_close_secs)
        final = policy.is_final(work.attempt, error)
        return RecordStep(
            seq=number,
            name=asked.name,
            attempt=work.attempt,
            error=TOO_LONG if scope.expired() else failures.text_of(error),
            final=final,
            retry_in_secs=0.0 if final else policy.delay(work.attempt, error, dice),
            failure=failures.written(failures.failure_of(error)),
        )
    return RecordStep(seq=number, name=asked.name, attempt=work.attempt, result=result)


async def _done(work: Work, in_thread: InThread) -> Any:
    """An `async def` on the loop, anything else in a thread."""
    if inspect.iscoroutinefunction(_plain(work.call)):
        work.begins()
        return await work.call()
    value = await in_thread(work)
    return await value if inspect.isawaitable(value) else value


def _plain(call: Any) -> Any:
    while isinstance(call, partial):
        call = call.func
    return call
