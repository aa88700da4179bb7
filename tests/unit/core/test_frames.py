"""What the stream tells of each thing that happens: every kind of the contract's table, once."""

from typing import Any

import pytest

from assay.model.commands import (
    CancelWorkflow,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    WaitForSignal,
)
from assay.model.note import Kind
from assay.model.operations import (
    AddActivity,
    Cancel,
    CompleteActivity,
    ContinueRun,
    CreateSchedule,
    DeleteRun,
    Due,
    DueKind,
    FailActivity,
    Signal,
    Start,
    Terminate,
)
from assay.model.schedule import OverlapPolicy
from tests.unit.core.desk import Desk, activity, child, timer
from tests.unit.core.scenes import (
    ONCE,
    RETRY,
    begun,
    complete,
    expire_times,
    fail,
    give_up,
    once,
    retry,
    running,
)


def told(desk: Desk) -> list[tuple[str, str, dict[str, Any]]]:
    """Kind, run and details of what the latest batch told."""
    assert {frame.namespace for frame in desk.decision.frames} <= {"main"}
    return [(each.kind, each.workflow_id, dict(each.details)) for each in desk.decision.frames]


def about(desk: Desk, seq: int = 1) -> dict[str, Any]:
    row = desk.activity(seq)
    return {"activity_id": row.no, "activity_seq": seq, "name": "pay"}


# -- runs ----------------------------------------------------------------------------------------


def test_a_start_tells_what_is_started() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", queue="fast", input='{"big":1}'))
    details = {"workflow_type": "order", "task_queue": "fast", "parent_id": None}
    assert told(desk) == [("workflow_started", "wf", details)]


def test_a_child_tells_its_parent() -> None:
    desk = begun(child("kid"))
    details = {"workflow_type": "step", "task_queue": "default", "parent_id": "wf"}
    assert told(desk) == [("workflow_started", "kid", details)]


def test_a_run_is_told_to_be_running_once() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    assert told(desk) == [("workflow_running", "wf", {})]
    desk.submit()
    desk.do(Signal("wf", "go"))
    desk.claim()
    assert told(desk) == []


def test_an_activity_from_outside_sets_a_run_running() -> None:
    desk = Desk()
    desk.start()
    desk.do(AddActivity("wf", activity(1)))
    details = {**about(desk), "task_queue": "default"}
    assert told(desk) == [("activity_inserted", "wf", details), ("workflow_running", "wf", {})]


@pytest.mark.parametrize(
    ("command", "frame"),
    [
        (CompleteWorkflow('{"a":1}'), ("workflow_completed", "wf", {})),
        (FailWorkflow("broke"), ("workflow_failed", "wf", {"error": "broke"})),
        (CancelWorkflow("because"), ("workflow_cancelled", "wf", {})),
    ],
)
def test_the_handler_ends_a_run(command: Any, frame: object) -> None:
    assert told(begun(command)) == [frame]


def test_a_run_that_is_terminated_has_a_kind_of_its_own() -> None:
    desk = begun()
    desk.do(Terminate("wf", "enough"))
    assert told(desk) == [("workflow_terminated", "wf", {"error": "enough"})]


def test_a_pending_run_is_cancelled_at_once() -> None:
    desk = Desk()
    desk.start()
    desk.do(Cancel("wf"))
    assert told(desk) == [("workflow_cancelled", "wf", {})]


def test_a_run_whose_time_is_over() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", timeout_secs=5))
    desk.later(5)
    desk.do(Due(DueKind.RUN, desk.at().no))
    assert told(desk) == [("workflow_timed_out", "wf", {})]


def test_a_successor_is_named_and_told_to_start_before_its_predecessor_ends() -> None:
    desk = begun(ContinueAsNew(None, ()))
    successor = next(run for run in desk.all() if run.id != "wf")
    started = {"workflow_type": "order", "task_queue": "default", "parent_id": None}
    assert told(desk) == [
        ("workflow_started", successor.id, started),
        ("workflow_completed", "wf", {"new_workflow_id": successor.id}),
    ]


def test_the_successor_of_an_ended_run_tells_no_second_end() -> None:
    desk = begun(CompleteWorkflow(None))
    desk.do(ContinueRun("wf", None, "next"))
    assert [kind for kind, _, _ in told(desk)] == ["workflow_started"]


def test_a_blocked_run_tells_why_once() -> None:
    desk = Desk()
    desk.start()
    expire_times(desk, 2)
    assert told(desk) == []
    expire_times(desk, 1)
    [(kind, _, details)] = told(desk)
    assert kind == "workflow_blocked"
    assert details == {"error": desk.at().blocked}


def test_a_run_that_is_deleted_is_told_of_though_it_is_gone() -> None:
    desk = begun(CompleteWorkflow(None))
    desk.do(DeleteRun("wf"))
    assert told(desk) == [("workflow_deleted", "wf", {})]


