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
from assay.model.decision import Change, Decision
from assay.model.events import Event
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.timer import Timer
from assay.model.worker import Worker
from assay.store.port import Batch
from assay.store.rows import ACTIVITY_COLUMNS

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
_WORKER = Writes("worker", Worker, Worker.__struct_fields__)
_VOID = (
    "UPDATE event SET voided_by = r.by"
    " FROM json_to_recordset(${n}::json) AS r(run_no bigint, seq bigint, by bigint)"
    " WHERE event.run_no = r.run_no AND event.seq = r.seq AND event.voided_by IS NULL RETURNING 1"
)

# In the order in which they take effect: runs first, so that two instances lock rows in one order.
# What is deleted makes room for what is inserted under the same seq.
_PARTS: dict[str, str] = {
    "run_updated": _RUN.update,
    "run_deleted": _RUN.delete,
    "activity_updated": _ACTIVITY.update,
    "activity_deleted": _ACTIVITY.delete,
    "timer_updated": _TIMER.update,
    "timer_deleted": _TIMER.delete,
    "event_voided": _VOID,
    "run_inserted": _RUN.insert,
    "activity_inserted": _ACTIVITY.insert,
    "timer_inserted": _TIMER.insert,
    "event_inserted": _EVENT.insert,
    "worker_inserted": _WORKER.insert,
}
_BATCH = "INSERT INTO batch (instance, no, at) VALUES ($1, $2, $3)"


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
    if decision.workers:
        parts.texts["worker_inserted"] = _encode(decision.workers).decode()
    arguments: list[object] = [batch.instance, batch.no, decision.at]
    shape = tuple(name for name in _PARTS if name in parts.texts)
    arguments += [parts.texts[name] for name in shape]
    if parts.expected:
        arguments.append(parts.expected)
    return _statement(shape), arguments


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


@cache
def _statement(shape: tuple[str, ...]) -> str:
    """The statement for the parts that occur together."""
    guarded = [name for name in shape if not name.endswith("inserted")]
    texts = {name: _PARTS[name].replace("{n}", str(at)) for at, name in enumerate(shape, 4)}
    for name in shape:
        deleted = name.replace("inserted", "deleted")
        if name not in guarded and deleted in guarded:
            texts[name] += f" WHERE (SELECT count(*) FROM {deleted}) IS NOT NULL"
    parts = [f"{name} AS ({text})" for name, text in texts.items()]
    if not guarded:
        return (f"WITH {', '.join(parts)} " if parts else "") + _BATCH
    changed = " + ".join(f"(SELECT count(*) FROM {name})" for name in guarded)
    parts.append(f"batch_inserted AS ({_BATCH})")
    return f"WITH {', '.join(parts)} SELECT assay_expect(${len(shape) + 4}, {changed})"
