"""What is due is done: an engine that was well for a while leaves nothing undone."""

from assay.model.states import TimerState
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.schedule import SECOND
from tests.faults.simulation.schedules import PUT_OFF, Schedules
from tests.faults.simulation.trace import Broken

LATE = SECOND + SECOND // 2
"""A second is promised; the rest is what clocks differ by, and the length of a batch."""
SOON = SECOND // 4
"""What an engine alone on its store needs for a start that waited for the end of a run."""


class Promptness:
    """Since when an engine has been well, and what it should have done meanwhile."""

    def __init__(self, rows: Rows, schedules: Schedules, now: int, *, exclusive: bool) -> None:
        self._exclusive = exclusive
        self._rows = rows
        self._schedules = schedules
        self._well_since = now

    def excuse(self, now: int) -> None:
        """Something went wrong: what is due may be late."""
        self._well_since = now

    def check(self, now: int, clock: int) -> None:
        """Timers, time-outs, and starts of schedules."""
        if now - self._well_since <= LATE:
            return
        for what, at in self._overdue(clock).items():
            soon = self._exclusive and what[0].startswith(PUT_OFF)
            if clock - at > (SOON if soon else LATE):
                raise Broken(f"{what} was due {(clock - at) / SECOND} seconds ago")

    def _overdue(self, clock: int) -> dict[tuple[str, int], int]:
        rows, due = self._rows, self._schedules.overdue(clock)
        for run in rows.runs.values():
            if run.timeout_at is not None and run.timeout_at <= clock and run.is_open:
                due[f"end of {run.id}", run.no] = run.timeout_at
        for timer in rows.timers.values():
            if timer.state == TimerState.OPEN and timer.fire_at <= clock:
                due["timer", timer.no] = timer.fire_at
        return due
