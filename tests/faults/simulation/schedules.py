"""Schedules: what each commit may start, and how instants move on.

A commit may hold requests and then what came due; so what was so before and still is after it was
so when the schedule fired. Expressions of this world name seconds only: their instants are counted
here without the engine's own calendar.
"""

from assay.model.schedule import OverlapPolicy, Schedule
from tests.faults.simulation.row_types import RunRow
from tests.faults.simulation.rows import Rows, Step
from tests.faults.simulation.schedule import SECOND
from tests.faults.simulation.trace import Broken

ALWAYS = (OverlapPolicy.CANCEL_OLD, OverlapPolicy.ALLOW_ALL)
PUT_OFF = "start that was put off"
STEADY = ("no", "namespace", "name", "created_at")


class Schedules:
    """Looks at each commit that touched a schedule or began a run for one."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._fired: dict[tuple[int, int], str] = {}
        self._last: dict[int, int] = {}
        self._since: dict[str, int] = {}

    def check(self, step: Step) -> None:
        """After a commit."""
        for namespace in self._rows.namespaces - step.namespaces:
            self._since[namespace] = step.decision.at
        born = [self._rows.runs[no] for no, old in step.runs.items() if old is None]
        started = [run for run in born if run.is_scheduled]
        for no, before in step.schedules.items():
            after = self._rows.schedules.get(no)
            mine = [run for run in started if before and _belongs(run, before)]
            started = [run for run in started if run not in mine]
            if before is None:
                _check_new(step, after)
            elif after is None:
                _check(not mine, f"{before} was deleted and started {mine}")
            else:
                self._moved(step, before, after, mine)
        _check(not started, f"no schedule started {started}")

    def _moved(self, step: Step, before: Schedule, after: Schedule, born: list[RunRow]) -> None:
        at, what = step.decision.at, f"{before} became {after} and started {born}"
        _check(after.ver == before.ver + 1, what)
        _check(all(getattr(before, name) == getattr(after, name) for name in STEADY), what)
        _check(not (after.paused and after.queued_start), what)
        _check_next(at, before, after, what)
        fired = before.next_run_at is not None and after.last_run_at == before.next_run_at
        _check(fired or after.last_run_at == before.last_run_at, what)
        if fired or born:
            _check(not (before.paused or after.paused), what)
            _check(before.namespace in self._rows.namespaces, what)
        if fired:
            _check((before.next_run_at or 0) <= at, what)
        for run in born:
            self._started(before, run, what)
        self._overlap(step, before, after, born, fired=fired)
        last = born[-1] if born else None
        _check(after.last_workflow_id == (last.id if last else before.last_workflow_id), what)
        if last is not None:
            self._last[before.no] = last.no

    def _started(self, before: Schedule, run: RunRow, what: str) -> None:
        """One run for each instant, of those that were due or waited."""
        instant = _instant(run, before)
        _check(instant * SECOND in (before.next_run_at, before.queued_start), what)
        earlier = self._fired.setdefault((before.no, instant), run.id)
        _check(earlier == run.id, f"{earlier} too: {what}")

    def _overlap(
        self, step: Step, before: Schedule, after: Schedule, born: list[RunRow], *, fired: bool
    ) -> None:
        what = f"{before} became {after} and started {born}"
        if self._is_cut(before):
            return
        was = self._was_open(step, before)
        still = was and was == self._is_open(before)
        due = [run for run in born if _instant(run, before) * SECOND == before.next_run_at]
        made = [run for run in born if run not in due]
        if made:
            _check(not still and before.queued_start is not None, what)
            _check(after.queued_start in (None, before.next_run_at), what)
        if not fired:
            _check(not due, what)
        elif after.overlap in ALWAYS or not (was or made):
            _check(len(due) == 1, what)
        elif still and not made:
            _check(not due, what)
        if fired and still and not made:
            self._busy(before, after, was)

    def _busy(self, before: Schedule, after: Schedule, previous: int) -> None:
        """It came due while its last run was going on, before the commit and after it."""
        what = f"{before} became {after} beside {self._rows.runs[previous]}"
        waiting = before.queued_start
        if after.overlap is OverlapPolicy.QUEUE and waiting is None:
            waiting = before.next_run_at
        _check(after.queued_start == waiting, what)
        if after.overlap is OverlapPolicy.CANCEL_OLD:
            _check(self._rows.runs[previous].cancel_seq is not None, what)

    def _is_cut(self, schedule: Schedule) -> bool:
        """A link of the chain is gone that led on: whether it still goes on is anybody's guess."""
        run = self._rows.even_if_gone(self._last.get(schedule.no, 0))
        while run is not None and run.successor_no is not None:
            if run.no in self._rows.graves:
                return True
            run = self._rows.even_if_gone(run.successor_no)
        return False

    def _was_open(self, step: Step, schedule: Schedule) -> int:
        """The end of the chain from its last run, if that was open before the commit."""
        no = self._last.get(schedule.no)
        run = None if no is None else step.runs.get(no, self._rows.runs.get(no))
        while run is not None and run.successor_no is not None:
            run = step.runs.get(run.successor_no, self._rows.runs.get(run.successor_no))
        return run.no if run is not None and run.is_open else 0

    def _is_open(self, schedule: Schedule) -> int:
        """The same after the commit."""
        run = self._rows.last_link(self._last.get(schedule.no, 0))
        return run.no if run is not None and run.is_open else 0

    # -- what is late ----------------------------------------------------------------------------

    def overdue(self, clock: int) -> dict[tuple[str, int], int]:
        """What should have been done by now, and since when."""
        found: dict[tuple[str, int], int] = {}
        for schedule in self._rows.schedules.values():
            if schedule.paused or schedule.namespace not in self._rows.namespaces:
                continue
            since, at = self._since.get(schedule.namespace, 0), schedule.next_run_at
            if at is not None and at <= clock:
                found[f"firing of {schedule.name}", schedule.no] = max(at, since)
            waits = schedule.queued_start is not None and not self._is_cut(schedule)
            if waits and not self._is_open(schedule):
                last = self._rows.last_link(self._last.get(schedule.no, 0))
                ended = None if last is None else last.completed_at
                what = PUT_OFF if ended is None or ended > since else "start after a return"
                found[f"{what} by {schedule.name}", schedule.no] = max(ended or clock, since)
        return found


