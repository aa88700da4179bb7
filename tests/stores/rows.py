"""Rows to store: plain ones to name, and any that hypothesis can think of."""

from __future__ import annotations

import types
import typing
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from assay.core.view import Key, Need
from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.decision import Change, Decision, Voided
from assay.model.events import Event, EventType
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.states import ActivityStatus, RunStatus
from assay.model.timer import Timer
from assay.model.worker import Worker
from assay.store.port import Batch, CommitOutcome, Committed, Loaded
from tests.stores.places import Instance

NOW = 1_700_000_000_000_000
Row = TypeVar("Row", Run, Activity, Timer, Schedule)

# What JSON, SQL and UTF-8 each have opinions about.
ODD_TEXTS = (
    "",
    "null",
    '"\\u0000"',
    '{"a":"\\u0000\\ud800","b":1e400,"b":1.0}',
    '{"text":"line\\nfeed and \\\\u0000 and \\" and \u2028"}',
    "\x01\x1f\x7f\x80\ufeff\uffff\U0010ffff",
    "' \" \\ $1 $2::json %s {n} -- /* */ ;",
    "123456789012345678901234567890.10",
    "ä日本𝄞" * 300,
)


# --- named rows ---------------------------------------------------------------------------------


def a_run(no: int, **fields: Any) -> Run:
    basis = Run(
        no=no,
        id=f"wf-{no}",
        run_id=f"run-{no}",
        namespace="main",
        type="order",
        status=RunStatus.WAITING,
        created_at=NOW,
        updated_at=NOW,
        start_at=NOW,
    )
    return replace(basis, **fields)


def an_activity(no: int, run_no: int, seq: int = 1, **fields: Any) -> Activity:
    basis = Activity(
        no=no,
        run_no=run_no,
        seq=seq,
        name="charge",
        status=ActivityStatus.PENDING,
        policy=RetryPolicy(),
        scheduled_seq=2,
        wanted_seq=2,
        scheduled_at=NOW,
    )
    return replace(basis, **fields)


def a_timer(no: int, run_no: int, seq: int = 1, **fields: Any) -> Timer:
    basis = Timer(no=no, run_no=run_no, seq=seq, fire_at=NOW, scheduled_seq=2)
    return replace(basis, **fields)


def an_event(run_no: int, seq: int, payload: str | None = "null", **fields: Any) -> Event:
    kind = EventType.SIGNAL_RECEIVED
    basis = Event(run_no, seq, id=run_no * 1000 + seq, type=kind, at=NOW, payload=payload)
    return replace(basis, **fields)


def a_worker(id: str, **fields: Any) -> Worker:
    basis = Worker(
        id=id,
        namespace="main",
        identity="me",
        queue="default",
        workflows=None,
        activities='["charge"]',
        max_workflows=1,
        max_activities=2,
        registered_at=NOW,
        last_seen=NOW,
    )
    return replace(basis, **fields)


def a_schedule(no: int, **fields: Any) -> Schedule:
    basis = Schedule(
        no=no,
        namespace="main",
        name=f"schedule-{no}",
        type="order",
        cron="@daily",
        timezone="UTC",
        input=None,
        queue="default",
        overlap=OverlapPolicy.SKIP,
        paused=False,
        created_at=NOW,
    )
    return replace(basis, **fields)


# --- changes ------------------------------------------------------------------------------------


def new(row: Row) -> Change[Row]:
    return Change(None, row)


def changed(row: Row, **fields: Any) -> Change[Row]:
    return Change(row, replace(row, ver=row.ver + 1, **fields))


def gone(row: Row) -> Change[Row]:
    return Change(row, None)


async def attempt(instance: Instance, **parts: Any) -> CommitOutcome:
    """Commit a decision made of these parts."""
    instance.batches += 1
    at = parts.pop("at", NOW)
    decision = Decision(at=at, **{name: tuple(rows) for name, rows in parts.items()})
    return await instance.store.commit(Batch(instance.no, instance.batches, decision))


async def write(instance: Instance, **parts: Any) -> None:
    outcome = await attempt(instance, **parts)
    assert outcome == Committed(), outcome


# --- reading back -------------------------------------------------------------------------------


async def load(instance: Instance, *keys: Key, lock: bool = False) -> Loaded:
    return await instance.store.load(keys, lock=lock)


async def runs(instance: Instance, *nos: int) -> dict[int, Run]:
    loaded = await load(instance, *(Key(Need.RUN, no) for no in nos))
    return {run.no: run for run in loaded.runs}


async def activities(instance: Instance, *nos: int) -> dict[int, Activity]:
    loaded = await load(instance, *(Key(Need.ACTIVITY, no) for no in nos))
    return {activity.no: activity for activity in loaded.activities}


async def timers(instance: Instance, *nos: int) -> dict[int, Timer]:
    loaded = await load(instance, *(Key(Need.TIMER, no) for no in nos))
    return {timer.no: timer for timer in loaded.timers}


async def attempts(instance: Instance, activity_no: int) -> list[Attempt] | None:
    """The failed attempts at an activity; None if there is none of that number."""
    return await instance.store.catalogue.attempts(activity_no)


async def history(instance: Instance, run_no: int) -> list[Event]:
    """All events of a run, voided ones too."""
    loaded = await load(instance, Key(Need.WHOLE_RUN, run_no))
    return list(loaded.whole_runs[run_no].events)


# --- any rows -----------------------------------------------------------------------------------

texts = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40),
)
integers = st.one_of(
    st.sampled_from([0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]),
    st.integers(-(2**63), 2**63 - 1),
)
floats = st.floats(allow_nan=False, allow_infinity=False)


def fields_of(model: Any, *, without: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Any values for the fields of a row, of the types the model gives them."""
    hints = typing.get_type_hints(model)
    strategies = {name: values(hint) for name, hint in hints.items() if name not in without}
    return st.fixed_dictionaries(strategies)


def values(hint: Any) -> st.SearchStrategy[Any]:
    if isinstance(hint, types.UnionType):
        (kind,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        return st.none() | values(kind)
    if hint is RetryPolicy:
        return fields_of(RetryPolicy, without=set()).map(lambda given: RetryPolicy(**given))
    if hint is bool:
        return st.booleans()
    if hint in (int, float, str):
        return {int: integers, float: floats, str: texts}[hint]
    return st.sampled_from(list(hint))


any_run = fields_of(Run, without={"no", "id"})
any_activity = fields_of(Activity, without={"no", "run_no", "seq"})
any_timer = fields_of(Timer, without={"no", "run_no", "seq"})
any_event = fields_of(Event, without={"run_no", "seq", "voided_by"})
any_worker = fields_of(Worker, without={"id"})


def voided(run_no: int, *seqs: int, by: int) -> Voided:
    return Voided(run_no, seqs, by)
