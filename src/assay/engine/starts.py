"""Starts that wait for the end of a run (contract §9.4): of which schedule, by that run's number.

Hints like the rest of memory: what nobody remembers the sweep finds. An instance knows of the
starts that it has put off itself, and at its own start of all that wait.
"""

from collections.abc import Iterable

from assay.model.schedule import Schedule
from assay.store.port import Awaiting


class Starts:
    """The schedules that wait, by what they wait for."""

    def __init__(self) -> None:
        self.awaits: dict[int, int] = {}
        self._waiting: dict[int, dict[int, None]] = {}

    def __bool__(self) -> bool:
        return bool(self.awaits)

    def absorb(self, no: int, schedule: Schedule | None) -> None:
        """The schedule as it is now; None: it is gone."""
        self.forget(no)
        if schedule is not None and schedule.queued_start is not None:
            self.note(Awaiting(schedule.last_run_no or 0, no))

    def note(self, found: Awaiting) -> None:
        """It waits for that run."""
        self.forget(found.schedule_no)
        self.awaits[found.schedule_no] = found.run_no
        self._waiting.setdefault(found.run_no, {})[found.schedule_no] = None

    def forget(self, no: int) -> None:
        """It waits for nothing."""
        run_no = self.awaits.pop(no, None)
        if run_no is not None:
            waiting = self._waiting[run_no]
            del waiting[no]
            if not waiting:
                del self._waiting[run_no]

    def release(self, ended: Iterable[int]) -> list[int]:
        """The schedules that waited for these runs, and do not any more."""
        released = [no for run_no in ended for no in self._waiting.get(run_no, ())]
        for no in released:
            self.forget(no)
        return released

    def clear(self) -> None:
        """Nothing is known any more."""
        self.awaits.clear()
        self._waiting.clear()
