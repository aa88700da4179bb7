"""Cancel requests: what they stop at once, and how they reach everything below."""

from collections.abc import Callable

import pytest

from assay.core import cancel as cancelling
from assay.core.due import run_due_at
from assay.errors import NotFound
from assay.model.commands import CancelWorkflow, CompleteWorkflow
from assay.model.events import EventType
from assay.model.operations import Cancel, Due, DueKind, Terminate
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus, TimerState
from tests.unit.core.desk import Desk, activity, child, said, timer

REQUESTED = EventType.WORKFLOW_CANCEL_REQUESTED


def family(desk: Desk, children: dict[str, int]) -> None:
    """Runs that were claimed, each with so many children that were claimed too."""
    for parent, count in children.items():
        if desk.run_by_id(parent) is None:
            desk.start(parent)
        desk.step(*[child(f"{parent}.{n}") for n in range(count)], id=parent)
        for n in range(count):
            desk.step(id=f"{parent}.{n}")


def asked(desk: Desk) -> list[str]:
    return sorted(run.id for run in desk.all() if run.cancel_seq is not None)


def due(desk: Desk) -> list[Run]:
    return [run for run in desk.all() if run.cascade is not None]


def test_a_pending_run_ends_at_once() -> None:
    desk = Desk()
    desk.start()
    desk.do(Cancel("wf", "why"))
    assert desk.at().status is RunStatus.CANCELLED
    assert desk.at().ready_at is None
    assert [(event.type, said(event)) for event in desk.events()[1:]] == [
        (REQUESTED, {"reason": "why"}),
        (EventType.WORKFLOW_CANCELLED, {"reason": "why"}),
    ]


@pytest.mark.parametrize(("reason", "payload"), [(None, None), ("why", {"reason": "why"})])
def test_a_request_stops_what_waits_and_offers_the_run(reason: str | None, payload: object) -> None:
    desk = Desk()
    desk.start()
    desk.step(activity(1), activity(2), timer(1))
    desk.work(2)
    running = desk.activity(2)
    desk.later(1)
    desk.do(Cancel("wf", reason))
    run, last = desk.at(), desk.events()[-1]
    assert (run.status, run.cancel_seq, run.ready_at) == (RunStatus.RUNNING, last.seq, desk.now)
    assert (last.type, said(last)) == (REQUESTED, payload)
    assert desk.activity(1).status is ActivityStatus.CANCELLED
    assert desk.activity(2) is running
    assert desk.timer().state is TimerState.SILENCED
    desk.step(CancelWorkflow(reason))
    assert desk.at().status is RunStatus.CANCELLED


def test_a_request_under_a_lease_leaves_the_lease_alone() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    token = desk.at().claim_token
    desk.do(Cancel("wf"))
    assert desk.at().claim_token == token
    desk.submit()
    assert desk.at().ready_at == desk.now


def test_a_repeated_request_appends_offers_and_touches_nothing_else() -> None:
    desk = Desk()
    family(desk, {"wf": 1})
    desk.do(Cancel("wf", "first"))
    desk.step(activity(1), timer(1), id="wf")
    first, kid = desk.at().cancel_seq, desk.at("wf.0")
    pending, open_timer = desk.activity(), desk.timer()
    desk.later(1)
    desk.do(Cancel("wf", "second"))
    assert (desk.at().cancel_seq, desk.at().ready_at) == (first, desk.now)
    assert (desk.told()[-1], said(desk.events()[-1])) == (REQUESTED, {"reason": "second"})
    assert (desk.activity(), desk.timer(), desk.at("wf.0")) == (pending, open_timer, kid)


def test_what_is_over_or_unknown_cannot_be_cancelled() -> None:
    desk = Desk()
    desk.start()
    desk.do(Terminate("wf"))
    for id in ("wf", "nobody"):
        with pytest.raises(NotFound, match=f"workflow {id} not found or already terminal"):
            desk.do(Cancel(id))


