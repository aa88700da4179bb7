"""How rows move: each commit is compared with the rows before it.

Statuses go along the tables of `model/states.py`, a version counts every change, and a claim ends
only by a report, an undo, the end of its lease, or the end of its run.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import apsw
import msgspec

from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.states import (
    ACTIVITY_TRANSITIONS,
    RUN_TRANSITIONS,
    TERMINAL_RUN,
    ActivityStatus,
    RunStatus,
    TimerState,
)
from assay.model.task import TaskKind
from tests.faults.simulation.invariants import check_rows
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event

Status = TypeVar("Status", bound=StrEnum)


class RunRow(NamedTuple):
    """What is compared of a run."""

    no: int
    id: str
    status: str
    ver: int
    last_seq: int
    ready_at: int | None
    claim_token: int | None
    claimed_by: str | None
    claim_until: int | None
    parent_no: int | None
    cancel_seq: int | None

    @property
    def is_open(self) -> bool:
        """Not terminal."""
        return RunStatus(self.status) not in TERMINAL_RUN


class ActivityRow(NamedTuple):
    """What is compared of an activity."""

    no: int
    run_no: int
    status: str
    ver: int
    ready_at: int | None
    attempt: int
    claim_token: int | None
    claimed_by: str | None
    claim_until: int | None


class TimerRow(NamedTuple):
    """What is compared of a timer."""

    no: int
    run_no: int
    state: str
    ver: int
    fire_at: int


def reachable(table: Mapping[Status, frozenset[Status]]) -> dict[str, set[str]]:
    """For each status what one batch, which may hold many operations, can make of it."""
    reach = {str(status): {str(status), *map(str, after)} for status, after in table.items()}
    for _ in table:
        for status, ways in reach.items():
            reach[status] = ways.union(*(reach[way] for way in ways))
    return reach


RUN_WAYS = reachable(RUN_TRANSITIONS)
ACTIVITY_WAYS = reachable(ACTIVITY_TRANSITIONS)
TIMER_WAYS = {
    str(TimerState.OPEN): set(map(str, TimerState)),
    str(TimerState.FIRED): {str(TimerState.FIRED)},
    str(TimerState.SILENCED): {str(TimerState.SILENCED), str(TimerState.OPEN)},
}


class Rows:
    """The rows as they were after the newest commit."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.runs: dict[int, RunRow] = {}
        self.activities: dict[int, ActivityRow] = {}
        self.timers: dict[int, TimerRow] = {}
        self.run_nos: dict[str, int] = {}
        self.writes: dict[int, int] = {}
        self.released: set[int] = set()
        self.reported_bare: set[tuple[TaskKind, int]] = set()

    def run(self, workflow_id: str) -> RunRow | None:
        """The run of that id."""
        no = self.run_nos.get(workflow_id)
        return None if no is None else self.runs[no]

    def history(self, run_no: int) -> list[Event]:
        """What a worker gets to see of a run."""
        found = self.connection.execute(HISTORY, (run_no,))
        return [Event(seq, kind, parsed(text), at) for seq, kind, text, at in found]

    def input(self, activity: Activity) -> Json:
        """What an activity is to work on."""
        scheduled = (activity.run_no, activity.scheduled_seq)
        [(text,)] = self.connection.execute(SCHEDULED, scheduled).fetchall()
        return parsed(parsed(str(text))["input"])

    def committed(self, decision: Decision) -> dict[int, int | None]:
        """Read what the commit touched; the claims before it come back, by number of their row."""
        tokens = self._tokens(decision)
        runs = {change.after.no for change in decision.runs if change.after is not None}
        for run in self._read_runs(runs):
            self._run_moved(decision.at, self.runs.get(run.no), run)
            self.runs[run.no] = run
            self.run_nos[run.id] = run.no
        self._activities_moved(decision)
        self._timers_moved(decision)
        touched = self.touched(decision)
        for no in touched:
            self.writes[no] = self.writes.get(no, 0) + 1
        check_rows(self.connection, sorted(touched))
        return tokens

    def _tokens(self, decision: Decision) -> dict[int, int | None]:
        runs = [change.after.no for change in decision.runs if change.after is not None]
        tokens = {no: self.runs[no].claim_token for no in runs if no in self.runs}
        for change in decision.activities:
            if change.before is not None:
                tokens[change.before.no] = self.activities[change.before.no].claim_token
        return tokens

    def touched(self, decision: Decision) -> set[int]:
        """The runs of which something was written."""
        parts = [change.after or change.before for change in decision.activities]
        timers = [change.after or change.before for change in decision.timers]
        return (
            {change.after.no for change in decision.runs if change.after is not None}
            | {part.run_no for part in parts if part is not None}
            | {timer.run_no for timer in timers if timer is not None}
            | {event.run_no for event in decision.events}
        )

    # -- runs ------------------------------------------------------------------------------------

    def _run_moved(self, at: int, old: RunRow | None, new: RunRow) -> None:
        if old is None:
            return
        if new.status not in RUN_WAYS[old.status]:
            raise Broken(f"run {new.id} went from {old.status} to {new.status}")
        if new.ver != old.ver + 1 or new.last_seq < old.last_seq:
            raise Broken(f"run {new.id} went from {old} to {new}")
        if old.claim_token is not None and old.claim_token != new.claim_token:
            self._run_claim_ended(at, old, new)
        if old.claim_token == new.claim_token and new.claim_token is not None:
            if new.claim_until is None and old.claim_until is not None and old.claim_until > at:
                raise Broken(f"the lease on {new.id} expired before its time: {old} to {new}")
        claimed = new.claim_token is not None and new.claim_token != old.claim_token
        if claimed and old.last_seq == new.last_seq and not self._is_released(old):
            expired = old.claim_until is not None and old.claim_until <= at
            if not expired and (old.ready_at is None or old.ready_at > at):
                raise Broken(f"run {new.id} was claimed though not ready: {old} to {new}")

    def _run_claim_ended(self, at: int, old: RunRow, new: RunRow) -> None:
        if self._is_released(old) or not new.is_open or not old.is_open:
            return
        if new.claim_token is None:
            raise Broken(f"the claim {old.claim_token} on {old.id} was closed by nobody")
        if old.claim_until is not None and old.claim_until > at:
            raise Broken(f"two open claims on run {old.id}: {old} and {new}")

    def _is_released(self, old: RunRow) -> bool:
        return old.claim_token in self.released or self._is_bare(TaskKind.WORKFLOW, old.no)

    def _is_bare(self, kind: TaskKind, no: int) -> bool:
        return (kind, no) in self.reported_bare

    # -- activities ------------------------------------------------------------------------------

    def _activities_moved(self, decision: Decision) -> None:
        after = {change.after.no for change in decision.activities if change.after is not None}
        for change in decision.activities:
            if change.before is not None and change.after is None:
                del self.activities[change.before.no]
        for new in self._read_activities(after):
            old = self.activities.get(new.no)
            if old is not None:
                self._activity_moved(decision.at, old, new)
            self.activities[new.no] = new

    def _activity_moved(self, at: int, old: ActivityRow, new: ActivityRow) -> None:
        if new.status not in ACTIVITY_WAYS[old.status]:
            raise Broken(f"activity {new.no} went from {old.status} to {new.status}")
        if new.ver != old.ver + 1:
            raise Broken(f"activity {new.no} went from {old} to {new}")
        released = old.claim_token in self.released or self._is_bare(TaskKind.ACTIVITY, old.no)
        if old.claim_token is not None and old.claim_token != new.claim_token and not released:
            if old.claim_until is None or old.claim_until > at:
                raise Broken(f"a claim on activity {new.no} ended before its time: {old} to {new}")
            if new.status == ActivityStatus.COMPLETED:
                raise Broken(f"activity {new.no} was completed by nobody: {old} to {new}")
        if new.status == ActivityStatus.RUNNING and new.attempt != old.attempt:
            if old.status == ActivityStatus.RUNNING:  # in this world every retry has a delay
                raise Broken(f"activity {new.no} was tried again at once: {old} to {new}")
        if old.status == ActivityStatus.PENDING and new.status == ActivityStatus.RUNNING:
            if old.ready_at is None or old.ready_at > at:
                raise Broken(f"activity {new.no} was claimed though not ready: {old} to {new}")

    # -- timers ----------------------------------------------------------------------------------

    def _timers_moved(self, decision: Decision) -> None:
        after = {change.after.no for change in decision.timers if change.after is not None}
        for change in decision.timers:
            if change.before is not None and change.after is None:
                del self.timers[change.before.no]
        for new in self._read_timers(after):
            old = self.timers.get(new.no)
            if old is not None and new.state not in TIMER_WAYS[old.state]:
                raise Broken(f"timer {new.no} went from {old.state} to {new.state}")
            if new.state == TimerState.FIRED and new.fire_at > decision.at:
                raise Broken(f"timer {new.no} fired before its time")
            self.timers[new.no] = new

    # -- reading ---------------------------------------------------------------------------------

    def _read_runs(self, nos: Iterable[int]) -> list[RunRow]:
        return [RunRow(*row) for row in self._read("run", RunRow._fields, nos)]

    def _read_activities(self, nos: Iterable[int]) -> list[ActivityRow]:
        return [ActivityRow(*row) for row in self._read("activity", ActivityRow._fields, nos)]

    def _read_timers(self, nos: Iterable[int]) -> list[TimerRow]:
        return [TimerRow(*row) for row in self._read("timer", TimerRow._fields, nos)]

    def _read(
        self, table: str, columns: tuple[str, ...], nos: Iterable[int]
    ) -> list[tuple[Any, ...]]:
        wanted = msgspec.json.encode(sorted(nos)).decode()
        if wanted == "[]":
            return []
        some = "IN (SELECT value FROM json_each(?1))"
        text = f"SELECT {', '.join(columns)} FROM {table} WHERE no {some}"
        return self.connection.execute(text, (wanted,)).fetchall()


HISTORY = """SELECT seq, type, payload, at FROM event
             WHERE run_no = ? AND voided_by IS NULL ORDER BY seq"""
SCHEDULED = "SELECT payload FROM event WHERE run_no = ? AND seq = ?"


def parsed(text: str | None) -> Json:
    """JSON text as a value."""
    return None if text is None else json.loads(text)
