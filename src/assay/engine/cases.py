"""Open runs kept at hand with their live activities and open timers.

A case is complete: an activity or timer that is not in it is not live. What is over is asked for
when somebody needs it, and kept for the batch only.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Generic

from assay.core.view import Key, Missing, Need, Row
from assay.engine.limits import CACHED_RUNS
from assay.model.activity import Activity
from assay.model.decision import Change, Decision
from assay.model.run import Run
from assay.model.timer import Timer


class Case:
    """One run and what is not over of it."""

    __slots__ = ("activities", "run", "timers")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.activities: dict[int, Activity] = {}
        self.timers: dict[int, Timer] = {}


class Cases:
    """Cases by number, and the ways to find them."""

    def __init__(self) -> None:
        self.by_no: dict[int, Case] = {}
        self.no_of_id: dict[str, int] = {}
        self.activities: dict[int, Activity] = {}
        self.timers: dict[int, Timer] = {}

    def keep(self, run: Run, activities: Iterable[Activity], timers: Iterable[Timer]) -> None:
        """A case as it was loaded; it replaces what was known, of another run of that id too."""
        self.forget(run.no)
        self.forget(self.no_of_id.get(run.id, run.no))
        case = Case(run)
        self.by_no[run.no] = case
        self.no_of_id[run.id] = run.no
        for activity in activities:
            case.activities[activity.seq] = activity
            self.activities[activity.no] = activity
        for timer in timers:
            case.timers[timer.seq] = timer
            self.timers[timer.no] = timer

    def forget(self, run_no: int) -> None:
        """The case is no longer known."""
        case = self.by_no.pop(run_no, None)
        if case is None:
            return
        self.no_of_id.pop(case.run.id, None)
        for activity in case.activities.values():
            self.activities.pop(activity.no, None)
        for timer in case.timers.values():
            self.timers.pop(timer.no, None)

    def absorb(self, decision: Decision) -> None:
        """What was committed is what is known. Runs that ended are no longer kept."""
        for run_change in decision.runs:
            run = run_change.after
            if run is None:
                if run_change.before is not None:
                    self.forget(run_change.before.no)
                continue
            case = self.by_no.get(run.no)
            if case is not None:
                case.run = run
            elif run_change.before is None:
                self.forget(self.no_of_id.get(run.id, run.no))
                self.by_no[run.no] = Case(run)
                self.no_of_id[run.id] = run.no
        for activity_change in decision.activities:
            self._absorb_activity(activity_change)
        for timer_change in decision.timers:
            self._absorb_timer(timer_change)
        for run_change in decision.runs:
            run = run_change.after
            if run is not None and not run.is_open:
                self.forget(run.no)

    def tidy(self, loaded: Iterable[int]) -> None:
        """After a batch: runs that had ended were loaded for it alone, and the bound holds."""
        for no in loaded:
            case = self.by_no.get(no)
            if case is not None and not case.run.is_open:
                self.forget(no)
        self._shrink()

    def clear(self) -> None:
        """Nothing is known any more."""
        self.by_no.clear()
        self.no_of_id.clear()
        self.activities.clear()
        self.timers.clear()

    def _absorb_activity(self, change: Change[Activity]) -> None:
        row = change.after or change.before
        if row is None or (case := self.by_no.get(row.run_no)) is None:
            return
        if change.after is not None and change.after.is_live:
            case.activities[row.seq] = change.after
            self.activities[row.no] = change.after
        else:
            case.activities.pop(row.seq, None)
            self.activities.pop(row.no, None)

    def _absorb_timer(self, change: Change[Timer]) -> None:
        row = change.after or change.before
        if row is None or (case := self.by_no.get(row.run_no)) is None:
            return
        if change.after is not None and change.after.is_live:
            case.timers[row.seq] = change.after
            self.timers[row.no] = change.after
        else:
            case.timers.pop(row.seq, None)
            self.timers.pop(row.no, None)

    def _shrink(self) -> None:
        excess = len(self.by_no) - CACHED_RUNS
        if excess > 0:
            for no in list(islice(self.by_no, excess + CACHED_RUNS // 10)):
                self.forget(no)


class CaseShelf(Generic[Row]):
    """Activities (or timers) as a batch sees them: those of cases, and those loaded beside them."""

    def __init__(
        self,
        cases: Cases,
        touched: set[int],
        numbered: dict[int, Row],
        *,
        part: Callable[[Case], dict[int, Row]],
        by_no: Need,
        by_seq: Need,
    ) -> None:
        self._cases = cases
        self._numbered: dict[int, Row] = numbered
        self._part: Callable[[Case], dict[int, Row]] = part
        self._by_no = by_no
        self._by_seq = by_seq
        self._touched = touched
        self.loaded: dict[int, Row | None] = {}
        self.loaded_at: dict[tuple[int, int], Row | None] = {}

    def get(self, no: int) -> Row | None:
        """The row of that number."""
        row = self._numbered.get(no)
        if row is not None:
            self._touched.add(row.run_no)
            return row
        if no in self.loaded:
            return self.loaded[no]
        raise Missing(Key(self._by_no, no))

    def at(self, run_no: int, seq: int) -> Row | None:
        """The row of that seq."""
        row = self._rows(run_no).get(seq)
        if row is not None:
            return row
        if (run_no, seq) in self.loaded_at:
            return self.loaded_at[(run_no, seq)]
        raise Missing(Key(self._by_seq, run_no, seq))

    def live(self, run_no: int) -> Iterable[Row]:
        """All rows of a run that are not over."""
        return self._rows(run_no).values()

    def _rows(self, run_no: int) -> dict[int, Row]:
        case = self._cases.by_no.get(run_no)
        if case is None:
            raise Missing(Key(Need.RUN, run_no))
        self._touched.add(run_no)
        return self._part(case)