def _check_new(step: Step, schedule: Schedule | None) -> None:
    if schedule is not None:
        clean = schedule.last_run_at is schedule.last_run_no is schedule.queued_start is None
        _check(clean and schedule.ver == 0 and not schedule.paused, f"new: {schedule}")
        _check(schedule.next_run_at == next_second(schedule.cron, step.decision.at), str(schedule))


def _check_next(at: int, before: Schedule, after: Schedule, what: str) -> None:
    """The next instant after now, and after the last one that was fired."""
    _check((after.next_run_at or 0) > (after.last_run_at or -1), what)
    if after.next_run_at == before.next_run_at and after.cron == before.cron:
        return
    latest = max(at, after.last_run_at or 0)
    _check(after.next_run_at == next_second(after.cron, latest), f"at {at}: {what}")


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(f"a schedule: {what}")


def _belongs(run: RunRow, schedule: Schedule) -> bool:
    return run.namespace == schedule.namespace and run.id.startswith(f"{schedule.name}-")


def _instant(run: RunRow, schedule: Schedule) -> int:
    return int(run.id.removeprefix(f"{schedule.name}-").split("-")[0])


def next_second(cron: str, after: int) -> int | None:
    """The next instant of an expression that names nothing but seconds."""
    seconds = seconds_of(cron.split(" ", maxsplit=1)[0])
    at = after // SECOND + 1
    while at % 60 not in seconds:
        at += 1
    return at * SECOND


def seconds_of(field: str) -> set[int]:
    """The seconds of a minute that a field names: a list, or a step."""
    if field.startswith("*/"):
        return set(range(0, 60, int(field[2:])))
    return set(map(int, field.split(",")))
