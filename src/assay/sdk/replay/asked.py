"""What workflow code has asked for and is not answered yet."""

from collections.abc import Callable
from enum import StrEnum
from itertools import count
from types import CodeType
from typing import Any, TypeVar

from assay.sdk.replay.loop import RunFuture, RunLoop, RunTimer
from assay.wire.commands import CommandBody

Result = TypeVar("Result")
Place = tuple[CodeType, int]
"""Where workflow code asks: the code and its line."""


class Kind(StrEnum):
    """What can be asked for, each with numbers (or ids) of its own."""

    ACTIVITY = "activity"
    TIMER = "timer"
    SIDE_EFFECT = "side effect"
    STEP = "step"
    CHILD = "child workflow"


Key = tuple[Kind, int | str]
_calls = count()  # of all runs: only which of two is the later matters


class Asked:
    """One call under way. `recorded`: history holds it; `sent`: it has gone out from here.

    `order` says which calls were made before it; a wait and the timer that limits it are one call.
    """

    __slots__ = (
        "command", "future", "key", "kind", "name", "order", "place", "recorded", "sent", "since",
        "timer", "work",
    )  # fmt: skip

    def __init__(
        self,
        key: Key,
        name: str,
        *,
        since: int,
        place: Place | None = None,
        future: "RunFuture[Any] | None" = None,
        timer: RunTimer | None = None,
        command: CommandBody | None = None,
        kind: Any = Any,
    ) -> None:
        self.key = key
        self.name = name
        self.since = since  # the last event that was fed when it was asked
        self.place = place
        self.future = future
        self.timer = timer
        self.command = command
        self.kind = kind
        self.order = future.order if isinstance(future, Wait) else next(_calls)
        self.recorded = False
        self.sent = False
        self.work: Work | None = None

    @property
    def is_wanted(self) -> bool:
        """Somebody still waits for it."""
        if self.timer is not None:
            return not self.timer.cancelled()
        return self.future is not None and not self.future.done()


class Work:
    """A function that runs beside the replay: an inline step, or a side effect."""

    __slots__ = ("attempt", "call", "is_running", "policy", "retry_at")

    def __init__(self, call: Callable[[], Any], policy: Any = None) -> None:
        self.call = call
        self.policy = policy
        self.attempt = 1
        self.retry_at = 0.0
        self.is_running = False


class Wait(RunFuture[Any]):
    """A wait for a signal; with a timer it gives up when that fires first."""

    __slots__ = ("asked_for", "held", "kind", "order", "place", "timer_seq")

    def __init__(
        self, loop: RunLoop, name: str, kind: Any, timer_seq: int | None, place: Place
    ) -> None:
        super().__init__(loop=loop)
        self.asked_for = name
        self.place = place
        self.kind = kind
        self.timer_seq = timer_seq
        self.order = next(_calls)
        self.held = False  # its command is in history, or on its way there


class Child(RunFuture[Result]):
    """The outcome of a child run; await it for the child's result."""

    __slots__ = ("workflow_id",)

    def __init__(self, loop: RunLoop, workflow_id: str) -> None:
        super().__init__(loop=loop)
        self.workflow_id = workflow_id


def place_text(place: Place | None) -> str:
    """As errors name it."""
    return "" if place is None else f" ({place[0].co_filename}:{place[1]}, in {place[0].co_name})"
