"""Schedules are made, changed, paused, resumed and deleted; none of this starts anything."""

import pytest
from msgspec.structs import replace

from assay.errors import BadValue, Conflict, NotFound
from assay.model.decision import Change
from assay.model.operations import (
    CreateNamespace,
    CreateSchedule,
    DeleteNamespace,
    DeleteSchedule,
    Due,
    DueKind,
    Operation,
    PatchSchedule,
    PauseSchedule,
    Planned,
    ResumeSchedule,
)
from assay.model.schedule import OverlapPolicy
from assay.model.time import MICROS
from tests.unit.core.desk import NOW, Desk
from tests.unit.core.plans import (
    EVERY_MINUTE,
    MINUTE,
    come_due,
    create,
    look,
    planned,
    schedule,
    started,
)

NEXT = NOW - NOW % MINUTE + MINUTE
NAMED = ("main", "nightly")


def test_a_new_schedule_has_all_it_was_given_and_its_next_instant() -> None:
    desk = Desk()
    row = create(desk, OverlapPolicy.QUEUE)
    assert row == schedule(desk)
    assert (row.type, row.cron, row.timezone, row.input, row.queue, row.overlap) == (
        "report",
        "0 * * * * *",
        "UTC",
        "[1]",
        "q",
        OverlapPolicy.QUEUE,
    )
    assert (row.created_at, row.next_run_at, row.paused) == (NOW, NEXT, False)
    assert (row.last_run_at, row.last_run_no, row.last_workflow_id) == (None, None, None)


def test_it_never_fires_at_registration() -> None:
    desk = Desk()
    desk.now = NEXT
    assert create(desk).next_run_at == NEXT + MINUTE
    look(desk)
    assert not started(desk)


REFUSED: list[tuple[CreateSchedule, type[Exception]]] = [
    (replace(EVERY_MINUTE, cron="every day", namespace="nowhere"), BadValue),
    (replace(EVERY_MINUTE, timezone="Mars/Base"), BadValue),
    (replace(EVERY_MINUTE, namespace="nowhere"), NotFound),
    (EVERY_MINUTE, Conflict),
]


@pytest.mark.parametrize(("operation", "error"), REFUSED)
def test_what_cannot_be_made(operation: CreateSchedule, error: type[Exception]) -> None:
    desk = planned()
    with pytest.raises(error):
        desk.do(operation)
    assert desk.decision.is_empty


def test_a_name_is_taken_within_its_namespace() -> None:
    desk = planned()
    desk.do(CreateNamespace("shop"))
    create(desk, namespace="shop")
    with pytest.raises(Conflict, match="schedule nightly exists in namespace shop"):
        create(desk, namespace="shop")


def test_an_expression_without_an_instant_is_planned_for_never() -> None:
    desk = Desk()
    desk.do(replace(EVERY_MINUTE, cron="0 0 0 30 2 *"))
    assert schedule(desk).next_run_at is None
    look(desk)
    assert desk.decision.is_empty


# Changes


@pytest.mark.parametrize(
    "patch",
    [
        PatchSchedule(*NAMED, input="{}"),
        PatchSchedule(*NAMED, queue="q2"),
        PatchSchedule(*NAMED, overlap=OverlapPolicy.ALLOW_ALL),
    ],
)
def test_what_is_given_replaces_what_was_and_the_next_instant_stays(patch: PatchSchedule) -> None:
    desk = planned()
    before = schedule(desk)
    desk.later(90)
    desk.do(patch)
    after = schedule(desk)
    changed = {
        name: getattr(after, name)
        for name in after.__struct_fields__
        if getattr(after, name) != getattr(before, name)
    }
    given = {"input": patch.input, "queue": patch.queue, "overlap": patch.overlap}
    assert changed == {name: value for name, value in given.items() if value} | {"ver": 1}