def test_every_open_run_below_is_asked_with_the_same_reason_and_told_to_stop() -> None:
    desk = Desk()
    family(desk, {"wf": 3, "wf.0": 2, "wf.0.1": 1})
    desk.claim("wf.1")
    desk.submit(CompleteWorkflow(None), id="wf.1")
    desk.claim("wf.2")
    desk.submit(child("never claimed"), id="wf.2")
    desk.do(Cancel("wf", "why"))
    kids = ["wf", "wf.0", "wf.0.0", "wf.0.1", "wf.0.1.0", "wf.2"]
    assert asked(desk) == sorted([*kids, "never claimed"])
    for id in kids:
        assert said(desk.events(id)[-1]) == {"reason": "why"}
    assert desk.at("never claimed").status is RunStatus.CANCELLED
    assert desk.at("wf.1").status is RunStatus.COMPLETED
    assert EventType.CHILD_WORKFLOW_FAILED not in desk.told("wf.2")
    assert not due(desk)


def reasons(desk: Desk, id: str) -> list[str]:
    """Of all requests that a run got."""
    return [said(event)["reason"] for event in desk.events(id) if event.type is REQUESTED]


def test_runs_that_were_asked_before_are_asked_again_and_nothing_else_of_them_is_touched() -> None:
    desk = Desk()
    family(desk, {"wf": 2, "wf.0": 1, "wf.0.0": 1})
    desk.do(Cancel("wf.0", "own"))
    desk.step(activity(1), timer(1), id="wf.0")
    first, pending, open_timer = desk.at("wf.0"), desk.activity(1, "wf.0"), desk.timer(1, "wf.0")
    desk.later(1)
    desk.do(Cancel("wf", "all"))
    assert (desk.activity(1, "wf.0"), desk.timer(1, "wf.0")) == (pending, open_timer)
    again = desk.at("wf.0")
    assert (again.cancel_seq, again.ready_at) == (first.cancel_seq, desk.now)
    for id in ("wf.0", "wf.0.0", "wf.0.0.0"):
        assert reasons(desk, id) == ["own", "all"]
    assert reasons(desk, "wf") == reasons(desk, "wf.1") == ["all"]
    assert not due(desk)


def test_a_repeated_request_goes_no_further() -> None:
    desk = Desk()
    family(desk, {"wf": 1})
    for reason in ("one", "two"):
        desk.do(Cancel("wf", reason))
    assert (reasons(desk, "wf"), reasons(desk, "wf.0")) == (["one", "two"], ["one"])
    desk.do(Cancel("wf.0", "own"))
    assert reasons(desk, "wf.0") == ["one", "own"]


def drain(desk: Desk, after_each: Callable[[], None] = lambda: None) -> int:
    """Let time bring what a cascade left for later; how many decisions that took."""
    steps = 0
    while left := due(desk):
        assert run_due_at(left[0]) is not None
        assert (run_due_at(left[0]) or 0) <= desk.now
        desk.do(Due(DueKind.RUN, left[0].no))
        after_each()
        steps += 1
        assert steps < 100
    return steps


def test_a_cascade_goes_on_in_steps_of_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "CASCADE_AT_ONCE", 4)
    desk = Desk()
    family(desk, {"wf": 10, "wf.1": 3, "wf.8": 2})
    sizes: list[int] = []

    def note() -> None:
        sizes.append(sum(event.type is REQUESTED for event in desk.decision.events))

    desk.do(Cancel("wf", "why"))
    note()
    assert sizes == [1 + 4]
    assert drain(desk, note) > 2
    assert len(asked(desk)) == 16
    assert max(sizes) == 1 + 4
    assert all(desk.told(id).count(REQUESTED) == 1 for id in asked(desk))
    assert all(said(desk.events(id)[-1]) == {"reason": "why"} for id in asked(desk))


