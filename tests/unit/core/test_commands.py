"""Command batches: each effect once, in order, all of a batch or nothing."""

import pytest

from assay.errors import Conflict, NonDeterminism, NotFound
from assay.model.commands import Command, CompleteWorkflow, FailWorkflow
from assay.model.events import EventType
from assay.model.ids import claim_token
from assay.model.operations import Cancel, Due, DueKind, Signal, SubmitCommands, Terminate
from assay.model.retry import RetryPolicy
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.time import MICROS, seconds
from tests.unit.core.desk import NOW, Desk, activity, child, said, timer

STARTED = EventType.WORKFLOW_STARTED


def test_an_activity_is_scheduled_due_now_at_its_first_attempt() -> None:
    desk = Desk()
    desk.start()
    policy = RetryPolicy(max_attempts=7)
    desk.step(activity(3, policy=policy))
    row, event = desk.activity(3), desk.events()[-1]
    assert (row.status, row.attempt, row.ready_at) == (ActivityStatus.PENDING, 1, NOW)
    assert (row.scheduled_at, row.scheduled_seq, row.policy) == (NOW, event.seq, policy)
    assert event.type is EventType.ACTIVITY_SCHEDULED
    assert said(event) == {
        "activity_id": row.no,
        "activity_seq": 3,
        "name": "pay",
        "task_queue": "default",
        "input": "[3]",
    }


@pytest.mark.parametrize(("secs", "due"), [(60, 60), (0.25, 0.25), (0, 0), (-5, 0), (1e11, 1e10)])
def test_a_timer_is_due_after_its_duration(secs: float, due: float) -> None:
    desk = Desk()
    desk.start()
    desk.step(timer(2, secs))
    row, event = desk.timer(2), desk.events()[-1]
    assert (row.fire_at, row.state) == (NOW + round(due * MICROS), TimerState.OPEN)
    assert event.type is EventType.TIMER_SCHEDULED
    assert said(event) == {
        "timer_id": row.no,
        "timer_seq": 2,
        "fire_at": seconds(row.fire_at),
        "duration_secs": max(0, secs),
    }


REPEATS: list[tuple[Command, ...]] = [
    (activity(1),),
    (timer(1),),
    (child(),),
    (activity(1), activity(2)),
    (timer(1), timer(2)),
]


@pytest.mark.parametrize("commands", REPEATS)
def test_a_repeat_changes_nothing(commands: tuple[Command, ...]) -> None:
    desk = Desk()
    desk.start()
    desk.step(*commands)
    told, rows = desk.told(), len(desk.activities.rows) + len(desk.timers.rows) + len(desk.runs)
    desk.do(Signal("wf", "go"))
    desk.step(*commands)
    assert desk.told() == [*told, EventType.SIGNAL_RECEIVED]
    assert len(desk.activities.rows) + len(desk.timers.rows) + len(desk.runs) == rows


@pytest.mark.parametrize("commands", REPEATS)
def test_a_repeat_within_one_batch_changes_nothing(commands: tuple[Command, ...]) -> None:
    once, twice = Desk(), Desk()
    for desk, batch in ((once, commands), (twice, commands + commands)):
        desk.start()
        desk.step(*batch)
    assert once.told() == twice.told()
    assert once.at().ready_at is twice.at().ready_at is None


def test_a_repeat_of_what_is_over_changes_nothing() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1), timer(1, 0))
    desk.do(Due(DueKind.TIMER, desk.timer().no))
    told = desk.told()
    desk.step(activity(1), timer(1, 99))
    assert desk.told() == told
    assert desk.timer().state is TimerState.FIRED


def test_seqs_may_come_in_any_order() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(5), timer(5))
    desk.do(Signal("wf", "go"))
    desk.step(activity(2), timer(2))
    assert [row.seq for row in desk.activities.of(desk.at().no)] == [5, 2]
    assert [row.seq for row in desk.timers.of(desk.at().no)] == [5, 2]
    assert (desk.at().top_activity, desk.at().top_timer) == (5, 5)


# Non-determinism


