"""What a replay has recorded: side effects, steps and patches, each once, in whatever order."""

import pytest
from msgspec.structs import replace

from assay.core.claim import is_run_claimable
from assay.model.commands import (
    Command,
    RecordPatch,
    RecordSideEffect,
    RecordStep,
)
from assay.model.events import EventType
from assay.model.operations import Cancel, Due, DueKind, Signal
from assay.model.states import RunStatus, TimerState
from assay.model.time import MICROS
from tests.unit.core.desk import Desk, activity, said, timer
from tests.unit.core.scenes import begun

SIDE_EFFECT = EventType.SIDE_EFFECT_RECORDED


def effect(seq: int, value: str | None = "7", name: str = "dice") -> RecordSideEffect:
    return RecordSideEffect(seq, name, value)


def step(
    seq: int = 1,
    attempt: int = 1,
    *,
    error: str | None = None,
    final: bool = True,
    retry_in: float = 0.0,
) -> RecordStep:
    return RecordStep(seq, "charge", attempt, None if error else "[7]", error, final, retry_in)


def failed(seq: int = 1, attempt: int = 1, retry_in: float = 0.0) -> RecordStep:
    return step(seq, attempt, error="broke", final=False, retry_in=retry_in)


def told(desk: Desk) -> list[EventType]:
    """What history says after the start."""
    return desk.told()[1:]


# Side effects


def test_a_side_effect_is_in_history_and_the_run_goes_on_at_once() -> None:
    desk = begun(effect(1, '{"n":1}'))
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        SIDE_EFFECT,
        {"side_effect_seq": 1, "name": "dice", "value": {"n": 1}},
    )
    assert is_run_claimable(desk.at(), desk.now)


@pytest.mark.parametrize("value", [None, '"other"', "7"])
def test_a_seq_is_recorded_once_whatever_the_value_and_then_wakes_nobody(value: str | None) -> None:
    desk = begun(effect(1, None))
    desk.step(effect(1, value, "another name"))
    assert told(desk) == [SIDE_EFFECT]
    assert said(desk.events()[-1])["value"] is None
    assert desk.at().ready_at is None


def test_side_effects_may_come_and_be_repeated_in_any_order() -> None:
    desk = begun(effect(5), effect(2), effect(5), effect(2))
    desk.step(effect(3), effect(5), effect(1), effect(2), effect(3))
    seqs = [said(event)["side_effect_seq"] for event in desk.events()[1:]]
    assert seqs == [5, 2, 3, 1]
    desk.step(effect(1), effect(2), effect(3), effect(5))
    assert desk.at().last_seq == 5
    assert desk.at().ready_at is None


def test_kinds_of_records_count_for_themselves() -> None:
    desk = begun(effect(1), step(1), RecordPatch("1"), timer(1), activity(1))
    assert told(desk) == [
        SIDE_EFFECT,
        EventType.STEP_COMPLETED,
        EventType.PATCH_RECORDED,
        EventType.TIMER_SCHEDULED,
        EventType.ACTIVITY_SCHEDULED,
    ]


def test_a_record_is_kept_although_cancel_was_requested_since_the_claim() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Cancel("wf"))
    desk.submit(effect(1), step(1), RecordPatch("new"), timer(1))
    assert told(desk) == [
        EventType.WORKFLOW_CANCEL_REQUESTED,
        SIDE_EFFECT,
        EventType.STEP_COMPLETED,
        EventType.PATCH_RECORDED,
    ]


def test_news_under_the_claim_keeps_its_age() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(Signal("wf", "go"))
    marked = desk.now
    desk.later(1)
    desk.submit(effect(1))
    assert desk.at().ready_at == marked


# Steps


@pytest.mark.parametrize(
    ("command", "kind", "outcome"),
    [
        (step(), EventType.STEP_COMPLETED, {"result": [7]}),
        (step(error="no"), EventType.STEP_FAILED, {"error": "no"}),
        (
            failed(retry_in=2.5),
            EventType.STEP_ATTEMPT_FAILED,
            {"error": "broke", "retry_in_secs": 2.5},
        ),
    ],
)
def test_the_outcome_of_a_step_is_in_history(
    command: RecordStep, kind: EventType, outcome: dict[str, object]
) -> None:
    desk = begun(command)
    last = desk.events()[-1]
    assert (last.type, said(last)) == (
        kind,
        {"step_seq": 1, "name": "charge", "attempt": 1, **outcome},
    )


@pytest.mark.parametrize(
    ("command", "kind", "shown"),
    [
        (step(error="no"), EventType.STEP_FAILED, {"type": "Down", "cause": None}),
        (failed(retry_in=1), EventType.STEP_ATTEMPT_FAILED, {"type": "Down", "cause": None}),
        (step(), EventType.STEP_COMPLETED, None),
    ],
)
def test_what_more_there_is_to_say_of_an_error_is_in_history_too(
    command: RecordStep, kind: EventType, shown: object
) -> None:
    desk = begun(replace(command, failure='{"type":"Down","cause":null}'))
    last = desk.events()[-1]
    assert (last.type, said(last).get("failure")) == (kind, shown)
    assert said(last).get("error") == command.error


@pytest.mark.parametrize("command", [step(), step(error="no"), failed()])
def test_an_outcome_lets_the_run_go_on_at_once(command: RecordStep) -> None:
    assert begun(command).at().ready_at is not None