def test_a_cascade_in_steps_asks_again_whom_another_one_has_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancelling, "CASCADE_AT_ONCE", 4)
    desk = Desk()
    family(desk, {"wf": 10, "wf.1": 9, "wf.8": 2})
    desk.do(Cancel("wf.1", "own"))
    drain(desk)
    desk.do(Cancel("wf", "all"))
    drain(desk)
    for run in desk.all():
        told = ["own", "all"] if run.id.startswith("wf.1") else ["all"]
        assert reasons(desk, run.id) == told, run.id


@pytest.mark.parametrize("in_one_batch", [False, True])
@pytest.mark.parametrize("at", [0, -1])
@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("below_first", [True, False])
def test_a_request_that_comes_to_another_one_on_its_way_down_takes_over(
    monkeypatch: pytest.MonkeyPatch, below_first: bool, steps: int, at: int, in_one_batch: bool
) -> None:
    monkeypatch.setattr(cancelling, "CASCADE_AT_ONCE", 4)
    desk = Desk()
    family(desk, {"wf": 3, "wf.1": 9, "wf.1.2": 6})
    one, two = (Cancel("wf.1", "own"), Cancel("wf", "all"))[:: 1 if below_first else -1]
    if in_one_batch:
        desk.ask(one, two)
    else:
        desk.do(one)
        for _ in range(steps):
            if left := due(desk):
                desk.do(Due(DueKind.RUN, left[at].no))
        desk.do(two)
    drain(desk)
    for run in desk.all():
        told = reasons(desk, run.id)
        assert "all" in told, run.id
        assert len(told) == len(set(told)), run.id
        assert run.id.startswith("wf.1") or told == ["all"]


def test_a_cascade_goes_on_below_a_limited_number_of_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancelling, "LEVELS_AT_ONCE", 2)
    desk = Desk()
    family(desk, {"wf" + ".0" * depth: 1 for depth in range(7)})
    desk.do(Cancel("wf"))
    assert asked(desk) == ["wf", "wf.0", "wf.0.0"]
    assert [run.id for run in due(desk)] == ["wf.0.0"]
    drain(desk)
    assert len(asked(desk)) == 8


def test_a_cascade_goes_on_after_its_runs_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "LEVELS_AT_ONCE", 1)
    desk = Desk()
    family(desk, {"wf": 1, "wf.0": 1})
    desk.do(Cancel("wf"))
    desk.do(Terminate("wf"))
    desk.step(CancelWorkflow(None), id="wf.0")
    assert asked(desk) == ["wf", "wf.0"]
    drain(desk)
    assert asked(desk) == ["wf", "wf.0", "wf.0.0"]


def test_a_cascade_and_a_lease_on_one_run_are_both_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "LEVELS_AT_ONCE", 1)
    desk = Desk()
    family(desk, {"wf": 1, "wf.0": 1})
    desk.claim("wf.0")
    until = desk.at("wf.0").claim_until
    desk.do(Cancel("wf"))
    assert run_due_at(desk.at("wf.0")) == desk.at("wf.0").updated_at
    drain(desk)
    assert run_due_at(desk.at("wf.0")) == until


def test_what_one_batch_asks_is_limited_however_many_cascades_go_on_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancelling, "CASCADE_AT_ONCE", 4)
    desk = Desk()
    family(desk, {"wf": 4, "wf.0": 4, "wf.1": 4, "wf.2": 4})
    desk.do(Cancel("wf"))
    while left := due(desk):
        desk.ask(*[Due(DueKind.RUN, run.no) for run in left])
        assert 0 < sum(event.type is REQUESTED for event in desk.decision.events) <= 4 or not due(
            desk
        )
    assert len(asked(desk)) == 17


def test_children_that_were_not_all_read_are_asked_later() -> None:
    desk = Desk()
    family(desk, {"wf": 8})
    desk.children_at_once = 3
    desk.do(Cancel("wf"))
    assert len(asked(desk)) == 1 + 3
    drain(desk)
    assert len(asked(desk)) == 1 + 8
