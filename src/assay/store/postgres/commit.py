"""How a batch is written to PostgreSQL: one data-modifying statement, whatever it holds.

Rows travel as JSON, one parameter per table and kind of change, as msgspec encodes the model; so a
row costs Python about a microsecond. Texts are strings inside that JSON: a payload's own escapes
(`\\u0000` among them) stay what they are, letter by letter. Every changed row is compared with the
version it was decided on, and the statement fails as a whole when fewer rows matched than were
meant (`assay_expect`), so nothing of a stale batch is ever seen.

There is one statement for each set of changes that occurs together; each is prepared once.
"""

import types
import typing
from collections.abc import Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.decision import Attribute, Change, Decision, SignalRequest
from assay.model.events import Event
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.schedule import Schedule
from assay.model.snapshot import Snapshot
from assay.model.timer import Timer
from assay.model.worker import Worker
from assay.store.port import Batch
from assay.store.rows import ACTIVITY_COLUMNS
from assay.store.stream import frames_text

_encode = msgspec.json.encode
_by_no = attrgetter("no")
_TYPES = {int: "bigint", str: "text", float: "double precision", bool: "boolean"}


def column_type(hint: Any) -> str:
    """The database's type for a field of the model."""
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not types.NoneType)
    if hint is RetryPolicy:
        return "retry_policy"
    return _TYPES[str if issubclass(hint, str) else hint]


class Writes:
    """The parts of the statement that concern one table. {n} is the number of a parameter."""

    def __init__(self, table: str, model: Any, columns: Sequence[str]) -> None:
        hints = typing.get_type_hints(model)
        fields = ", ".join(f"{name} {column_type(hint)}" for name, hint in hints.items())
        values = {name: f"r.{name}" for name in columns}
        if "policy" in hints:
            policy = RetryPolicy.__struct_fields__
            values.update({name: f"(r.policy).{name}" for name in policy})
        given = ", ".join(values[name] for name in columns)
        sets = ", ".join(f"{name} = {values[name]}" for name in columns if name != "no")
        guard = f"{table}.no = r.no AND {table}.ver = r.was"
        rows = f"json_to_recordset(${{n}}::json) AS r({fields}"
        self.insert = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {given} FROM {rows})"
        self.update = (
            f"UPDATE {table} SET {sets} FROM {rows}, was bigint) WHERE {guard} RETURNING 1"
        )
        self.delete = (
            f"DELETE FROM {table} USING json_to_recordset(${{n}}::json) AS r(no bigint, was bigint)"
            f" WHERE {guard} RETURNING 1"
        )


_RUN = Writes("run", Run, Run.__struct_fields__)
_ACTIVITY = Writes("activity", Activity, ACTIVITY_COLUMNS)
_TIMER = Writes("timer", Timer, Timer.__struct_fields__)
_EVENT = Writes("event", Event, Event.__struct_fields__)
_ATTEMPT = Writes("attempt", Attempt, Attempt.__struct_fields__)
_WORKER = Writes("worker", Worker, Worker.__struct_fields__)
_WORKER_ANEW = ", ".join(
    f"{name} = excluded.{name}" for name in Worker.__struct_fields__ if name != "id"
)
_SCHEDULE = Writes("schedule", Schedule, Schedule.__struct_fields__)
_SNAPSHOT = Writes("snapshot", Snapshot, Snapshot.__struct_fields__)
_REQUEST = Writes("signal_request", SignalRequest, SignalRequest.__struct_fields__)
_ATTRIBUTE = Writes("attribute", Attribute, Attribute.__struct_fields__)
_NAMES = "json_to_recordset(${n}::json) AS r(name text)"
_VOID = (
    "UPDATE event SET voided_by = r.by"
    " FROM json_to_recordset(${n}::json) AS r(run_no bigint, seq bigint, by bigint)"
    " WHERE event.run_no = r.run_no AND event.seq = r.seq AND event.voided_by IS NULL RETURNING 1"
)

