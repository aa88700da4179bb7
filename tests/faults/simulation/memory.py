"""What an engine remembers of the store, held against the rows.

A shared engine's cases are guesses; they must be right as long as nobody else wrote to the run. An
exclusive engine's memory is the truth: cases, whole windows and deadlines equal the rows.
"""

from assay.core.due import run_due_at
from assay.core.view import Key, Need
from assay.engine.engine import Engine
from assay.engine.limits import HORIZON, RETRY_DUE_AFTER
from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.operations import DueKind
from assay.model.timer import Timer
from assay.store.port import Loaded, Look
from assay.store.sqlite.store import SqliteStore
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.schedule import SECOND
from tests.faults.simulation.trace import Broken

EVERYTHING = 1 << 40
CHECKS_PER_FULL_ONE = 8
"""In between only the cases are compared that the engine has read or written since."""
LATEST = 3 * SECOND
"""A lost hint means late, never wrong: and no later than this."""


class Memory:
    """Which writes to each run an engine has seen."""

    def __init__(self, engine: Engine, store: SqliteStore, rows: Rows, *, exclusive: bool) -> None:
        self._engine = engine
        self._exclusive = exclusive
        self._store = store
        self._rows = rows
        self._seen: dict[int, int] = {}
        self._recent: set[int] = set()
        self._checks = 0
        self.swept_until = 0
        self._waiting: dict[tuple[Look, int, int, int], int] = {}

    def read(self, loaded: Loaded) -> dict[int, int]:
        """Rows are read now; they reach the engine later, by `loaded`."""
        return {run.no: self._rows.writes.get(run.no, 0) for run in loaded.runs}

    def loaded(self, seen: dict[int, int]) -> None:
        """What was read has reached the engine."""
        self._seen.update(seen)
        self._recent.update(seen)

    def wrote(self, decision: Decision) -> None:
        """The engine's own commit: who was up to date before it still is."""
        new = {
            change.after.no for change in decision.runs if change.before is None and change.after
        }
        for no in self._rows.touched(decision):
            writes = self._rows.writes[no]
            self._recent.add(no)
            if no in new or self._seen.get(no) == writes - 1:
                self._seen[no] = writes

    def check(self) -> None:
        """Compare; only while the engine has no batch in hand and has not lost its memory."""
        self._checks += 1
        if self._checks % CHECKS_PER_FULL_ONE == 0:
            self._recent.update(self._engine.index.cases.by_no)
        self._check_cases(self._recent)
        self._recent = set()
        if self._exclusive and not self._engine.amnesia:
            self._check_windows()
            self._check_deadlines()

    def check_waiting(self, now: int, clock: int) -> None:
        """Nobody waits for a task that is there; looked at once in each sweep of a sound engine."""
        waiting: dict[tuple[Look, int, int, int], int] = {}
        for look in self._engine.wants.looks():
            want = self._engine.wants.first(look)
            for task in self._store.ready_now([look], EVERYTHING)[0] if want else ():
                if want is not None and task.ready_at <= clock:
                    key = (look, task.no, task.ready_at, want.order)
                    waiting[key] = self._waiting.get(key, now)
                    if now - waiting[key] > LATEST:
                        raise Broken(f"{want.worker_id} waits for {look}, overlooked is {task}")
        self._waiting = waiting

    def excuse(self) -> None:
        """Something went wrong: those who wait may wait longer."""
        self._waiting.clear()

    # -- cases -----------------------------------------------------------------------------------

    def _check_cases(self, nos: set[int]) -> None:
        cases, writes = self._engine.index.cases, self._rows.writes
        known = sorted(nos & cases.by_no.keys())
        fresh = [no for no in known if self._seen.get(no) == writes.get(no)]
        if self._exclusive and fresh != known:
            raise Broken("an exclusive engine keeps a case it has not seen all writes of")
        rows = self._store.load_now([Key(Need.RUN, no) for no in fresh])
        activities = by_run(rows.activities)
        timers = by_run(rows.timers)
        for run in rows.runs:
            case = cases.by_no[run.no]
            compare(f"run {run.id}", case.run, run)
            if run.is_open:
                kept = {activity.no: activity for activity in case.activities.values()}
                compare(f"activities of {run.id}", kept, activities.get(run.no, {}))
                kept_timers = {timer.no: timer for timer in case.timers.values()}
                compare(f"timers of {run.id}", kept_timers, timers.get(run.no, {}))
        parts = sum(len(case.activities) for case in cases.by_no.values())
        compare("the number of activities at hand", len(cases.activities), parts)
        parts = sum(len(case.timers) for case in cases.by_no.values())
        compare("the number of timers at hand", len(cases.timers), parts)
        compare("the number of ids at hand", len(cases.no_of_id), len(cases.by_no))

    # -- windows and deadlines -------------------------------------------------------------------

    def _check_windows(self) -> None:
        for look, window in self._engine.index.windows.by_look.items():
            if window.whole:
                found = self._store.ready_now([look], EVERYTHING)[0]
                ready = {task.no: task.ready_at for task in found}
                compare(f"the window on {look}", window.tasks, ready)

    def _check_deadlines(self) -> None:
        at = self._engine.index.deadlines.at
        claims = self._store.claims_now()
        due = {(row.kind, row.no): row.at for row in claims}
        for row in claims:
            if row.kind is DueKind.RUN:
                run = self._store.load_now([Key(Need.RUN, row.no)]).runs[0]
                due[(row.kind, row.no)] = run_due_at(run) or 0
        clock = self._engine.advance(0)
        far = max(self.swept_until, clock + HORIZON)
        near = {(row.kind, row.no): row.at for row in self._store.deadlines_now(far)}
        must = {no: moment for no, moment in near.items() if moment <= self.swept_until}
        for row_no, moment in {**due, **must}.items():
            known = at.get(row_no)
            late = known is not None and moment <= clock and known <= clock + RETRY_DUE_AFTER
            if known != moment and not late:
                raise Broken(f"{row_no} is due at {moment}, remembered for {known}")
        for row_no in at:
            if row_no not in due and row_no not in near:
                raise Broken(f"{row_no} is remembered for {at[row_no]}, but is not due")


def by_run(rows: list[Activity] | list[Timer]) -> dict[int, dict[int, Activity | Timer]]:
    """What is live, by run and number."""
    found: dict[int, dict[int, Activity | Timer]] = {}
    for row in rows:
        if row.is_live:
            found.setdefault(row.run_no, {})[row.no] = row
    return found


def compare(what: str, remembered: object, stored: object) -> None:
    """They are equal, or the story ends here."""
    if remembered != stored:
        raise Broken(f"{what}: remembered {remembered}, stored {stored}")
