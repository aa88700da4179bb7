"""Why a run is not moving, by the rows of its moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.core.claim import EXPIRED_TEXT
from assay.core.waiting_for import AND_MORE, ANYTHING, MOST, waiting_for
from assay.model.run import Run
from assay.model.situation import (
    AwaitedActivity,
    AwaitedChild,
    AwaitedTimer,
    Reason,
    ReasonKind,
    Situation,
)
from assay.model.states import TERMINAL_RUN, ActivityStatus, RunStatus
from assay.model.time import MICROS

NOW = 1_000_000 * MICROS
STAFFED = frozenset({"default", "work"})
RUN = Run(
    no=1,
    id="wf",
    run_id="r",
    namespace="main",
    type="T",
    status=RunStatus.RUNNING,
    created_at=NOW - 100 * MICROS,
    updated_at=NOW - 50 * MICROS,
    start_at=NOW - 100 * MICROS,
)
ACTIVITY = AwaitedActivity(
    name="pay",
    status=ActivityStatus.PENDING,
    queue="work",
    attempt=1,
    max_attempts=3,
    scheduled_at=NOW - 10 * MICROS,
    failed_at=None,
    started_at=None,
    ready_at=NOW - 10 * MICROS,
    claimed_by=None,
    claim_until=None,
)


def reasons(run: Run = RUN, staffed: frozenset[str] = STAFFED, **parts: Any) -> list[Reason]:
    return waiting_for(Situation(run, staffed=staffed, **parts), NOW)


def only(run: Run = RUN, staffed: frozenset[str] = STAFFED, **parts: Any) -> Reason:
    [reason] = reasons(run, staffed, **parts)
    return reason


# --- the workflow task --------------------------------------------------------------------------


def test_a_run_with_news_waits_for_a_worker() -> None:
    run = replace(RUN, ready_at=NOW - 5)
    note = "waits for a worker on queue 'default'"
    assert only(run) == Reason(ReasonKind.WORKFLOW_TASK, None, NOW - 5, None, note)
    lonely = only(run, frozenset())
    assert lonely.note == f"{note}, where no living worker is registered"
    asked = only(replace(run, cancel_seq=3))
    assert asked.note == f"{note}; its cancellation was requested"


def test_a_claimed_run_names_its_holder() -> None:
    run = replace(RUN, claim_token=7, claimed_by="w", claim_until=NOW + 9, claimed_ready_at=NOW - 3)
    note = "worker 'w' works on it, under a lease until then"
    assert only(run) == Reason(ReasonKind.WORKFLOW_TASK, None, NOW - 3, NOW + 9, note)


def test_an_expired_lease_is_said() -> None:
    run = replace(RUN, claim_token=7, claimed_by="w", ready_at=NOW)
    assert only(run).note == (
        "the lease of worker 'w' has expired; waits for a worker on queue 'default'"
    )


def test_a_delayed_start() -> None:
    run = replace(RUN, status=RunStatus.PENDING, ready_at=NOW + 5, start_at=NOW + 5)
    note = "starts after its delay on queue 'default'"
    assert only(run) == Reason(ReasonKind.START_DELAY, None, RUN.created_at, NOW + 5, note)
    assert only(replace(run, ready_at=NOW)).kind is ReasonKind.WORKFLOW_TASK


@pytest.mark.parametrize(
    ("blocked", "attempt", "since"),
    [
        ("refused", 1, 1),
        ("refused", 3, 4),
        ("refused", 30, 60),
        (EXPIRED_TEXT.format(3), 3, 1),
        (EXPIRED_TEXT.format(6), 6, 8),
    ],
)
def test_a_blocked_run_since_its_latest_failure(blocked: str, attempt: int, since: int) -> None:
    at = NOW + MICROS // 2
    run = replace(RUN, blocked=blocked, attempt=attempt, ready_at=at, claim_seq=2)
    note = f"{blocked}; offered again on queue 'default'"
    assert only(run) == Reason(ReasonKind.BLOCKED, None, at - since * MICROS, at, note)


def test_a_blocked_run_that_is_held_or_due() -> None:
    held = replace(RUN, blocked="why", claim_until=NOW + 5, claimed_by="w", claimed_ready_at=7)
    reason = only(held)
    assert (reason.kind, reason.since, reason.until) == (ReasonKind.BLOCKED, 7, NOW + 5)
    assert reason.note == "why; worker 'w' works on it, under a lease until then"
    due = only(replace(RUN, blocked="why", attempt=1, ready_at=NOW - 5))
    assert (due.until, due.since) == (None, NOW - 5 - MICROS)


# --- what is under way --------------------------------------------------------------------------


def test_an_activity_waits_for_a_worker() -> None:
    note = "waits for a worker on queue 'work', attempt 1 of 3"
    expected = Reason(ReasonKind.ACTIVITY, "pay", NOW - 10 * MICROS, None, note)
    assert only(activities=(ACTIVITY,)) == expected
    assert "no living worker" in only(staffed=frozenset({"default"}), activities=(ACTIVITY,)).note


def test_an_activity_that_runs() -> None:
    running = replace(
        ACTIVITY,
        status=ActivityStatus.RUNNING,
        ready_at=None,
        started_at=NOW - 4,
        claimed_by="w",
        claim_until=NOW + 6,
        attempt=2,
    )
    expected = Reason(
        ReasonKind.ACTIVITY, "pay", NOW - 4, NOW + 6, "worker 'w' runs it, attempt 2 of 3"
    )
    assert only(staffed=frozenset(), activities=(running,)) == expected


def test_an_activity_that_will_be_tried_again() -> None:
    at = NOW + 3 * MICROS
    waiting = replace(ACTIVITY, attempt=3, scheduled_at=at, ready_at=at, max_attempts=5)
    note = "failed, attempt 3 of 5 comes then on queue 'work'"
    failed = replace(waiting, failed_at=NOW - 7)
    assert only(activities=(failed,)) == Reason(ReasonKind.RETRY, "pay", NOW - 7, at, note)
    # Attempts that failed before they were kept, in an older version.
    assert only(activities=(waiting,)) == Reason(ReasonKind.RETRY, "pay", NOW, at, note)
    assert only(activities=(replace(waiting, ready_at=NOW),)).kind is ReasonKind.ACTIVITY


def test_a_timer() -> None:
    expected = Reason(ReasonKind.TIMER, None, NOW - 3, NOW + 4, "timer 2 fires then")
    assert only(timers=(AwaitedTimer(2, NOW + 4, NOW - 3, None),)) == expected


def test_the_next_attempt_at_a_step_is_a_retry() -> None:
    record = '{"step_seq":4,"name":"fetch","attempt":2,"error":"down","retry_in_secs":5}'
    reason = only(timers=(AwaitedTimer(-4, NOW + 5, NOW, record),))
    assert (reason.kind, reason.name) == (ReasonKind.RETRY, "fetch")
    assert (reason.since, reason.until) == (NOW, NOW + 5)
    assert reason.note == "attempt 2 at the step failed: down; the next one comes then"
    long = record.replace("down", "d" * 5000)
    assert len(only(timers=(AwaitedTimer(-4, NOW + 5, NOW, long),)).note) < 300


def test_a_signal_without_and_with_a_time_out() -> None:
    run = replace(RUN, waits='[["go",null,3,50],["stop \\"now\\"",2,4,60]]')
    timer = AwaitedTimer(2, NOW + 4, 60, None)
    ticking, plain, timed = reasons(run, timers=(timer,))
    assert plain == Reason(ReasonKind.SIGNAL, "go", 50, None, "waits for signal 'go'")
    assert timed.name == 'stop "now"'
    assert timed.until == NOW + 4
    assert timed.note == "waits for signal 'stop \"now\"', or until timer 2 fires"
    assert ticking.kind is ReasonKind.TIMER
    assert ticking.note == "timer 2 fires then, which ends the wait for signal 'stop \"now\"'"
    # A timer that was silenced ends no wait.
    assert [reason.until for reason in reasons(run)] == [None, None]


def test_a_child() -> None:
    child = AwaitedChild("sub", "sub", RunStatus.PENDING, "elsewhere", NOW - 9)
    note = "is PENDING on queue 'elsewhere', where no living worker is registered"
    assert only(children=(child,)) == Reason(ReasonKind.CHILD, "sub", NOW - 9, None, note)
    successor = replace(child, id="sub-continued-5", queue="work", status=RunStatus.RUNNING)
    reason = only(children=(successor,))
    assert reason.name == "sub", "the id under which the parent knows it"
    assert reason.note == "is RUNNING as 'sub-continued-5' on queue 'work'"


# --- all of it ----------------------------------------------------------------------------------


def test_the_order_and_the_bounds() -> None:
    run = replace(RUN, ready_at=NOW, waits='[["go",null,3,50]]')
    many = tuple(replace(ACTIVITY, name=f"a{n}") for n in range(MOST + 1))
    timers = tuple(AwaitedTimer(n, NOW, NOW, None) for n in range(1, MOST + 1))
    children = tuple(
        AwaitedChild(f"c{n}", None, RunStatus.RUNNING, "work", NOW) for n in range(MOST + 1)
    )
    found = reasons(run, activities=many, timers=timers, children=children)
    kinds = [reason.kind for reason in found]
    assert kinds == [
        ReasonKind.WORKFLOW_TASK,
        *[ReasonKind.ACTIVITY] * MOST,
        *[ReasonKind.TIMER] * MOST,
        ReasonKind.SIGNAL,
        *[ReasonKind.CHILD] * MOST,
    ]
    more = [reason for reason in found if reason.note.endswith(AND_MORE)]
    assert [reason.name for reason in more] == [f"a{MOST - 1}", f"c{MOST - 1}"]


def test_a_run_with_nothing_under_way_says_so() -> None:
    assert only() == Reason(ReasonKind.SIGNAL, None, RUN.updated_at, None, ANYTHING)


@pytest.mark.parametrize("status", sorted(TERMINAL_RUN))
def test_an_ended_run_waits_for_nothing(status: RunStatus) -> None:
    assert reasons(replace(RUN, status=status), activities=(ACTIVITY,)) == []


moments = st.integers(NOW - 10**9, NOW + 10**9)
maybe = st.none() | moments


@given(
    run=st.builds(
        lambda **fields: replace(RUN, **fields),
        status=st.sampled_from([RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING]),
        ready_at=maybe,
        claim_until=maybe,
        claim_token=st.none() | st.just(5),
        claimed_by=st.none() | st.just("w"),
        blocked=st.sampled_from([None, "why", EXPIRED_TEXT.format(4)]),
        attempt=st.integers(0, 100),
        cancel_seq=st.none() | st.just(2),
        waits=st.sampled_from([None, '[["go",1,2,3]]']),
    ),
    activities=st.lists(
        st.builds(
            lambda **fields: replace(ACTIVITY, **fields),
            status=st.sampled_from([ActivityStatus.PENDING, ActivityStatus.RUNNING]),
            attempt=st.integers(1, 5000),
            failed_at=maybe,
            ready_at=maybe,
            claim_until=maybe,
        ),
        max_size=2,
    ),
    timers=st.lists(
        st.builds(AwaitedTimer, st.integers(-3, 3), moments, maybe, st.none()), max_size=2
    ),
)
def test_every_open_run_has_a_reason_that_is_whole(
    run: Run, activities: list[AwaitedActivity], timers: list[AwaitedTimer]
) -> None:
    situation = Situation(run, tuple(activities), tuple(timers))
    found = waiting_for(situation, NOW)
    assert found
    assert found == waiting_for(situation, NOW)
    assert all(reason.note for reason in found)
    assert all(reason.since <= NOW for reason in found if reason.kind is ReasonKind.BLOCKED)
    kinds = [reason.kind for reason in found]
    if run.ready_at is not None or run.claim_until is not None:
        assert (kinds[0] is ReasonKind.BLOCKED) == (run.blocked is not None)
