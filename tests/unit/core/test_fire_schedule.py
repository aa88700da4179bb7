"""A schedule is due: one run for all it missed, and what its overlap policy makes of that."""

import pytest
from msgspec.structs import replace

from assay.core.fire_schedule import schedule_due_at
from assay.model.commands import CancelWorkflow, CompleteWorkflow, ContinueAsNew, FailWorkflow
from assay.model.events import EventType
from assay.model.operations import (
    Cancel,
    ContinueRun,
    CreateNamespace,
    DeleteNamespace,
    DeleteRun,
    DeleteSchedule,
    Due,
    DueKind,
    FailActivity,
    PatchSchedule,
    PauseSchedule,
    ResumeSchedule,
    Retry,
    Start,
    Terminate,
)
from assay.model.run import Run
from assay.model.schedule import OverlapPolicy
from assay.model.states import RunStatus
from assay.model.time import MICROS
from tests.unit.core.desk import NOW, Desk, said
from tests.unit.core.plans import (
    EVERY_MINUTE,
    MINUTE,
    come_due,
    create,
    is_due,
    look,
    planned,
    schedule,
    started,
)
from tests.unit.core.scenes import once

NEXT = NOW - NOW % MINUTE + MINUTE
NAMED = ("main", "nightly")
SKIP, QUEUE, CANCEL_OLD, ALLOW_ALL = (
    OverlapPolicy.SKIP,
    OverlapPolicy.QUEUE,
    OverlapPolicy.CANCEL_OLD,
    OverlapPolicy.ALLOW_ALL,
)


def end(desk: Desk, run: Run) -> None:
    desk.do(Terminate(run.id))


def test_a_due_schedule_starts_a_run_of_its_own_and_plans_the_next() -> None:
    desk = planned()
    row = come_due(desk)
    [run] = started(desk)
    assert (run.id, run.run_id) == (f"nightly-{NEXT // MICROS}", f"run-nightly-{NEXT // MICROS}")
    assert (run.type, run.queue, run.namespace, run.status) == (
        "report",
        "q",
        "main",
        RunStatus.PENDING,
    )
    assert (run.search_attributes, run.timeout_secs, run.parent_no) == (None, None, None)
    assert [(event.type, event.payload) for event in desk.events(run.id)] == [
        (EventType.WORKFLOW_STARTED, "[1]")
    ]
    assert (row.last_run_at, row.next_run_at) == (NEXT, NEXT + MINUTE)
    assert (row.last_run_no, row.last_workflow_id) == (run.no, run.id)
    told = [(str(frame.kind), frame.workflow_id) for frame in desk.decision.frames]
    assert told == [("workflow_started", run.id), ("schedule_triggered", run.id)]


def test_nothing_happens_a_moment_before() -> None:
    desk = planned()
    desk.now = NEXT - 1
    look(desk)
    assert desk.decision.is_empty
    assert schedule_due_at(schedule(desk)) == NEXT


@pytest.mark.parametrize("late", [0.5, 59.9, 60, 61, 3600])
def test_missed_instants_are_one_run_then_the_next_one_is_after_now(late: float) -> None:
    desk = planned()
    row = come_due(desk, late)
    [run] = started(desk)
    assert run.id == f"nightly-{NEXT // MICROS}"
    assert row.last_run_at == NEXT
    assert row.next_run_at == desk.now - desk.now % MINUTE + MINUTE
    look(desk)
    assert len(started(desk)) == 1


def test_a_clock_that_stands_before_the_instant_fired_plans_none_twice() -> None:
    desk = planned()
    first = come_due(desk)
    desk.ask(*[Due(DueKind.SCHEDULE, first.no)] * 2)
    assert schedule(desk) is first


def test_a_taken_id_gets_a_number() -> None:
    desk = planned()
    base = f"nightly-{NEXT // MICROS}"
    desk.ask(Start("x", base), Start("x", f"{base}-2"), Start("x", f"{base}-4"))
    assert come_due(desk).last_workflow_id == f"{base}-3"


def test_schedules_of_one_name_and_moment_start_one_run_each() -> None:
    desk = planned()
    desk.do(CreateNamespace("shop"))
    create(desk, namespace="shop")
    desk.now = NEXT
    desk.ask(*(Due(DueKind.SCHEDULE, no) for no in desk.schedules))
    assert [(run.id, run.namespace) for run in started(desk)] == [
        (f"nightly-{NEXT // MICROS}", "main"),
        (f"nightly-{NEXT // MICROS}-2", "shop"),
    ]


def test_a_change_counts_from_the_next_run_on() -> None:
    desk = planned(ALLOW_ALL)
    come_due(desk)
    desk.do(PatchSchedule(*NAMED, input="{}", queue="q2"))
    come_due(desk)
    old, new = started(desk)
    assert (old.queue, new.queue) == ("q", "q2")
    assert desk.events(new.id)[0].payload == "{}"


