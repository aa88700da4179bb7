"""Why is it not moving? The reasons, from the rows of one open run; nothing of this is stored.

In this order: the workflow task (or the delay, or what blocks it), activities, timers, signals,
children. A wait with a time-out is two reasons, the signal and the timer, and each names the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from assay.core.backoff import EXPIRED_LONGEST_SECS, REFUSED_LONGEST_SECS, blocked_delay
from assay.core.claim import EXPIRIES_BEFORE_BLOCKED, is_expiry
from assay.core.waits import Wait, waits_of
from assay.model.run import Run
from assay.model.situation import (
    AwaitedActivity,
    AwaitedChild,
    AwaitedTimer,
    Reason,
    ReasonKind,
    Situation,
)
from assay.model.states import ActivityStatus

# Of activities, timers, signals and children so many are told of each; more say nothing new.
MOST = 100
AND_MORE = "; there are more, which are not shown"
ERROR_LONGEST = 200
ANYTHING = "nothing is under way: a signal, a cancel request or an operator can move it"

Part = TypeVar("Part")


class _Step(msgspec.Struct):
    name: str = ""
    attempt: int = 0
    error: str | None = None


_step = msgspec.json.Decoder(_Step)


def waiting_for(situation: Situation, now: int) -> list[Reason]:
    """What an open run waits for; nothing for one that has ended."""
    run = situation.run
    if not run.is_open:
        return []
    waits = waits_of(run)
    reasons = [
        *_task(situation, now),
        *_first(_of_activity(each, situation, now) for each in situation.activities),
        *_first(_of_timer(each, waits) for each in situation.timers),
        *_first(_of_wait(each, situation.timers) for each in waits),
        *_first(_of_child(each, situation) for each in situation.children),
    ]
    if not reasons:
        return [Reason(ReasonKind.SIGNAL, None, run.updated_at, None, ANYTHING)]
    return reasons


def _task(situation: Situation, now: int) -> Iterator[Reason]:
    run = situation.run
    claimed = run.claim_until is not None
    if not claimed and run.ready_at is None:
        return
    until = run.claim_until if claimed else _later(run.ready_at, now)
    held = f"worker '{run.claimed_by}' works on it, under a lease until then" if claimed else ""
    where = _on_queue(run.queue, situation)
    if run.blocked is not None:
        note = _and(run.blocked, held or f"offered again{where}")
        yield Reason(ReasonKind.BLOCKED, None, _blocked_since(run, now), until, note)
    elif claimed:
        since = run.claimed_ready_at or run.updated_at
        yield Reason(ReasonKind.WORKFLOW_TASK, None, since, until, _and(held, _cancel(run)))
    elif until is not None:
        note = f"starts after its delay{where}"
        yield Reason(ReasonKind.START_DELAY, None, run.created_at, until, note)
    else:
        expired = ""
        if run.claim_token is not None:
            expired = f"the lease of worker '{run.claimed_by}' has expired"
        note = _and(expired, f"waits for a worker{where}", _cancel(run))
        yield Reason(ReasonKind.WORKFLOW_TASK, None, run.ready_at or now, None, note)


def _blocked_since(run: Run, now: int) -> int:
    """The latest failure: so much before it is offered again as the back-off then was."""
    if run.ready_at is None or run.claim_until is not None:
        return run.claimed_ready_at or run.updated_at
    failures, longest = run.attempt, REFUSED_LONGEST_SECS
    if is_expiry(run.blocked or ""):
        failures, longest = failures - EXPIRIES_BEFORE_BLOCKED + 1, EXPIRED_LONGEST_SECS
    return min(now, max(run.created_at, run.ready_at - blocked_delay(failures, longest)))


def _of_activity(activity: AwaitedActivity, situation: Situation, now: int) -> Reason:
    kind, attempt = ReasonKind.ACTIVITY, f"attempt {activity.attempt} of {activity.max_attempts}"
    where = _on_queue(activity.queue, situation)
    if activity.status is ActivityStatus.RUNNING:
        since = activity.started_at or activity.scheduled_at
        note = f"worker '{activity.claimed_by}' runs it, {attempt}"
        return Reason(kind, activity.name, since, activity.claim_until, note)
    until = _later(activity.ready_at, now)
    if until is None:
        note = f"waits for a worker{where}, {attempt}"
        return Reason(kind, activity.name, activity.scheduled_at, None, note)
    since = now if activity.failed_at is None else activity.failed_at
    note = f"failed, {attempt} comes then{where}"
    return Reason(ReasonKind.RETRY, activity.name, since, until, note)


def _of_timer(timer: AwaitedTimer, waits: Iterable[Wait]) -> Reason:
    since = timer.fire_at if timer.set_at is None else timer.set_at
    if timer.seq < 0:
        step = _step.decode(timer.step or "{}")
        error = (step.error or "")[:ERROR_LONGEST]
        note = f"attempt {step.attempt} at the step failed: {error}; the next one comes then"
        return Reason(ReasonKind.RETRY, step.name, since, timer.fire_at, note)
    signals = [f"'{wait.signal}'" for wait in waits if wait.timer_seq == timer.seq]
    ends = f", which ends the wait for signal {', '.join(signals)}" if signals else ""
    note = f"timer {timer.seq} fires then{ends}"
    return Reason(ReasonKind.TIMER, None, since, timer.fire_at, note)


def _of_wait(wait: Wait, timers: Iterable[AwaitedTimer]) -> Reason:
    until = next((timer.fire_at for timer in timers if timer.seq == wait.timer_seq), None)
    at_most = "" if until is None else f", or until timer {wait.timer_seq} fires"
    note = f"waits for signal '{wait.signal}'{at_most}"
    return Reason(ReasonKind.SIGNAL, wait.signal, wait.at, until, note)


def _of_child(child: AwaitedChild, situation: Situation) -> Reason:
    name = child.child_id or child.id
    now_as = "" if name == child.id else f" as '{child.id}'"
    note = f"is {child.status}{now_as}{_on_queue(child.queue, situation)}"
    return Reason(ReasonKind.CHILD, name, child.created_at, None, note)


def _first(reasons: Iterable[Reason]) -> Sequence[Reason]:
    """The first of them, and at the last a word if there are more."""
    some = list(islice(reasons, MOST + 1))
    if len(some) > MOST:
        some.pop()
        some[-1] = replace(some[-1], note=some[-1].note + AND_MORE)
    return some


def _on_queue(queue: str, situation: Situation) -> str:
    absent = "" if queue in situation.staffed else ", where no living worker is registered"
    return f" on queue '{queue}'{absent}"


def _cancel(run: Run) -> str:
    return "" if run.cancel_seq is None else "its cancellation was requested"


def _later(at: int | None, now: int) -> int | None:
    return at if at is not None and at > now else None


def _and(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