def test_another_name_under_a_seq_closes_the_claim_and_blocks() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1))
    desk.do(Signal("wf", "go"))
    told = desk.told()
    desk.claim()
    with pytest.raises(NonDeterminism, match="non-deterministic replay: activity 1 of workflow wf"):
        desk.submit(timer(1), activity(2), activity(1, "ship"))
    run = desk.at()
    assert desk.told() == told
    assert (run.status, run.claim_token, run.attempt) == (RunStatus.RUNNING, None, 1)
    assert (run.blocked or "").startswith("non-deterministic replay: ")
    assert run.ready_at == desk.now + MICROS
    assert not desk.timers.rows


def test_non_determinism_backs_off_up_to_a_minute_and_corrected_code_heals_it() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1))
    desk.do(Signal("wf", "go"))
    delays = []
    for _ in range(8):
        desk.now = max(desk.now, desk.at().ready_at or 0)
        desk.claim()
        with pytest.raises(NonDeterminism):
            desk.submit(activity(1, "ship"))
        delays.append(((desk.at().ready_at or 0) - desk.now) / MICROS)
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]
    desk.later(60)
    desk.step(activity(1), activity(2))
    assert (desk.at().blocked, desk.at().attempt, desk.at().ready_at) == (None, 0, None)


def test_a_mismatch_without_a_claim_blocks_nobody() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1))
    with pytest.raises(Conflict):
        desk.submit(activity(1, "ship"))
    assert desk.at().blocked is None


# Whose batch counts


def test_a_batch_counts_under_the_open_claim_only() -> None:
    desk = Desk()
    desk.start()
    with pytest.raises(NotFound, match="not found: workflow nobody"):
        desk.submit(id="nobody")
    with pytest.raises(Conflict):
        desk.submit()
    token = desk.claim().token
    with pytest.raises(Conflict):
        desk.submit(activity(), worker="w2")
    with pytest.raises(Conflict):
        desk.do(SubmitCommands("wf", "w1", (activity(),), claim_token(token + 1)))
    desk.do(SubmitCommands("wf", "w1", (activity(),), claim_token(token)))
    assert len(desk.activities.rows) == 1


def test_a_batch_for_a_run_that_is_over_is_refused() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Terminate("wf"))
    with pytest.raises(Conflict, match="workflow wf is FAILED"):
        desk.submit(activity())


def test_what_follows_a_terminal_command_is_ignored() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1), CompleteWorkflow("1"), FailWorkflow("no"), activity(2), timer())
    assert desk.at().status is RunStatus.COMPLETED
    assert desk.told() == [STARTED, EventType.ACTIVITY_SCHEDULED, EventType.WORKFLOW_COMPLETED]
    assert desk.activity(1).status is ActivityStatus.CANCELLED


@pytest.mark.parametrize("failure", [None, '{"type":"Broken","traceback":null}'])
def test_a_handler_that_raised_says_as_much_as_it_can(failure: str | None) -> None:
    desk = Desk()
    desk.start()
    desk.step(FailWorkflow("no", failure))
    more = {} if failure is None else {"failure": {"type": "Broken", "traceback": None}}
    assert said(desk.events()[-1]) == {"error": "no", **more}
    assert desk.at().error == "no"


def test_a_batch_claimed_before_the_first_cancel_request_schedules_nothing() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit(activity(), timer(), child())
    assert desk.told() == [STARTED, EventType.WORKFLOW_CANCEL_REQUESTED]
    assert desk.at().ready_at is not None


def test_a_batch_claimed_after_it_may_clean_up_but_starts_no_child() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit(activity(), timer(), child())
    assert desk.told()[2:] == [
        EventType.WORKFLOW_CANCEL_REQUESTED,
        EventType.ACTIVITY_SCHEDULED,
        EventType.TIMER_SCHEDULED,
    ]


def test_a_terminal_command_counts_even_if_it_was_claimed_before_a_cancel_request() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit(activity(), CompleteWorkflow("1"))
    assert desk.at().status is RunStatus.COMPLETED
