"""What an engine remembers of the store, held against the rows.

A shared engine's cases are guesses; they must be right as long as nobody else wrote to the run. An
exclusive engine's memory is the truth: cases, whole windows and deadlines equal the rows.
"""

from collections.abc import Iterable

from assay.core.claim import KEPT_FOR
from assay.core.due import run_due_at
from assay.core.fire_schedule import schedule_due_at
from assay.core.view import Key, Need
from assay.engine.engine import Engine
from assay.engine.limits import HORIZON, RETRY_DUE_AFTER
from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.operations import DueKind
from assay.model.timer import Timer
from assay.store.port import Loaded, Look, Ready
from assay.store.sqlite.store import SqliteStore
from tests.faults.simulation.promptness import Promptness
from tests.faults.simulation.row_types import RunRow
from tests.faults.simulation.rows import Rows
from tests.faults.simulation.schedule import SECOND
from tests.faults.simulation.trace import Broken

EVERYTHING = 1 << 40
CHECKS_PER_FULL_ONE = 8
"""In between only the cases are compared that the engine has read or written since."""
RESTS_PER_CHECK = 3
LATEST = 3 * SECOND
"""A lost hint means late, never wrong: and no later than this."""


class Memory:
    """Which writes to each run an engine has seen."""

    def __init__(
        self,
        engine: Engine,
        store: SqliteStore,
        rows: Rows,
        promptness: Promptness,
        *,
        exclusive: bool,
    ) -> None:
        self._engine = engine
        self._promptness = promptness
        self._exclusive = exclusive
        self._store = store
        self._rows = rows
        self._seen: dict[int, int] = {}
        self._recent: set[int] = set()
        self._checks = 0
        self._rests = 0
        self.swept_until = 0
        self._swept_namespaces: frozenset[str] = frozenset()
        self._waiting: dict[tuple[Look, int, int, int], int] = {}
        self._unread: set[int] = set()
        """Kept runs whose news are older than what the engine knows, until it writes their rows."""

    def swept(self, until: int) -> None:
        """The engine has just read what is due up to then."""
        self.swept_until, self._swept_namespaces = until, self._rows.namespaces

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
        rows = [change.after or change.before for change in decision.runs]
        self._unread -= {run.no for run in rows if run is not None}
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
            self._check_kept()
            self._check_deadlines()
            self._check_starts()

    def check_waiting(self, now: int, clock: int) -> None:
        """Nobody waits for a task that is there; looked at once in each sweep of a sound engine."""
        self._promptness.check(now, clock)
        waiting: dict[tuple[Look, int, int, int], int] = {}
        for look in self._engine.wants.looks():
            want = self._engine.wants.first(look)
            for task in self._store.ready_now([look], EVERYTHING)[0] if want else ():
                if want is not None and is_open(task, clock):
                    key = (look, task.no, task.ready_at, want.order)
                    waiting[key] = self._waiting.get(key, now)
                    if now - waiting[key] > LATEST:
                        raise Broken(f"{want.worker_id} waits for {look}, overlooked is {task}")
        for want in self._engine.wants.keepers.values():
            for run in self._kept_by(want.worker_id):
                served = want.room > 0 or run.claim_until is not None
                if served and (run.ready_at or 0) <= clock:
                    key = (want.look, run.no, run.ready_at or 0, 0)
                    waiting[key] = self._waiting.get(key, now)
                    if now - waiting[key] > LATEST:
                        raise Broken(f"{want.worker_id} keeps {run}, and hears no news of it")
        self._waiting = waiting

    def check_rest(self) -> None:
        """An engine that rests, alone on its store, leaves nobody waiting for what is there now."""
        self._rests += 1
        if not self._exclusive or self._engine.amnesia or self._rests % RESTS_PER_CHECK:
            return
        wants, now = self._engine.wants, self._engine.advance(0)
        for look in wants.looks():
            want = wants.first(look)
            for task in self._store.ready_now([look], EVERYTHING)[0] if want else ():
                if is_open(task, now):
                    raise Broken(f"the engine rests, and {task} is there for who waits on {look}")
        for want in wants.keepers.values():
            for run in self._kept_by(want.worker_id):
                served = want.room > 0 or run.claim_until is not None
                if served and (run.ready_at or 0) <= now and run.no not in self._unread:
                    raise Broken(f"the engine rests, and {run} is there for {want.worker_id}")

    def watching(self, worker_id: str) -> None:
        """From now on an engine tells apart what a worker keeps; what is there it has not read."""
        if not self._engine.index.kept.is_watched(worker_id):
            self._note_unread(self._kept_by(worker_id))

    def forgot(self) -> None:
        """The engine has forgotten everything."""
        self._note_unread(run for run in self._rows.runs.values() if run.kept_token is not None)

    def excuse(self, now: int) -> None:
        """Something went wrong: those who wait may wait longer, and what is due may be late."""
        self._waiting.clear()
        self._promptness.excuse(now)

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

    def _kept_by(self, worker_id: str) -> list[RunRow]:
        """Those with news."""
        runs = (run for run in self._rows.runs.values() if run.kept_token is not None)
        return [run for run in runs if run.claimed_by == worker_id and run.ready_at is not None]

    def _note_unread(self, runs: Iterable[RunRow]) -> None:
        self._unread.update(run.no for run in runs)

    # -- windows and deadlines -------------------------------------------------------------------

    def _check_windows(self) -> None:
        for look, window in self._engine.index.windows.by_look.items():
            if window.whole:
                found = self._store.ready_now([look], EVERYTHING)[0]
                ready = {task.no: opens_at(task) for task in found if not task.held}
                compare(f"the window on {look}", window.tasks, ready)

    def _check_kept(self) -> None:
        """What workers keep that exchange here; what had news before they came may be unknown."""
        kept = self._engine.index.kept
        known = {**dict.fromkeys(kept._waiting), **dict.fromkeys(kept._held)}
        for worker_id in known:
            runs = self._kept_by(worker_id)
            for held, found in ((False, kept.of(worker_id)), (True, kept.held_by(worker_id))):
                stored = {
                    run.no: run.ready_at
                    for run in runs
                    if (run.claim_until is not None) is held
                    and (run.no not in self._unread or run.no in found)
                }
                compare(f"what {worker_id} keeps ({held})", found, stored)

    def _check_deadlines(self) -> None:
        """What is remembered is true; claims, and what the sweep has read, are remembered."""
        at, clock = self._engine.index.deadlines.at, self._engine.advance(0)
        claims = [(row.kind, row.no) for row in self._store.claims_now()]
        expected = self._expected(max(self.swept_until, clock + HORIZON))
        for row, moments in expected.items():
            known, moment = at.get(row), moments[0]
            if known is None and moment is not None:
                if row in claims or moment <= self.swept_until:
                    raise Broken(f"{row} is due at {moment}, and forgotten")
            if known is not None and known not in moments:
                due = any(at is not None and at <= clock for at in moments)
                if not due or known > clock + RETRY_DUE_AFTER:
                    raise Broken(f"{row} is due at {moments}, remembered for {known}")
        for row, moment in at.items():
            if row not in expected:
                raise Broken(f"{row} is remembered for {moment}, but is not due")

    def _check_starts(self) -> None:
        """Of what waits for a run that goes on all is remembered, and nothing else for long."""
        known = self._engine.index.starts.awaits
        waiting = {
            schedule.no: schedule.last_run_no
            for schedule in self._rows.schedules.values()
            if schedule.queued_start is not None and not schedule.paused
        }
        for no, run_no in waiting.items():
            run = self._rows.runs.get(run_no or 0)
            if run is not None and run.is_open and no not in known:
                raise Broken(f"schedule {no} waits for {run.id}, and that is forgotten")
        for no, run_no in known.items():
            compare(f"what schedule {no} waits for", run_no, waiting.get(no))

    def _expected(self, until: int) -> dict[tuple[DueKind, int], tuple[int | None, ...]]:
        """When each row is due; then for what else it may be remembered."""
        found = [*self._store.claims_now(), *self._store.deadlines_now(until)]
        expected: dict[tuple[DueKind, int], tuple[int | None, ...]] = {
            (row.kind, row.no): (row.at,) for row in found
        }
        nos = [no for kind, no in expected if kind is DueKind.RUN]
        for run in self._store.load_now([Key(Need.RUN, no) for no in nos]).runs:
            # A time-out that is far away is left to the sweep; the lease is looked after till then.
            at = run_due_at(run)
            later = run.claim_until if (at or 0) > self.swept_until else at
            expected[DueKind.RUN, run.no] = (at, later)
        for schedule in self._rows.schedules.values():
            # A start that waits is found by the sweep only, and so is a namespace that is back;
            # where it has gone, nothing comes of what is remembered.
            if not schedule.paused:
                moments: tuple[int | None, ...]
                moments = (schedule_due_at(schedule), schedule.queued_start)
                gone = schedule.namespace not in self._rows.namespaces & self._swept_namespaces
                if gone or (moments[0] or 0) > self.swept_until:
                    moments = (None, *moments)
                expected[DueKind.SCHEDULE, schedule.no] = moments
        return expected


def opens_at(task: Ready) -> int:
    """From when on anybody may have it."""
    return task.ready_at + (0 if task.keeper is None else KEPT_FOR)


def is_open(task: Ready, now: int) -> bool:
    """Whether anybody may have it then."""
    return not task.held and opens_at(task) <= now


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
