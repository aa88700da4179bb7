"""How a run ends: everything that belongs to an end, in one decision."""

import pytest

from assay.errors import NotFound
from assay.model.commands import CancelWorkflow, CompleteWorkflow, FailWorkflow
from assay.model.events import EventType
from assay.model.operations import Terminate
from assay.model.states import ActivityStatus, RunStatus, TimerState
from tests.unit.core.desk import NOW, Desk, activity, child, said, timer

Ending = CompleteWorkflow | FailWorkflow | CancelWorkflow | Terminate

ENDINGS: list[tuple[Ending, RunStatus, EventType, object, str | None]] = [
    (
        CompleteWorkflow('{"n": 1}'),
        RunStatus.COMPLETED,
        EventType.WORKFLOW_COMPLETED,
        {"n": 1},
        None,
    ),
    (CompleteWorkflow(None), RunStatus.COMPLETED, EventType.WORKFLOW_COMPLETED, None, None),
    (
        FailWorkflow("broke"),
        RunStatus.FAILED,
        EventType.WORKFLOW_FAILED,
        {"error": "broke"},
        "broke",
    ),
    (CancelWorkflow(None), RunStatus.CANCELLED, EventType.WORKFLOW_CANCELLED, None, None),
    (
        CancelWorkflow("why"),
        RunStatus.CANCELLED,
        EventType.WORKFLOW_CANCELLED,
        {"reason": "why"},
        None,
    ),
    (
        Terminate("wf"),
        RunStatus.FAILED,
        EventType.WORKFLOW_FAILED,
        {"error": "terminated", "terminated": True},
        "terminated",
    ),
    (
        Terminate("wf", "enough"),
        RunStatus.FAILED,
        EventType.WORKFLOW_FAILED,
        {"error": "enough", "terminated": True},
        "enough",
    ),
]


def end(desk: Desk, ending: Ending, id: str = "wf") -> None:
    desk.claim(id)
    if isinstance(ending, Terminate):
        desk.do(Terminate(id, ending.reason))
    else:
        desk.submit(ending, id=id)


@pytest.mark.parametrize(("ending", "status", "kind", "payload", "error"), ENDINGS)
def test_an_end_is_status_event_error_and_released_claim(
    ending: Ending, status: RunStatus, kind: EventType, payload: object, error: str | None
) -> None:
    desk = Desk()
    desk.start()
    desk.later(5)
    end(desk, ending)
    run, last = desk.at(), desk.events()[-1]
    assert (run.status, run.error, run.completed_at, run.updated_at) == (
        status,
        error,
        desk.now,
        desk.now,
    )
    assert (last.type, said(last)) == (kind, payload)
    assert run.result_seq == (last.seq if status is RunStatus.COMPLETED else None)
    assert (run.claim_token, run.claim_until, run.ready_at) == (None, None, None)
    assert run.claimed_by == "w1"


@pytest.mark.parametrize("ending", [ending for ending, *_ in ENDINGS])
def test_pending_work_is_cancelled_timers_silenced_running_work_untouched(ending: Ending) -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1), activity(2), timer(1))
    desk.work(2)
    running = desk.activity(2)
    desk.now += 7
    end(desk, ending)
    cancelled, silenced = desk.activity(1), desk.timer()
    assert (cancelled.status, cancelled.completed_at, cancelled.ready_at) == (
        ActivityStatus.CANCELLED,
        desk.now,
        None,
    )
    assert desk.activity(2) is running
    assert (silenced.state, silenced.silenced_at) == (TimerState.SILENCED, desk.now)
    assert silenced.silenced_seq == desk.at().last_seq


PARENT_IS_TOLD: list[tuple[Ending, EventType, dict[str, object]]] = [
    (CompleteWorkflow("[1]"), EventType.CHILD_WORKFLOW_COMPLETED, {"result": [1]}),
    (CompleteWorkflow(None), EventType.CHILD_WORKFLOW_COMPLETED, {"result": None}),
    (FailWorkflow("broke"), EventType.CHILD_WORKFLOW_FAILED, {"error": "broke"}),
    (Terminate("", "enough"), EventType.CHILD_WORKFLOW_FAILED, {"error": "enough"}),
    (
        CancelWorkflow("why"),
        EventType.CHILD_WORKFLOW_FAILED,
        {"error": "child workflow cancelled"},
    ),
]


@pytest.mark.parametrize(("ending", "kind", "outcome"), PARENT_IS_TOLD)
def test_the_parent_is_told_in_the_same_decision(
    ending: Ending, kind: EventType, outcome: dict[str, object]
) -> None:
    desk = Desk()
    desk.start()
    desk.step(child())
    assert desk.at().ready_at is None
    end(desk, ending, "child")
    last = desk.events()[-1]
    assert (last.type, said(last)) == (kind, {"child_workflow_id": "child", **outcome})
    assert desk.at().ready_at == desk.now
    assert {change.after.id for change in desk.decision.runs if change.after} == {"wf", "child"}


def test_a_parent_that_is_over_is_told_nothing() -> None:
    desk = Desk()
    desk.start()
    desk.step(child())
    desk.do(Terminate("wf"))
    before = desk.told()
    end(desk, CompleteWorkflow("1"), "child")
    assert desk.told() == before
    assert desk.at().ready_at is None


def test_terminate_leaves_children_alone() -> None:
    desk = Desk()
    desk.start()
    desk.step(child())
    before = desk.at("child")
    desk.do(Terminate("wf"))
    assert desk.at("child") is before


def test_what_is_over_or_unknown_cannot_be_terminated() -> None:
    desk = Desk()
    desk.start()
    desk.do(Terminate("wf"))
    for id in ("wf", "nobody"):
        with pytest.raises(NotFound, match=f"workflow {id} not found or already terminal"):
            desk.do(Terminate(id))
        assert desk.decision.is_empty


def test_a_run_that_was_never_claimed_can_be_terminated() -> None:
    desk = Desk()
    desk.start()
    desk.do(Terminate("wf"))
    assert (desk.at().status, desk.at().created_at) == (RunStatus.FAILED, NOW)
