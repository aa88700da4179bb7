"""The rows as they were after the newest commit; each commit is compared with them (`moves.py`)."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw
import msgspec

from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.schedule import Schedule
from assay.model.states import TimerState
from assay.model.task import TaskKind
from assay.store.rows import SCHEDULE_COLUMNS, schedule_of
from tests.faults.simulation.invariants import check_rows
from tests.faults.simulation.moves import (
    Excuses,
    check_activity,
    check_birth,
    check_run,
    check_timer,
)
from tests.faults.simulation.row_types import ActivityRow, Grave, RunRow, TimerRow
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event


class Step(NamedTuple):
    """What a commit was, and the runs and schedules it touched as they were before (None: new)."""

    decision: Decision
    runs: dict[int, RunRow | None]
    schedules: dict[int, Schedule | None]
    namespaces: frozenset[str]


class Rows:
    """A copy of what is compared, and all that was deleted."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.runs: dict[int, RunRow] = {}
        self.activities: dict[int, ActivityRow] = {}
        self.timers: dict[int, TimerRow] = {}
        self.schedules: dict[int, Schedule] = {}
        self.namespaces: frozenset[str] = frozenset({"main"})
        self.graves: dict[int, Grave] = {}
        self.rare_changes = 0
        self.run_nos: dict[str, int] = {}
        self.writes: dict[int, int] = {}
        self.released: set[int] = set()
        self.reported_bare: set[tuple[TaskKind, int]] = set()

    def run(self, workflow_id: str) -> RunRow | None:
        """The run of that id."""
        no = self.run_nos.get(workflow_id)
        return None if no is None else self.runs[no]

    def even_if_gone(self, no: int) -> RunRow | None:
        """The run of that number, or what it was when it was deleted."""
        grave = self.graves.get(no)
        return self.runs.get(no) if grave is None else grave.run

    def last_link(self, no: int) -> RunRow | None:
        """The end of the chain of successors from a run; None if a link of it is gone."""
        run = self.runs.get(no)
        while run is not None and run.successor_no is not None:
            run = self.runs.get(run.successor_no)
        return run

    def schedule(self, namespace: str, name: str) -> Schedule | None:
        """The schedule of that name."""
        found = (row for row in self.schedules.values() if row.name == name)
        return next((row for row in found if row.namespace == namespace), None)

    def history(self, run_no: int) -> list[Event]:
        """What a worker gets to see of a run."""
        found = self.connection.execute(HISTORY, (run_no,))
        return [Event(seq, kind, parsed(text), at) for seq, kind, text, at in found]

    def whole_history(self, run_no: int) -> list[Event]:
        """What a worker gets to see, and what an operator retry took back."""
        if run_no in self.graves:
            return self.graves[run_no].history
        found = self.connection.execute(WHOLE_HISTORY, (run_no,))
        return [Event(seq, kind, parsed(text), at) for seq, kind, text, at in found]

    def input(self, activity: Activity) -> Json:
        """What an activity is to work on."""
        scheduled = (activity.run_no, activity.scheduled_seq)
        found = self.connection.execute(SCHEDULED, scheduled).fetchall()
        return None if not found else parsed(parsed(str(found[0][0]))["input"])

    def late_outcomes(self) -> list[str]:
        """Results that came after their run had ended."""
        kept = [text for grave in self.graves.values() for text in grave.late_outcomes]
        return kept + [text for (text,) in self.connection.execute(LATE)]

    # -- a commit --------------------------------------------------------------------------------

    def to_be_buried(self, decision: Decision) -> list[Grave]:
        """What a decision is about to delete; look before it is committed."""
        return [
            Grave(
                self.runs[no],
                self.whole_history(no),
                [text for (text,) in self.connection.execute(f"{LATE} AND run_no = ?", (no,))],
            )
            for no in decision.purged
            if no in self.runs
        ]

    def committed(
        self, decision: Decision, graves: list[Grave]
    ) -> tuple[Step, dict[int, int | None]]:
        """Read what the commit touched; the claims before it come back, by number of their row."""
        tokens = self._tokens(decision)
        touched = self.touched(decision)
        step = Step(
            decision,
            {no: self.runs.get(no) for no in sorted(touched)},
            {no: self.schedules.get(no) for no in changed(decision.schedules)},
            self.namespaces,
        )
        self._runs_moved(decision)
        self._activities_moved(decision)
        self._timers_moved(decision)
        self._plans_moved(decision)
        self.rare_changes += bool(decision.schedules or decision.namespaces or decision.purged)
        for grave in graves:
            self._bury(grave)
        for no in touched:
            self.writes[no] = self.writes.get(no, 0) + 1
        check_rows(self.connection, sorted(touched))
        return step, tokens

    def _tokens(self, decision: Decision) -> dict[int, int | None]:
        tokens = {no: self.runs[no].claim_token for no in changed(decision.runs) if no in self.runs}
        for change in decision.activities:
            if change.before is not None:
                tokens[change.before.no] = self.activities[change.before.no].claim_token
        return tokens

    def touched(self, decision: Decision) -> set[int]:
        """The runs of which something was written."""
        parts = [change.after or change.before for change in decision.activities]
        timers = [change.after or change.before for change in decision.timers]
        return (
            set(changed(decision.runs))
            | {part.run_no for part in parts if part is not None}
            | {timer.run_no for timer in timers if timer is not None}
            | {event.run_no for event in decision.events}
        )

    def _runs_moved(self, decision: Decision) -> None:
        timers = [change.after for change in decision.timers]
        woken = {row.run_no for row in timers if row and row.state is TimerState.FIRED}
        for new in self._read("run", RunRow, changed(decision.runs)):
            old = self.runs.get(new.no)
            if old is None:
                check_birth(decision.at, new)
            else:
                released = self._is_released(TaskKind.WORKFLOW, old)
                excuses = Excuses(released, new.no in woken, bool(decision.workers))
                check_run(decision.at, old, new, excuses)
            self.runs[new.no] = new
            self.run_nos[new.id] = new.no

    def _activities_moved(self, decision: Decision) -> None:
        for change in decision.activities:
            if change.before is not None and change.after is None:
                del self.activities[change.before.no]
        for new in self._read("activity", ActivityRow, changed(decision.activities)):
            old = self.activities.get(new.no)
            if old is not None:
                released = self._is_released(TaskKind.ACTIVITY, old)
                check_activity(decision.at, old, new, released=released)
            self.activities[new.no] = new

    def _timers_moved(self, decision: Decision) -> None:
        for change in decision.timers:
            if change.before is not None and change.after is None:
                del self.timers[change.before.no]
        for new in self._read("timer", TimerRow, changed(decision.timers)):
            check_timer(decision.at, self.timers.get(new.no), new)
            self.timers[new.no] = new

    def _plans_moved(self, decision: Decision) -> None:
        for no in changed(decision.schedules):
            self.schedules.pop(no, None)
        text = f"SELECT {', '.join(SCHEDULE_COLUMNS)} FROM schedule WHERE no = ?"
        for no in changed(decision.schedules):
            for row in self.connection.execute(text, (no,)):
                self.schedules[no] = schedule_of(row)
        if decision.namespaces:
            found = self.connection.execute("SELECT name FROM namespace ORDER BY name")
            self.namespaces = frozenset(name for (name,) in found)

    def _bury(self, grave: Grave) -> None:
        no, workflow_id = grave.run.no, grave.run.id
        self.graves[no] = grave
        self.runs.pop(no)
        if self.run_nos.get(workflow_id) == no:
            del self.run_nos[workflow_id]
        for rows in (self.activities, self.timers):
            for row in [row for row in rows.values() if row.run_no == no]:
                del rows[row.no]

    def _is_released(self, kind: TaskKind, old: RunRow | ActivityRow) -> bool:
        return old.claim_token in self.released or (kind, old.no) in self.reported_bare

    def _read(self, table: str, kind: Any, nos: Iterable[int]) -> list[Any]:
        wanted = msgspec.json.encode(sorted(nos)).decode()
        if wanted == "[]":
            return []
        some = "IN (SELECT value FROM json_each(?1))"
        text = f"SELECT {', '.join(kind._fields)} FROM {table} WHERE no {some} ORDER BY no"
        return [kind(*row) for row in self.connection.execute(text, (wanted,))]


HISTORY = """SELECT seq, type, payload, at FROM event
             WHERE run_no = ? AND voided_by IS NULL ORDER BY seq"""
WHOLE_HISTORY = "SELECT seq, type, payload, at FROM event WHERE run_no = ? ORDER BY seq"
SCHEDULED = "SELECT payload FROM event WHERE run_no = ? AND seq = ?"
LATE = """SELECT late_outcome FROM activity
          WHERE late_outcome IS NOT NULL AND status = 'COMPLETED'"""


def changed(changes: Iterable[Any]) -> list[int]:
    """The numbers of the rows that changed, deleted ones included."""
    rows = (change.after or change.before for change in changes)
    return [row.no for row in rows]


def parsed(text: str | None) -> Json:
    """JSON text as a value."""
    return None if text is None else json.loads(text)


def only(rows: Iterable[Any], what: str) -> Any:
    """The one there is."""
    found = list(rows)
    if len(found) != 1:
        raise Broken(f"{len(found)} instead of one: {what}")
    return found[0]
