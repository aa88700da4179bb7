"""How rows move: a row is compared with what it was before the commit.

Statuses go along the tables of `model/states.py`, a version counts every change, and a claim ends
only by a report, an undo, the end of its lease, or the end of its run.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

from assay.core.claim import KEPT_FOR
from assay.model.states import (
    ACTIVITY_TRANSITIONS,
    RUN_TRANSITIONS,
    ActivityStatus,
    RunStatus,
    TimerState,
)
from tests.faults.simulation.row_types import ActivityRow, RunRow, TimerRow
from tests.faults.simulation.trace import Broken

Status = TypeVar("Status", bound=StrEnum)


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
FOR_EVER = (
    *("id", "run_id", "namespace", "type", "queue"),
    *("created_at", "start_at", "timeout_secs", "parent_no", "child_id"),
)
"""What a run is born with."""


class Excuses(NamedTuple):
    """What may end a run's claim, and what may make it ready without history telling of it."""

    released: bool
    woken: bool
    registered: bool


def check_birth(at: int, run: RunRow) -> None:
    """A run that began in this commit, and may have gone some way in it."""
    if run.ver != 0 or run.created_at != at or run.start_at < at:
        raise Broken(f"run {run.id} began as {run}")
    _check_delay(at, run)


def check_run(at: int, old: RunRow, new: RunRow, excuses: Excuses) -> None:
    """A run, and the claim on it."""
    if new.status not in RUN_WAYS[old.status]:
        raise Broken(f"run {new.id} went from {old.status} to {new.status}")
    if new.ver != old.ver + 1 or new.last_seq < old.last_seq:
        raise Broken(f"run {new.id} went from {old} to {new}")
    if any(getattr(old, name) != getattr(new, name) for name in FOR_EVER):
        raise Broken(f"run {new.id} became another one: {old} to {new}")
    if old.successor_no not in (None, new.successor_no):
        raise Broken(f"run {new.id} changed its successor: {old} to {new}")
    if new.status == RunStatus.TIMED_OUT and old.is_open:
        if old.timeout_at is None or old.timeout_at > at:
            raise Broken(f"run {new.id} timed out before its time: {old} to {new}")
    if old.claimed_by is None:
        _check_delay(at, new)
    _check_claim(at, old, new, excuses)
    _check_keeper(at, old, new)


def _check_delay(at: int, run: RunRow) -> None:
    if run.claim_token is not None and at < run.start_at and run.cancel_seq is None:
        raise Broken(f"run {run.id} was claimed before it was to start: {run}")


def _check_claim(at: int, old: RunRow, new: RunRow, excuses: Excuses) -> None:
    same = old.claim_token == new.claim_token
    if old.claim_token is not None and not same and not excuses.released:
        _check_claim_ended(at, old, new)
    if new.claim_token is None:
        return
    if same and new.claim_until is None and old.claim_until is not None and old.claim_until > at:
        raise Broken(f"the lease on {new.id} expired before its time: {old} to {new}")
    if not same and old.last_seq == new.last_seq and not (excuses.released or excuses.woken):
        ready = old.ready_at is not None and old.ready_at <= at
        expired = old.claim_until is not None and old.claim_until <= at
        early = old.ready_at is not None and old.blocked is not None and excuses.registered
        if not (ready or expired or early):
            raise Broken(f"run {new.id} was claimed though not ready: {old} to {new}")


def _check_keeper(at: int, old: RunRow, new: RunRow) -> None:
    """The news of a run that a worker keeps are for a while nobody else's."""
    if old.kept_token is None or old.claim_token is not None or new.claim_token is None:
        return
    early = old.ready_at is None or at < old.ready_at + KEPT_FOR
    if early and new.claimed_by != old.claimed_by:
        raise Broken(f"run {new.id} was to wait for its keeper: {old} to {new}")


def _check_claim_ended(at: int, old: RunRow, new: RunRow) -> None:
    if not new.is_open or not old.is_open:
        return
    if new.claim_token is None:
        raise Broken(f"the claim {old.claim_token} on {old.id} was closed by nobody")
    if old.claim_until is not None and old.claim_until > at:
        raise Broken(f"two open claims on run {old.id}: {old} and {new}")


def check_activity(at: int, old: ActivityRow, new: ActivityRow, *, released: bool) -> None:
    """An activity, and the claim on it."""
    if new.status not in ACTIVITY_WAYS[old.status]:
        raise Broken(f"activity {new.no} went from {old.status} to {new.status}")
    if new.ver != old.ver + 1:
        raise Broken(f"activity {new.no} went from {old} to {new}")
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


def check_timer(at: int, old: TimerRow | None, new: TimerRow) -> None:
    """A timer; a waking for an attempt at a step is set again and again."""
    if old is not None and new.seq > 0 and new.state not in TIMER_WAYS[old.state]:
        raise Broken(f"timer {new.no} went from {old.state} to {new.state}")
    if new.state == TimerState.FIRED and new.fire_at > at:
        raise Broken(f"timer {new.no} fired before its time")