# In the order in which they take effect: runs first, so that two instances lock rows in one order.
# What is deleted makes room for what is inserted under the same seq.
_PURGED = "(SELECT value::bigint FROM json_array_elements_text(${n}::json))"
_PARTS: dict[str, str] = {
    "run_updated": _RUN.update,
    "run_deleted": _RUN.delete,
    "activity_updated": _ACTIVITY.update,
    "activity_deleted": _ACTIVITY.delete,
    "timer_updated": _TIMER.update,
    "timer_deleted": _TIMER.delete,
    "schedule_updated": _SCHEDULE.update,
    "schedule_deleted": _SCHEDULE.delete,
    "event_voided": _VOID,
    "namespace_deleted": f"DELETE FROM namespace USING {_NAMES} WHERE namespace.name = r.name"
    " AND r.name <> 'main' RETURNING 1",
    "attempt_removed": "DELETE FROM attempt USING json_to_recordset(${n}::json)"
    " AS r(run_no bigint, activity_no bigint)"
    " WHERE attempt.run_no = r.run_no AND attempt.activity_no = r.activity_no",
    "attribute_removed": "DELETE FROM attribute USING json_to_recordset(${n}::json) AS r("
    "namespace text, key text, value text, created_at bigint, run_no bigint)"
    " WHERE attribute.namespace = r.namespace AND attribute.key = r.key"
    " AND attribute.value = r.value AND attribute.created_at = r.created_at"
    " AND attribute.run_no = r.run_no",
    "run_inserted": _RUN.insert,
    "activity_inserted": _ACTIVITY.insert,
    "timer_inserted": _TIMER.insert,
    "event_inserted": _EVENT.insert,
    "attempt_inserted": _ATTEMPT.insert,
    # An embedded worker has its id for ever, and registers anew under it.
    "worker_inserted": f"{_WORKER.insert} ON CONFLICT (id) DO UPDATE SET {_WORKER_ANEW}",
    "schedule_inserted": _SCHEDULE.insert,
    "snapshot_inserted": f"{_SNAPSHOT.insert} ON CONFLICT (run_no) DO UPDATE SET"
    " event_seq = excluded.event_seq, state = excluded.state, created_at = excluded.created_at",
    "signal_request_inserted": _REQUEST.insert,
    "namespace_inserted": "INSERT INTO namespace (name, created_at)"
    f" SELECT r.name, $3 FROM {_NAMES}",
    "attribute_inserted": _ATTRIBUTE.insert,
    # What has no guard of its own goes with the guarded row of its run. What was live of a deleted
    # run is deleted under guards above.
    "activity_purged": f"DELETE FROM activity WHERE run_no IN {_PURGED}"
    " AND completed_at IS NOT NULL",
    "attempt_purged": f"DELETE FROM attempt WHERE run_no IN {_PURGED}",
    "timer_purged": f"DELETE FROM timer WHERE run_no IN {_PURGED}",
    "event_purged": f"DELETE FROM event WHERE run_no IN {_PURGED}",
    "snapshot_purged": f"DELETE FROM snapshot WHERE run_no IN {_PURGED}",
    "signal_request_purged": f"DELETE FROM signal_request WHERE run_no IN {_PURGED}",
}
_UNGUARDED = ("_inserted", "_purged", "_removed")
# What the commit adds to the stream and to the counts waits here to be numbered and folded.
_BATCH = (
    "INSERT INTO batch (instance, no, at, size, frames, counts) VALUES ($1, $2, $3, $4, $5, $6)"
)
_FIRST_PART = 7


