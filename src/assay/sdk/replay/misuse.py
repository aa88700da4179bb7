"""What workflow code did that no replay could do again alike, with its place and the remedy."""

import traceback
from asyncio import events
from collections.abc import Iterator
from typing import Protocol

from assay.sdk.faults import DefinitionFault, WorkflowMisuse
from assay.sdk.replay.loop import Endless, RunLoop, RunTask, Shared, Shuffled

FOREIGN = (
    "attached to a different loop",
    "await wasn't used with future",  # said of the same future when it is awaited once more
    "Task got bad yield",
)
BOUND = "is bound to a different event loop"
ELSEWHERE = "threads, connections, files and processes are out of reach of a workflow"
NOT_THE_USERS = ("/assay/sdk/", "/asyncio/")
REMEDY = (
    "workflow code can await only calls of its ctx and asyncio's own tasks, events, queues and "
    "time-outs; everything else belongs into an activity or into ctx.step(function, ...)"
)
EXIT = "code of a workflow wants to exit from its worker"
EXIT_REMEDY = "return, raise an error, or call ctx.cancel()"
SHARED = "a lock, an event or a queue is shared with another run, or with code outside of runs"
SHARED_REMEDY = (
    "make it inside of the workflow; runs tell each other things by signals and activities"
)
NOTICED = {
    Endless: (
        "the code goes on and on without waiting for anything",
        (
            "wait for what is to happen (ctx.wait_for_signal, ctx.sleep, asyncio.Event) instead of "
            "asking for it again and again"
        ),
    ),
    Shuffled: (
        "asyncio.as_completed takes coroutines in another order in every replay",
        "make tasks of them first, with asyncio.create_task",
    ),
    Shared: (SHARED, SHARED_REMEDY),
}
"""What a run's loop notices itself, place and all."""


class Suspect(Protocol):
    """A run whose code has gone as far as it can."""

    loop: RunLoop

    @property
    def main(self) -> "RunTask[object] | None":
        """Its main branch."""


def misuse_of(run: Suspect) -> WorkflowMisuse | None:
    """Whether it got there in a way that cannot be repeated."""
    main = run.main
    error = run.loop.fault
    if error is None and main is not None and main.done() and not main.cancelled():
        error = main.exception()
    found = (misuse for each in _parts(error) if (misuse := _misuse_in(each, error)) is not None)
    return next(found, None)


def placed(error: WorkflowMisuse) -> WorkflowMisuse:
    """The same with the place in the user's code, if it has none yet."""
    return error if ".py:" in str(error) else type(error)(f"{error}{_place(error)}")


def _misuse_in(error: BaseException, whole: BaseException | None) -> WorkflowMisuse | None:
    match error:
        case WorkflowMisuse():
            return placed(error)
        case DefinitionFault():
            return placed(WorkflowMisuse(str(error)).with_traceback(error.__traceback__))
        case Endless() | Shuffled() | Shared():
            what, remedy = NOTICED[type(error)]
            return WorkflowMisuse(f"{what}{error}: {remedy}")
        case RuntimeError() if any(said in str(error) for said in FOREIGN):
            what, remedy = "something foreign is awaited", REMEDY
        case RuntimeError() if BOUND in str(error):
            what, remedy = SHARED, SHARED_REMEDY
        case NotImplementedError() if _is_of_the_loop(error):
            what, remedy = ELSEWHERE, REMEDY
        case SystemExit():
            what, remedy = EXIT, EXIT_REMEDY
        case _:
            return None
    return WorkflowMisuse(f"{what}{_place(error, whole)}: {remedy}")


def _parts(error: BaseException | None) -> Iterator[BaseException]:
    """An error, or those that a group of branches has ended with."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _parts(each)
    elif error is not None:
        yield error


def _is_of_the_loop(error: BaseException) -> bool:
    """Whether asyncio's empty loop raised it: code has asked for what a run's loop has not got."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename == events.__file__


def _place(error: BaseException, whole: BaseException | None = None) -> str:
    """The innermost frame of the user's own code; if there is none, where the whole came from."""
    frames = _own_frames(error) or ([] if whole is None else _own_frames(whole))
    return f" ({frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""


def _own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(part in frame.filename.replace("\\", "/") for part in NOT_THE_USERS)
    ]