def test_a_schedule_tells_what_it_has_started() -> None:
    desk = Desk()
    desk.do(
        CreateSchedule(
            "main", "tick", "order", "* * * * *", "", None, "fast", OverlapPolicy.ALLOW_ALL
        )
    )
    assert told(desk) == []
    desk.later(60)
    [no] = desk.schedules
    desk.do(Due(DueKind.SCHEDULE, no))
    [run] = desk.all()
    started = {"workflow_type": "order", "task_queue": "fast", "parent_id": None}
    assert told(desk) == [
        ("workflow_started", run.id, started),
        ("schedule_triggered", run.id, {"schedule": "tick"}),
    ]


# -- signals -------------------------------------------------------------------------------------


def test_a_signal_is_told_by_its_name_alone() -> None:
    desk = begun()
    desk.do(Signal("wf", "go", '{"signal":"other"}', "request"))
    assert told(desk) == [("signal_received", "wf", {"signal": "go"})]
    desk.do(Signal("wf", "go", "1", "request"))
    assert told(desk) == []


def test_a_signal_that_is_carried_over_was_told_before() -> None:
    desk = begun(WaitForSignal("go", None))
    desk.do(Signal("wf", "go"))
    desk.claim()
    desk.do(Signal("wf", "again"))
    desk.submit(ContinueAsNew(None, (3,)))
    successor = next(run for run in desk.all() if run.id != "wf")
    assert len(desk.events(successor.id)) == 3
    assert [kind for kind, _, _ in told(desk)] == ["workflow_started", "workflow_completed"]


def test_a_signal_to_a_successor_is_told_even_in_the_batch_that_made_it() -> None:
    desk = begun()
    desk.do(Signal("wf", "carried"))
    desk.ask(ContinueRun("wf", None, "next"), Signal("next", "go"))
    assert [frame for frame in told(desk) if frame[0] == "signal_received"] == [
        ("signal_received", "next", {"signal": "go"})
    ]
    # Here the predecessor is touched too, though its successor was made before.
    desk.ask(ContinueRun("wf", None, "other"), Signal("next", "on"))
    assert told(desk)[-1] == ("signal_received", "next", {"signal": "on"})


# -- activities ----------------------------------------------------------------------------------


def test_an_activity_tells_its_schedule_and_its_end() -> None:
    desk = begun(activity(1), timer())
    assert told(desk) == [("activity_inserted", "wf", {**about(desk), "task_queue": "default"})]
    desk.work()
    assert told(desk) == []
    desk.do(CompleteActivity(desk.activity().no, '{"name":"other"}'))
    assert told(desk) == [("task_completed", "wf", about(desk))]


def test_only_the_last_failed_attempt_is_told() -> None:
    desk = running()
    desk.do(FailActivity(desk.activity().no, "broke"))
    assert told(desk) == []
    desk = running(ONCE)
    desk.do(FailActivity(desk.activity().no, "broke"))
    assert told(desk) == [("task_failed", "wf", about(desk))]


def test_work_that_ends_after_its_run_is_told_though_no_history_has_it() -> None:
    for report, kind in (
        (lambda no: CompleteActivity(no, "1"), "task_completed"),
        (lambda no: FailActivity(no, "broke"), "task_failed"),
    ):
        desk = running()
        desk.do(Terminate("wf"))
        desk.do(report(desk.activity().no))
        assert desk.decision.events == ()
        assert told(desk) == [(kind, "wf", about(desk))]


def test_a_retry_tells_of_itself_and_not_again_of_what_came_late() -> None:
    desk = begun(activity(1), once(2))
    desk.work(1)
    fail(desk, 2)
    give_up(desk)
    desk.do(CompleteActivity(desk.activity(1).no, "1"))
    assert told(desk) == [("task_completed", "wf", about(desk, 1))]
    retry(desk)
    assert "ActivityCompleted" in desk.told()
    details = {"requested_by": RETRY.requested_by, "reason": RETRY.reason, "activity_seq": 2}
    assert told(desk) == [("workflow_retry_requested", "wf", details)]
    desk.claim()
    assert told(desk) == [("workflow_running", "wf", {})]
    desk.submit()
    complete(desk, 2)
    assert told(desk) == [("task_completed", "wf", about(desk, 2))]


def test_what_leaves_no_frame() -> None:
    desk = begun(timer(1, 5), activity(1))
    desk.later(5)
    desk.do(Due(DueKind.TIMER, desk.timer().no))
    assert told(desk) == []
    desk.work()
    desk.do(Cancel("wf"))
    assert told(desk) == []


KINDS = {
    "workflow_started",
    "workflow_running",
    "workflow_completed",
    "workflow_failed",
    "workflow_terminated",
    "workflow_cancelled",
    "workflow_timed_out",
    "workflow_retry_requested",
    "workflow_blocked",
    "workflow_deleted",
    "signal_received",
    "activity_inserted",
    "task_completed",
    "task_failed",
    "schedule_triggered",
}


def test_the_kinds_are_those_of_the_contract() -> None:
    assert set(Kind) == KINDS