class Parts:
    """The parameters of one batch, by part, and how many rows its guards must find."""

    __slots__ = ("expected", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.expected = 0


def statement_of(batch: Batch) -> tuple[str, list[object]]:
    """The statement that writes all of a batch, with its parameters."""
    decision = batch.decision
    parts = Parts()
    if decision.runs:
        _rows(parts, "run", decision.runs)
    if decision.activities:
        _rows(parts, "activity", decision.activities)
    if decision.timers:
        _rows(parts, "timer", decision.timers)
    _events(parts, decision)
    _rest(parts, decision)
    arguments: list[object] = [batch.instance, batch.no, decision.at, *_waiting(decision)]
    shape = tuple(name for name in _PARTS if name in parts.texts)
    arguments += [parts.texts[name] for name in shape]
    if parts.expected:
        arguments.append(parts.expected)
    return _statement(shape), arguments


def _waiting(decision: Decision) -> tuple[int | None, str | None, str | None]:
    """How many frames, the frames, and by how much counts change; nothing if there is neither."""
    frames, counts = decision.frames, decision.counts
    if not (frames or counts):
        return None, None, None
    return (
        len(frames),
        frames_text(frames) if frames else None,
        _encode(counts).decode() if counts else None,
    )


def _rows(parts: Parts, table: str, changes: Sequence[Change[Any]]) -> None:
    inserts: list[Any] = []
    updates: list[tuple[Any, Any]] = []
    deletes: list[Any] = []
    for change in changes:
        if change.before is None:
            inserts.append(change.after)
        elif change.after is None:
            deletes.append(change.before)
        else:
            updates.append((change.before, change.after))
    if inserts:
        parts.texts[f"{table}_inserted"] = _encode(inserts).decode()
    if updates:
        # By number, so that two instances lock their rows in the same order.
        updates.sort(key=_before_no)
        rows = [b'{"was":%d,' % before.ver + _encode(after)[1:] for before, after in updates]
        parts.texts[f"{table}_updated"] = (b"[" + b",".join(rows) + b"]").decode()
        parts.expected += len(updates)
    if deletes:
        deletes.sort(key=_by_no)
        guards = [{"no": row.no, "was": row.ver} for row in deletes]
        parts.texts[f"{table}_deleted"] = _encode(guards).decode()
        parts.expected += len(deletes)


def _before_no(update: tuple[Any, Any]) -> int:
    return int(update[0].no)


def _events(parts: Parts, decision: Decision) -> None:
    if decision.events:
        parts.texts["event_inserted"] = _encode(decision.events).decode()
    if decision.voided:
        rows = [
            {"run_no": voided.run_no, "seq": seq, "by": voided.by}
            for voided in decision.voided
            for seq in voided.seqs
        ]
        parts.texts["event_voided"] = _encode(rows).decode()
        parts.expected += len(rows)


def _rest(parts: Parts, decision: Decision) -> None:
    """What changes rarely, and what hangs on runs."""
    if decision.schedules:
        _rows(parts, "schedule", decision.schedules)
    come = [{"name": change.name} for change in decision.namespaces if change.created]
    gone = [{"name": change.name} for change in decision.namespaces if not change.created]
    parts.expected += len(gone)
    given: dict[str, Sequence[object]] = {
        "worker_inserted": decision.workers,
        "namespace_inserted": come,
        "namespace_deleted": gone,
        "attempt_removed": decision.forgotten,
        "attempt_inserted": decision.attempts,
        "snapshot_inserted": decision.snapshots,
        "signal_request_inserted": decision.requests,
        "attribute_removed": decision.attributes_removed,
        "attribute_inserted": decision.attributes_added,
    }
    if decision.purged:
        given.update({name: decision.purged for name in _PARTS if name.endswith("_purged")})
    for name, rows in given.items():
        if rows:
            parts.texts[name] = _encode(rows).decode()


@cache
def _statement(shape: tuple[str, ...]) -> str:
    """The statement for the parts that occur together."""
    guarded = [name for name in shape if not name.endswith(_UNGUARDED)]
    numbers = enumerate(shape, _FIRST_PART)
    texts = {name: _PARTS[name].replace("{n}", str(at)) for at, name in numbers}
    for name in shape:
        deleted = name.replace("_inserted", "_deleted")
        if name not in guarded and deleted in guarded:
            texts[name] += f" WHERE (SELECT count(*) FROM {deleted}) IS NOT NULL"
    parts = [f"{name} AS ({text})" for name, text in texts.items()]
    if not guarded:
        return (f"WITH {', '.join(parts)} " if parts else "") + _BATCH
    changed = " + ".join(f"(SELECT count(*) FROM {name})" for name in guarded)
    parts.append(f"batch_inserted AS ({_BATCH})")
    return f"WITH {', '.join(parts)} SELECT assay_expect(${len(shape) + _FIRST_PART}, {changed})"
