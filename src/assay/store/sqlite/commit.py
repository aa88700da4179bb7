"""How a batch is written to SQLite: one guarded `executemany` per touched table, then COMMIT.

On the connection's own thread `executemany` is the cheapest form: 10 µs of CPU for a run and an
event, against 15 for VALUES lists and 22 for JSON parameters (docs/decisions/0002).
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import apsw
from msgspec.structs import astuple

from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.decision import Change, Decision
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.timer import Timer
from assay.model.worker import Worker
from assay.store.port import Batch
from assay.store.rows import (
    ACTIVITY_COLUMNS,
    EVENT_COLUMNS,
    RUN_COLUMNS,
    SCHEDULE_COLUMNS,
    TIMER_COLUMNS,
    row_of_activity,
    row_of_run,
    row_of_schedule,
    row_of_timer,
)
from assay.store.sqlite.stream import FRAMES_INSERT
from assay.store.stream import frames_text


class GuardFailed(Exception):
    """A row was not at the version the decision was made on."""


class Writes:
    """The statements of one table.

    `settled` are columns that stand in indexes and hardly ever change. SQLite writes anew the index
    entries of every column that an update names, so those that leave them alone do not name them: a
    fifth less work for a step (tests/stores/test_plans.py).
    """

    def __init__(self, table: str, columns: Sequence[str], settled: Sequence[str]) -> None:
        marks = ", ".join("?" * len(columns))
        # Columns are numbered, so that the guard can follow them: the version as it was comes last.
        where = f"no = ?{columns.index('no') + 1} AND ver = ?{len(columns) + 1}"
        sets = {name: f"{name} = ?{at}" for at, name in enumerate(columns, 1) if name != "no"}
        rest = ", ".join(text for name, text in sets.items() if name not in settled)
        self.insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        self.update = f"UPDATE {table} SET {', '.join(sets.values())} WHERE {where}"
        self.step = f"UPDATE {table} SET {rest} WHERE {where}"
        self.delete = f"DELETE FROM {table} WHERE no = ? AND ver = ?"
        self.settled: Callable[[Any], object] = attrgetter(*settled)


RUN = Writes(
    "run",
    RUN_COLUMNS,
    settled=(
        "id", "namespace", "type", "queue", "status", "created_at", "completed_at", "parent_no",
        "timeout_at", "blocked", "cascade",
    ),
)  # fmt: skip
ACTIVITY = Writes(
    "activity",
    ACTIVITY_COLUMNS,
    settled=("run_no", "seq", "queue", "namespace", "status", "completed_at"),
)
TIMER = Writes("timer", TIMER_COLUMNS, settled=("run_no", "seq"))
EVENT_INSERT = (
    f"INSERT INTO event ({', '.join(EVENT_COLUMNS)}) VALUES ({', '.join('?' * len(EVENT_COLUMNS))})"
)
EVENT_VOID = "UPDATE event SET voided_by = ? WHERE run_no = ? AND seq = ? AND voided_by IS NULL"
ANEW = ", ".join(f"{name} = excluded.{name}" for name in Worker.__struct_fields__ if name != "id")
WORKER_INSERT = (
    f"INSERT INTO worker ({', '.join(Worker.__struct_fields__)}) "
    f"VALUES ({', '.join('?' * len(Worker.__struct_fields__))}) "
    f"ON CONFLICT (id) DO UPDATE SET {ANEW}"  # an embedded one has its id for ever
)
SCHEDULE = Writes("schedule", SCHEDULE_COLUMNS, settled=("namespace", "name"))
SNAPSHOT_KEEP = (
    "INSERT OR REPLACE INTO snapshot (run_no, event_seq, state, created_at) VALUES (?, ?, ?, ?)"
)
ATTEMPT_INSERT = (
    f"INSERT INTO attempt ({', '.join(Attempt.__struct_fields__)}) "
    f"VALUES ({', '.join('?' * len(Attempt.__struct_fields__))})"
)
ATTEMPTS_FORGET = "DELETE FROM attempt WHERE run_no = ? AND activity_no = ?"
REQUEST_INSERT = "INSERT INTO signal_request (run_no, request_id) VALUES (?, ?)"
NAMESPACE_INSERT = "INSERT INTO namespace (name, created_at) VALUES (?, ?)"
NAMESPACE_DELETE = "DELETE FROM namespace WHERE name = ? AND name <> 'main'"
ATTRIBUTE_INSERT = (
    "INSERT INTO attribute (namespace, key, value, created_at, run_no) VALUES (?, ?, ?, ?, ?)"
)
ATTRIBUTE_DELETE = (
    "DELETE FROM attribute"
    " WHERE namespace = ? AND key = ? AND value = ? AND created_at = ? AND run_no = ?"
)
COUNT_ADD = (
    "INSERT INTO run_count (namespace, status, runs) VALUES (?, ?, ?)"
    " ON CONFLICT DO UPDATE SET runs = runs + excluded.runs"
)
# What has no guard of its own goes with the guarded row of its run.
PURGES = tuple(
    f"DELETE FROM {table} WHERE run_no = ?"
    for table in ("activity", "attempt", "timer", "event", "snapshot", "signal_request")
)
BATCH_INSERT = "INSERT INTO batch (instance, no, at) VALUES (?, ?, ?)"


def write_batch(connection: apsw.Connection, batch: Batch) -> None:
    """Everything of a batch, inside the transaction that is open."""
    decision = batch.decision
    write_rows(connection, RUN, decision.runs, row_of_run)
    write_rows(connection, ACTIVITY, decision.activities, row_of_activity)
    write_rows(connection, TIMER, decision.timers, row_of_timer)
    write_events(connection, decision)
    if decision.workers:
        connection.executemany(WORKER_INSERT, [astuple(worker) for worker in decision.workers])
    if decision.schedules:
        write_rows(connection, SCHEDULE, decision.schedules, row_of_schedule)
    if decision.namespaces:
        write_namespaces(connection, decision)
    write_parts_of_runs(connection, decision)
    if frames := decision.frames:
        row = (len(frames), decision.at, frames_text(frames))
        connection.execute(FRAMES_INSERT, row)
    connection.execute(BATCH_INSERT, (batch.instance, batch.no, decision.at))


def write_rows(
    connection: apsw.Connection,
    table: Writes,
    changes: Sequence[Change[Run]]
    | Sequence[Change[Activity]]
    | Sequence[Change[Timer]]
    | Sequence[Change[Schedule]],
    row_of: Callable[[Any], tuple[Any, ...]],
) -> None:
    """Inserts, guarded updates and guarded deletes of one table."""
    inserts: list[tuple[Any, ...]] = []
    updates: list[tuple[Any, ...]] = []
    steps: list[tuple[Any, ...]] = []
    deletes: list[tuple[Any, ...]] = []
    for change in changes:
        before, after = change.before, change.after
        if before is None:
            inserts.append(row_of(after))
        elif after is None:
            deletes.append((before.no, before.ver))
        elif table.settled(before) == table.settled(after):
            steps.append((*row_of(after), before.ver))
        else:
            updates.append((*row_of(after), before.ver))
    _guarded(connection, table.delete, deletes)
    _guarded(connection, table.update, updates)
    _guarded(connection, table.step, steps)
    if inserts:
        connection.executemany(table.insert, inserts)


def write_events(connection: apsw.Connection, decision: Decision) -> None:
    """New events, and those an operator retry took back."""
    if decision.events:
        connection.executemany(
            EVENT_INSERT,
            [
                (event.run_no, event.seq, event.id, event.type, event.at, event.payload)
                for event in decision.events
            ],
        )
    for voided in decision.voided:
        rows = [(voided.by, voided.run_no, seq) for seq in voided.seqs]
        _guarded(connection, EVENT_VOID, rows)


def write_parts_of_runs(connection: apsw.Connection, decision: Decision) -> None:
    """What hangs on runs and follows them: attempts, snapshots, request ids, attributes, counts."""
    many = connection.executemany
    if decision.purged:
        for statement in PURGES:
            many(statement, [(no,) for no in decision.purged])
    if decision.forgotten:
        many(ATTEMPTS_FORGET, [astuple(each) for each in decision.forgotten])
    if decision.attempts:
        many(ATTEMPT_INSERT, [astuple(attempt) for attempt in decision.attempts])
    if decision.snapshots:
        many(SNAPSHOT_KEEP, [astuple(snapshot) for snapshot in decision.snapshots])
    if decision.requests:
        many(REQUEST_INSERT, [astuple(request) for request in decision.requests])
    if decision.attributes_removed:
        many(ATTRIBUTE_DELETE, [astuple(each) for each in decision.attributes_removed])
    if decision.attributes_added:
        many(ATTRIBUTE_INSERT, [astuple(each) for each in decision.attributes_added])
    if decision.counts:
        many(COUNT_ADD, [astuple(count) for count in decision.counts])


def write_namespaces(connection: apsw.Connection, decision: Decision) -> None:
    """Tenants that come, and those that go; `main` stays whatever is decided."""
    gone = [(change.name,) for change in decision.namespaces if not change.created]
    come = [(change.name, decision.at) for change in decision.namespaces if change.created]
    _guarded(connection, NAMESPACE_DELETE, gone)
    if come:
        connection.executemany(NAMESPACE_INSERT, come)


def _guarded(connection: apsw.Connection, statement: str, rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    before = connection.total_changes()
    connection.executemany(statement, rows)
    if connection.total_changes() - before != len(rows):
        raise GuardFailed