@pytest.mark.parametrize(
    ("patch", "next_run_at"),
    [
        (PatchSchedule(*NAMED, cron="30 * * * * *"), NEXT + 2 * MINUTE - MINUTE // 2),
        (PatchSchedule(*NAMED, cron="0 0 * * * *"), None),
        (PatchSchedule(*NAMED, timezone="Europe/Berlin"), NEXT + 2 * MINUTE),
        (PatchSchedule(*NAMED, cron="0 * * * * *"), NEXT + 2 * MINUTE),
    ],
)
def test_a_new_rhythm_counts_from_now(patch: PatchSchedule, next_run_at: int | None) -> None:
    desk = planned()
    desk.now = NEXT + MINUTE + MICROS
    desk.do(patch)
    row = schedule(desk)
    hour = 3600 * MICROS
    assert row.next_run_at == (next_run_at or desk.now - desk.now % hour + hour)
    look(desk)
    assert not started(desk)


@pytest.mark.parametrize(
    "patch", [PatchSchedule(*NAMED, cron="no"), PatchSchedule(*NAMED, timezone="Mars/Base")]
)
def test_a_patch_is_checked_before_the_schedule_is_looked_for(patch: PatchSchedule) -> None:
    for desk in (planned(), Desk()):
        with pytest.raises(BadValue):
            desk.do(patch)
        assert desk.decision.is_empty


def test_an_empty_patch_changes_nothing() -> None:
    desk = planned()
    before = schedule(desk)
    assert desk.do(PatchSchedule(*NAMED)) == Planned(before)
    assert schedule(desk) is before


# Pause and resume


def test_a_paused_schedule_does_not_fire_and_goes_on_from_now_without_backfill() -> None:
    desk = planned()
    desk.do(PauseSchedule(*NAMED))
    come_due(desk, late=150)
    assert not started(desk)
    desk.do(ResumeSchedule(*NAMED))
    row = schedule(desk)
    assert (row.paused, row.next_run_at) == (False, desk.now - desk.now % MINUTE + MINUTE)
    assert row.last_run_at is None
    come_due(desk)
    assert len(started(desk)) == 1


@pytest.mark.parametrize("operation", [PauseSchedule(*NAMED), ResumeSchedule(*NAMED)])
def test_what_is_so_already_stays_so(operation: Operation) -> None:
    desk = planned()
    desk.do(operation)
    before = schedule(desk)
    desk.later(90)
    assert desk.do(operation) == Planned(before)
    assert schedule(desk) is before


@pytest.mark.parametrize("paused", [True, False])
def test_an_engine_whose_clock_is_behind_does_not_plan_again_what_was_fired(paused: bool) -> None:
    desk = planned(OverlapPolicy.ALLOW_ALL)
    fired = come_due(desk).last_run_at
    assert fired == NEXT
    desk.later(-0.2)
    if paused:
        desk.do(PauseSchedule(*NAMED))
        desk.do(ResumeSchedule(*NAMED))
    else:
        desk.do(PatchSchedule(*NAMED, cron="0 * * * * *"))
    assert schedule(desk).next_run_at == fired + MINUTE


def test_resuming_what_is_not_paused_keeps_what_is_due() -> None:
    desk = planned()
    desk.now = NEXT
    desk.do(ResumeSchedule(*NAMED))
    look(desk)
    assert len(started(desk)) == 1


# Deleting


def test_a_deleted_schedule_is_gone_and_its_runs_go_on() -> None:
    desk = planned()
    come_due(desk)
    no = schedule(desk).no
    desk.do(DeleteSchedule(*NAMED))
    assert not desk.schedules
    desk.later(90)
    desk.do(Due(DueKind.SCHEDULE, no))
    assert desk.decision.is_empty
    [run] = started(desk)
    assert run.is_open


@pytest.mark.parametrize(
    "operation",
    [
        PatchSchedule(*NAMED),
        PatchSchedule(*NAMED, queue="q"),
        PauseSchedule(*NAMED),
        ResumeSchedule(*NAMED),
        DeleteSchedule(*NAMED),
        PauseSchedule("shop", "nightly"),
    ],
)
def test_what_is_unknown_is_not_found(operation: Operation) -> None:
    desk = Desk()
    desk.do(CreateNamespace("shop"))
    with pytest.raises(NotFound, match="not found: schedule nightly"):
        desk.do(operation)


def test_several_changes_in_one_batch() -> None:
    desk = planned()
    old = schedule(desk)
    outcomes = desk.ask(
        PatchSchedule(*NAMED, queue="q2"),
        DeleteSchedule(*NAMED),
        PauseSchedule(*NAMED),
        EVERY_MINUTE,
        EVERY_MINUTE,
        PauseSchedule(*NAMED),
    )
    assert [type(outcome).__name__ for outcome in outcomes] == [
        "Planned",
        "Done",
        "NotFound",
        "Planned",
        "Conflict",
        "Planned",
    ]
    new = schedule(desk)
    assert (new.paused, new.queue, new.ver) == (True, "q", 0)
    assert desk.decision.schedules == (Change(old, None), Change(None, new))


def test_one_that_came_and_went_in_one_batch_was_never_there() -> None:
    desk = Desk()
    desk.ask(EVERY_MINUTE, DeleteSchedule(*NAMED))
    assert desk.decision.is_empty


def test_a_refused_change_leaves_the_one_before_it() -> None:
    desk = planned()
    desk.ask(PatchSchedule(*NAMED, queue="q2"), PatchSchedule(*NAMED, cron="no", queue="q3"))
    assert schedule(desk).queue == "q2"


def test_schedules_of_a_namespace_that_is_gone_can_still_be_changed() -> None:
    desk = planned(namespace="shop")
    desk.do(DeleteNamespace("shop"))
    desk.do(PatchSchedule("shop", "nightly", queue="q2"))
    desk.do(PauseSchedule("shop", "nightly"))
    desk.do(DeleteSchedule("shop", "nightly"))
    assert not desk.schedules
