"""What an answer says beyond yes or no, and refusals of requests about runs, tenants, schedules."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from assay.core.claim import is_expiry
from assay.errors import Conflict, NonDeterminism, NotFound, Refusal
from assay.model.operations import (
    AddActivity,
    Added,
    Continued,
    ContinueRun,
    CreateNamespace,
    CreateSchedule,
    DeleteNamespace,
    DeleteRun,
    DeleteSchedule,
    Operation,
    Outcome,
    PatchSchedule,
    PauseSchedule,
    Planned,
    RegisterWorker,
    ResumeSchedule,
    Start,
    Started,
)
from assay.model.schedule import Schedule
from tests.faults.simulation.row_types import ActivityRow, RunRow
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.schedule import SECOND
from tests.faults.simulation.trace import Broken


class Sight(NamedTuple):
    """What an operation is about, as it stood when the operation arrived."""

    run: RunRow | None = None
    activity: ActivityRow | None = None
    schedule: Schedule | None = None
    held_back: tuple[RunRow, ...] = ()
    namespaces: frozenset[str] = frozenset()
    resumed: int = 0
    rare_changes: int = 0
    kept_on: int = 0


class Answers:
    """Compares what is answered with the rows."""

    def __init__(self, rows: Rows, clock: Callable[[], int]) -> None:
        self._rows = rows
        self._clock = clock
        self.starts: dict[str, int] = {}
        self._resumed: Counter[tuple[str, str]] = Counter()
        self._added: dict[tuple[int, int], int] = {}

    def sight(self, operation: Operation) -> Sight:
        """What the operation is about, as it stands now."""
        rows = self._rows
        sight = Sight(namespaces=rows.namespaces, rare_changes=rows.rare_changes)
        match operation:
            case CreateSchedule() | PatchSchedule() | PauseSchedule() | DeleteSchedule():
                return self._sight_of_schedule(sight, operation.namespace, operation.name)
            case ResumeSchedule(namespace=namespace, name=name):
                self._resumed[namespace, name] += 1
                return self._sight_of_schedule(sight, namespace, name)
            case RegisterWorker(worker=worker):
                held = [run for run in rows.runs.values() if run.queue == worker.queue]
                held = [run for run in held if run.namespace == worker.namespace]
                return sight._replace(held_back=tuple(run for run in held if is_held_back(run)))
        workflow_id, no = getattr(operation, "id", None), getattr(operation, "no", None)
        run = None if workflow_id is None else rows.run(workflow_id)
        activity = None if no is None else rows.activities.get(no)
        return sight._replace(run=run, activity=activity)

    def _sight_of_schedule(self, sight: Sight, namespace: str, name: str) -> Sight:
        schedule, resumed = self._rows.schedule(namespace, name), self._resumed[namespace, name]
        return sight._replace(schedule=schedule, resumed=resumed)

    # -- what was done ---------------------------------------------------------------------------

    def check_done(self, operation: Operation, outcome: Outcome, before: Sight) -> None:
        """An engine says that it is done."""
        rows = self._rows
        match operation, outcome:
            case Start(), Started():
                self._started(operation, outcome)
            case ContinueRun(), Continued():
                self._note_start(outcome.run.id, outcome.run.no)
            case DeleteRun(), _ if before.run is not None and before.run.no not in rows.graves:
                raise Broken(f"deleted, but there: {before.run}")
            case AddActivity(), Added():
                self._added_activity(operation, outcome)
            case DeleteSchedule(), _ if before.schedule and before.schedule.no in rows.schedules:
                raise Broken(f"deleted, but there: {before.schedule}")
            case PauseSchedule(), Planned():
                row = rows.schedules.get(outcome.schedule.no)
                resumed = self._resumed[operation.namespace, operation.name] != before.resumed
                if not outcome.schedule.paused or (row and not row.paused and not resumed):
                    raise Broken(f"paused, but not for long: {row}")
            case RegisterWorker(), _:
                self._registered(operation, before)

    def _started(self, operation: Start, outcome: Started) -> None:
        run = self._rows.even_if_gone(outcome.run.no)
        if run is None or operation.id not in (None, outcome.run.id):
            raise Broken(f"{operation} was answered with {outcome}")
        if outcome.existing:
            if not operation.use_existing or run.type != operation.type:
                raise Broken(f"{operation} was answered with {run}")
            if run.namespace != operation.namespace:
                raise Broken(f"{operation} was answered with {run}")
        self._note_start(outcome.run.id, outcome.run.no)

    def _note_start(self, workflow_id: str, no: int) -> None:
        known = self.starts.get(workflow_id, no)
        if known != no and known not in self._rows.graves and no not in self._rows.graves:
            raise Broken(f"{workflow_id} was started twice: {known} and {no}")
        self.starts[workflow_id] = no

    def _added_activity(self, operation: AddActivity, outcome: Added) -> None:
        activity = outcome.activity
        if (activity.name, activity.seq) != (operation.activity.name, operation.activity.seq):
            raise Broken(f"{operation} was answered with {activity}")
        known = self._added.setdefault((activity.run_no, activity.seq), activity.no)
        if known != activity.no and known in self._rows.activities:
            raise Broken(f"added twice: {known} and {activity}")

    def _registered(self, operation: RegisterWorker, before: Sight) -> None:
        soon = self._clock() + SECOND
        for run in before.held_back:
            if self._rows.runs.get(run.no) == run and (run.ready_at or 0) > soon:
                raise Broken(f"{operation} did not set going what was held back: {run}")

    # -- what was refused ------------------------------------------------------------------------

    def check_refused(
        self, operation: Operation, refusal: Refusal, before: Sight, now: Sight
    ) -> None:
        """An engine says no; there must be a ground now, or have been one when it was asked."""
        if before.run is not None and before.run == now.run:
            groundless = _is_groundless(operation, refusal, before.run)
        elif before.rare_changes == now.rare_changes:
            absent = before.run is None and now.run is None
            groundless = _is_groundless_there(operation, before, absent=absent)
        else:
            groundless = False
        if groundless:
            raise Broken(f"{operation} was refused without a ground: {refusal}")


def _is_groundless(operation: Operation, refusal: Refusal, run: RunRow) -> bool:
    """Whether a request about this run, which has not changed since, should have been done."""
    match operation:
        case DeleteRun():
            return isinstance(refusal, NotFound) or not run.is_open
        case AddActivity():
            return run.is_open and not isinstance(refusal, NonDeterminism)
        case ContinueRun():
            return not isinstance(refusal, Conflict)
        case _:
            return False


def _is_groundless_there(  # noqa: PLR0911 - one line per operation
    operation: Operation, sight: Sight, *, absent: bool
) -> bool:
    """Whether a request about what comes and goes rarely should have been done."""
    match operation:
        case Start(namespace=namespace):
            return absent and namespace in sight.namespaces
        case RegisterWorker(worker=worker):
            return worker.namespace in sight.namespaces
        case CreateNamespace(name=name):
            return name not in sight.namespaces
        case DeleteNamespace(name=name):
            return name in sight.namespaces
        case CreateSchedule(namespace=namespace):
            return sight.schedule is None and namespace in sight.namespaces
        case PatchSchedule() | PauseSchedule() | ResumeSchedule() | DeleteSchedule():
            return sight.schedule is not None
        case _:
            return False


def is_held_back(run: RunRow) -> bool:
    """Blocked by what a batch held, and not in anybody's hands."""
    blocked = run.blocked is not None and not is_expiry(run.blocked)
    return blocked and run.claim_until is None and run.is_open and run.ready_at is not None
