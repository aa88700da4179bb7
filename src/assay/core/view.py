"""The rows a decision may look at. What is not at hand is named by raising `Missing`.

The engine decides a whole batch against what it has; when a decision misses rows the engine loads
them in sets and decides the batch again from its start. Decisions are pure, so that costs nothing
but the time, and no operation has to list beforehand what it might need.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct

from assay.model.activity import Activity
from assay.model.events import Event
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.timer import Timer

# So many open children are read at once, whoever's they are.
CHILDREN_AT_ONCE = 1001

# So many blocked runs a worker that registers sets going; a minute's back-off frees the rest.
BLOCKED_AT_ONCE = 1000


class Need(Enum):
    """The ways rows are asked for; each is one set-based query."""

    RUN_BY_ID = "run_by_id"
    RUN = "run"
    ACTIVITY = "activity"
    ACTIVITY_AT = "activity_at"
    TIMER = "timer"
    TIMER_AT = "timer_at"
    OPEN_CHILDREN = "open_children"
    PAYLOAD = "payload"
    TOLD_CHILDREN = "told_children"
    WHOLE_RUN = "whole_run"
    RECORDED = "recorded"
    SIGNALS = "signals"
    SIGNAL_REQUEST = "signal_request"
    LAST_LINK = "last_link"
    BLOCKED = "blocked"
    NAMESPACE = "namespace"
    SCHEDULE = "schedule"
    SCHEDULE_NAMED = "schedule_named"
    NUMBERS = "numbers"


class Key(NamedTuple):
    """One thing needed: by id, by number, by number and seq, or by name within a scope."""

    need: Need
    name: str | int
    seq: int = 0
    scope: str = ""


class Missing(Exception):
    """A decision needs rows that are not at hand."""

    def __init__(self, *keys: Key) -> None:
        super().__init__(keys)
        self.keys = keys


def look_at_all(reads: Iterable[Callable[[], object]]) -> None:
    """Make several reads; whatever of them is not at hand is asked for at once, not one by one."""
    missing: list[Key] = []
    for read in reads:
        try:
            read()
        except Missing as gap:
            missing += gap.keys
    if missing:
        raise Missing(*missing)


class OpenChildren(Struct, frozen=True, gc=False):
    """Children of a run that have not ended; `whole`: these are all.

    While its cancel request is on its way down: only those that the request has not reached.
    """

    nos: tuple[int, ...]
    whole: bool


class WholeRun(Struct, frozen=True, gc=False):
    """Everything of one run, for the rare decision that looks at all of it."""

    activities: tuple[Activity, ...]
    timers: tuple[Timer, ...]
    events: tuple[Event, ...]
    ended_children: tuple[Run, ...]


Row = TypeVar("Row", Activity, Timer)
Row_co = TypeVar("Row_co", Activity, Timer, covariant=True)


class Shelf(Protocol[Row_co]):
    """Activities, or timers, as they stood before this batch; each method may raise `Missing`."""

    def get(self, no: int) -> Row_co | None:
        """The row of that number."""

    def at(self, run_no: int, seq: int) -> Row_co | None:
        """The row a run scheduled under that seq."""

    def live(self, run_no: int) -> Iterable[Row_co]:
        """Rows of a run that are not over yet."""


class View(Protocol):
    """Rows as they stood before this batch; each method may raise `Missing`."""

    @property
    def activities(self) -> Shelf[Activity]:
        """Activities of all runs."""

    @property
    def timers(self) -> Shelf[Timer]:
        """Timers of all runs."""

    def run(self, no: int) -> Run | None:
        """The run of that number."""

    def run_by_id(self, workflow_id: str) -> Run | None:
        """The run of that id, None if the id is free."""

    def open_children(self, run_no: int) -> OpenChildren:
        """Children that have not ended, or the first of many."""

    def payload(self, run_no: int, seq: int) -> str | None:
        """What an event of a run holds."""

    def told_children(self, run_no: int) -> frozenset[str]:
        """Children whose outcome a run's history tells already."""

    def whole_run(self, no: int) -> WholeRun:
        """Everything of one run."""

    def recorded(self, run_no: int) -> tuple[Event, ...]:
        """Standing events of a run that hold what its replays had recorded."""

    def signals(self, run_no: int) -> tuple[Event, ...]:
        """The signals a run has received."""

    def signal_request(self, run_no: int, request_id: str) -> bool:
        """Whether a signal with that id of its sender's has reached the run."""

    def last_link(self, run_no: int) -> int | None:
        """The last run of a chain of successors; None if a link of it is gone."""

    def blocked_runs(self, queue: str) -> tuple[int, ...]:
        """Runs of a queue whose workflow tasks get nowhere, or the first of many."""

    def namespace(self, name: str) -> bool:
        """Whether it exists."""

    def schedule(self, no: int) -> Schedule | None:
        """The schedule of that number."""

    def schedule_named(self, namespace: str, name: str) -> Schedule | None:
        """The schedule of that name, None if the name is free."""