# Overlap


@pytest.mark.parametrize("policy", OverlapPolicy)
def test_after_a_run_that_has_ended_there_is_no_overlap(policy: OverlapPolicy) -> None:
    desk = planned(policy)
    for _ in range(3):
        come_due(desk)
        desk.step(CompleteWorkflow(None), id=started(desk)[-1].id)
    assert len(started(desk)) == 3
    assert schedule(desk).queued_start is None


def test_skip_starts_nothing_and_times_advance() -> None:
    desk = planned(SKIP)
    come_due(desk)
    row = come_due(desk)
    assert len(started(desk)) == 1
    assert (row.last_run_at, row.next_run_at) == (NEXT + MINUTE, NEXT + 2 * MINUTE)
    assert row.last_workflow_id == started(desk)[0].id
    end(desk, started(desk)[0])
    assert not is_due(desk)
    come_due(desk)
    assert len(started(desk)) == 2


def test_allow_all_starts_whatever_goes_on() -> None:
    desk = planned(ALLOW_ALL)
    for _ in range(3):
        come_due(desk)
    assert len(started(desk)) == 3
    assert all(run.is_open for run in started(desk))


def test_cancel_old_asks_the_one_before_to_stop() -> None:
    desk = planned(CANCEL_OLD)
    come_due(desk)
    desk.claim(started(desk)[0].id)
    come_due(desk)
    old, new = started(desk)
    assert (old.status, new.status) == (RunStatus.RUNNING, RunStatus.PENDING)
    last = desk.events(old.id)[-1]
    assert (last.type, said(last)) == (
        EventType.WORKFLOW_CANCEL_REQUESTED,
        {"reason": "replaced by schedule nightly"},
    )
    come_due(desk)
    assert desk.at(new.id).status is RunStatus.CANCELLED
    assert desk.told(old.id).count(EventType.WORKFLOW_CANCEL_REQUESTED) == 1
    desk.submit(CancelWorkflow(None), id=old.id)
    assert len(started(desk)) == 3


def test_queue_remembers_one_start_and_makes_it_when_the_one_before_has_ended() -> None:
    desk = planned(QUEUE)
    come_due(desk)
    for _ in range(3):
        come_due(desk)
    assert len(started(desk)) == 1
    row = schedule(desk)
    assert (row.queued_start, row.last_run_at) == (NEXT + MINUTE, NEXT + 3 * MINUTE)
    assert not is_due(desk)
    desk.later(5)
    end(desk, started(desk)[0])
    assert is_due(desk)
    row = look(desk)
    second = started(desk)[1]
    assert second.id == f"nightly-{(NEXT + MINUTE) // MICROS}"
    assert (row.queued_start, row.last_workflow_id) == (None, second.id)
    assert (row.last_run_at, row.next_run_at) == (NEXT + 3 * MINUTE, NEXT + 4 * MINUTE)
    assert not is_due(desk)


def test_a_queued_start_and_an_instant_at_once_are_two() -> None:
    desk = planned(QUEUE)
    come_due(desk)
    come_due(desk)
    end(desk, started(desk)[0])
    row = come_due(desk)
    assert len(started(desk)) == 2
    assert row.queued_start == NEXT + 2 * MINUTE
    end(desk, started(desk)[1])
    look(desk)
    assert [run.id for run in started(desk)] == [
        f"nightly-{(NEXT + n * MINUTE) // MICROS}" for n in range(3)
    ]


@pytest.mark.parametrize("how", ["pause", "delete"])
def test_pausing_and_deleting_forget_a_queued_start(how: str) -> None:
    desk = planned(QUEUE)
    come_due(desk)
    come_due(desk)
    if how == "pause":
        desk.do(PauseSchedule(*NAMED))
        desk.do(ResumeSchedule(*NAMED))
    else:
        desk.do(DeleteSchedule(*NAMED))
        create(desk, QUEUE)
    end(desk, started(desk)[0])
    assert not is_due(desk)


def test_another_policy_keeps_a_queued_start() -> None:
    desk = planned(QUEUE)
    come_due(desk)
    come_due(desk)
    desk.do(PatchSchedule(*NAMED, overlap=SKIP))
    come_due(desk)
    assert schedule(desk).queued_start == NEXT + MINUTE
    end(desk, started(desk)[0])
    look(desk)
    assert len(started(desk)) == 2


# What has become of the run before


def go_on(desk: Desk) -> None:
    """The newest of its runs continues as new."""
    desk.step(ContinueAsNew(None, ()), id=desk.all()[-1].id)