ATTEMPT, DONE, FAILED = (
    EventType.STEP_ATTEMPT_FAILED,
    EventType.STEP_COMPLETED,
    EventType.STEP_FAILED,
)
ORDERS: list[tuple[list[Command], list[EventType]]] = [
    ([failed(1, 1), failed(1, 1)], [ATTEMPT]),
    ([failed(1, 1), failed(1, 2), step(1, 3)], [ATTEMPT, ATTEMPT, DONE]),
    ([failed(1, 2), failed(1, 1)], [ATTEMPT, ATTEMPT]),
    # An attempt that is in history has its outcome, also when it comes again as a final one.
    ([failed(1, 1), step(1, 1)], [ATTEMPT]),
    # After the final outcome nothing of that step is news.
    ([step(1, 3), failed(1, 1), failed(1, 4), step(1, 9), step(1, 3, error="no")], [DONE]),
    ([step(1, 1, error="no"), step(1, 2)], [FAILED]),
    ([step(3), step(1), step(2), step(3), failed(2, 5)], [DONE, DONE, DONE]),
]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("commands", "kinds"), ORDERS)
def test_attempts_and_finals_in_any_order(
    commands: list[Command], kinds: list[EventType], together: bool
) -> None:
    desk = Desk()
    desk.start()
    for batch in [commands] if together else [[command] for command in commands]:
        desk.step(*batch)
    assert told(desk) == kinds


def test_a_step_that_is_known_wakes_nobody() -> None:
    desk = begun(step(1), step(2))
    desk.step(step(1), failed(2, 7, retry_in=1))
    assert desk.at().ready_at is None
    assert not desk.timers.rows


# The time until the next attempt


def wake(desk: Desk, seq: int = 1) -> None:
    row = desk.timer(-seq)
    desk.now = max(desk.now, row.fire_at)
    desk.do(Due(DueKind.TIMER, row.no))


def test_the_run_is_offered_when_the_next_attempt_may_begin_and_history_says_nothing() -> None:
    desk = begun(failed(retry_in=5))
    assert desk.at().ready_at is None
    assert desk.timer(-1).fire_at == desk.now + 5 * MICROS
    desk.later(4)
    desk.do(Due(DueKind.TIMER, desk.timer(-1).no))
    assert desk.at().ready_at is None
    wake(desk)
    assert is_run_claimable(desk.at(), desk.now)
    assert told(desk) == [ATTEMPT]


def test_each_failed_attempt_sets_the_waking_anew() -> None:
    desk = begun(failed(1, 1, 5))
    no = desk.timer(-1).no
    wake(desk)
    desk.step(failed(1, 2, 10))
    row = desk.timer(-1)
    assert (row.no, row.state, row.fire_at) == (no, TimerState.OPEN, desk.now + 10 * MICROS)
    wake(desk)
    assert desk.at().ready_at == desk.now


def test_steps_wait_side_by_side_and_leave_the_handlers_timers_alone() -> None:
    desk = begun(failed(1, 1, 5), failed(2, 1, 7), timer(1, 60), timer(2, 60))
    assert sorted(row.seq for row in desk.timers.of(desk.at().no)) == [-2, -1, 1, 2]
    assert desk.at().top_timer == 2
    wake(desk, 1)
    assert [desk.timer(seq).state for seq in (-2, 1, 2)] == [TimerState.OPEN] * 3


def test_news_offers_the_run_before_the_waking() -> None:
    desk = begun(failed(retry_in=60))
    desk.do(Signal("wf", "go"))
    assert desk.at().ready_at == desk.now
    assert desk.timer(-1).state is TimerState.OPEN


def test_a_waking_under_a_claim_offers_the_run_after_it() -> None:
    desk = begun(failed(retry_in=5))
    desk.do(Signal("wf", "go"))
    desk.claim()
    wake(desk)
    desk.submit()
    assert is_run_claimable(desk.at(), desk.now)


def test_a_waking_under_a_claim_that_expires_then_is_not_lost_with_its_mark() -> None:
    desk = begun(failed(retry_in=5))
    desk.do(Signal("wf", "go"))
    desk.claim()
    wake(desk)
    desk.expire()
    desk.submit()
    assert is_run_claimable(desk.at(), desk.now)


def test_a_cancel_request_silences_the_waking_and_cleanup_may_set_it_again() -> None:
    desk = begun(failed(1, 1, 60))
    desk.do(Cancel("wf"))
    assert desk.timer(-1).state is TimerState.SILENCED
    desk.step(failed(1, 2, 5))
    row = desk.timer(-1)
    assert (row.state, row.silenced_at, row.silenced_seq) == (TimerState.OPEN, None, None)
    wake(desk)
    assert desk.at().ready_at == desk.now


# Patches


def test_a_patch_is_recorded_once_and_wakes_nobody() -> None:
    desk = begun(RecordPatch("new way"), RecordPatch("new way"))
    assert said(desk.events()[-1]) == {"patch_id": "new way"}
    assert desk.at().ready_at is None
    desk.do(Signal("wf", "go"))
    desk.step(RecordPatch("new way"), RecordPatch("other"), RecordPatch("other"))
    patches = [
        said(event)["patch_id"] for event in desk.events() if event.type is EventType.PATCH_RECORDED
    ]
    assert patches == ["new way", "other"]


def test_a_run_that_only_records_is_running() -> None:
    desk = begun(effect(1), step(1), RecordPatch("new"))
    assert desk.at().status is RunStatus.RUNNING