@pytest.mark.parametrize("links", [1, 3])
def test_a_run_that_continued_as_new_goes_on_until_its_last_successor_ends(links: int) -> None:
    desk = planned(QUEUE)
    come_due(desk)
    for _ in range(links):
        go_on(desk)
    last = desk.all()[-1]
    row = come_due(desk)
    assert len(started(desk)) == 1 + links
    assert (row.queued_start, row.last_run_no) == (NEXT + MINUTE, last.no)
    go_on(desk)
    assert is_due(desk)  # to follow the chain, so that its end is seen
    look(desk)
    assert schedule(desk).last_run_no == desk.all()[-1].no
    assert not is_due(desk)
    end(desk, desk.all()[-1])
    assert is_due(desk)
    look(desk)
    assert schedule(desk).last_workflow_id == f"nightly-{(NEXT + MINUTE) // MICROS}"


def test_cancel_old_asks_the_last_successor() -> None:
    desk = planned(CANCEL_OLD)
    come_due(desk)
    go_on(desk)
    successor = desk.all()[-1]
    come_due(desk)
    assert desk.at(successor.id).status is RunStatus.CANCELLED


def test_a_run_that_was_started_from_an_ended_one_is_not_its_successor() -> None:
    desk = planned(SKIP)
    come_due(desk)
    end(desk, started(desk)[0])
    desk.do(ContinueRun(started(desk)[0].id, None, "by-hand"))
    come_due(desk)
    assert len(started(desk)) == 2


@pytest.mark.parametrize("gone", ["run", "link"])
def test_a_run_that_is_gone_is_absent(gone: str) -> None:
    desk = planned(SKIP)
    come_due(desk)
    if gone == "link":
        go_on(desk)
        go_on(desk)
        desk.do(DeleteRun(desk.all()[-2].id))
    else:
        end(desk, started(desk)[0])
        desk.do(DeleteRun(started(desk)[0].id))
        desk.do(Start("other", f"nightly-{NEXT // MICROS}"))
    row = come_due(desk)
    assert row.last_workflow_id == f"nightly-{(NEXT + MINUTE) // MICROS}"


def test_a_failed_run_that_was_retried_goes_on() -> None:
    desk = planned(SKIP)
    come_due(desk)
    id = started(desk)[0].id
    desk.step(once(1), id=id)
    desk.work(1, id)
    desk.do(FailActivity(desk.activity(1, id).no, "broke"))
    desk.step(FailWorkflow("broke"), id=id)
    desk.do(Retry(id, "ann", "healed"))
    come_due(desk)
    assert len(started(desk)) == 1


def test_one_that_was_asked_to_stop_but_has_not_goes_on() -> None:
    desk = planned(SKIP)
    come_due(desk)
    desk.claim(started(desk)[0].id)
    desk.do(Cancel(started(desk)[0].id))
    come_due(desk)
    assert len(started(desk)) == 1


def test_an_end_in_the_same_batch_counts() -> None:
    desk = planned(SKIP)
    come_due(desk)
    row = schedule(desk)
    desk.now = row.next_run_at or 0
    desk.ask(Terminate(started(desk)[0].id), Due(DueKind.SCHEDULE, row.no))
    assert len(started(desk)) == 2


@pytest.mark.parametrize("policy", OverlapPolicy)
def test_the_policy_rests_on_a_row_that_is_guarded(policy: OverlapPolicy) -> None:
    desk = planned(policy)
    come_due(desk)
    come_due(desk)
    guarded = [change.before.no for change in desk.decision.runs if change.before is not None]
    assert guarded == [started(desk)[0].no]


# Namespaces


def test_a_schedule_without_its_namespace_waits_for_it_and_then_catches_up_once() -> None:
    desk = planned(namespace="shop")
    desk.do(DeleteNamespace("shop"))
    come_due(desk, 600, "shop")
    assert desk.decision.is_empty
    desk.do(CreateNamespace("shop"))
    row = look(desk, "shop")
    [run] = started(desk)
    assert (run.namespace, row.last_run_at) == ("shop", NEXT)
    assert row.next_run_at == desk.now - desk.now % MINUTE + MINUTE


def test_a_namespace_that_goes_in_the_same_batch_is_gone() -> None:
    desk = planned(namespace="shop")
    desk.now = NEXT
    desk.ask(DeleteNamespace("shop"), Due(DueKind.SCHEDULE, schedule(desk, "shop").no))
    assert not started(desk)


def test_an_expression_that_has_come_to_its_end_fires_once_more() -> None:
    desk = Desk()
    desk.do(replace(EVERY_MINUTE, cron="0 0 0 1 1 * 2027"))
    row = come_due(desk)
    assert (len(started(desk)), row.next_run_at) == (1, None)
    assert schedule_due_at(row) is None
    desk.later(10**9)
    look(desk)
    assert desk.decision.is_empty
