"""How a run begins: pending, offered, with its first event; ids are taken once."""

import pytest

from assay.errors import Conflict, NotFound
from assay.model.events import EventType
from assay.model.ids import generated_workflow_id
from assay.model.operations import Start, Started, Terminate
from assay.model.states import RunStatus
from assay.model.time import MICROS
from tests.unit.core.desk import NOW, Desk


def test_a_run_begins_pending_and_can_be_claimed_at_once() -> None:
    desk = Desk()
    outcome = desk.do(Start("order", "wf-1", input='{"a":1}', queue="q"))
    run = desk.at("wf-1")
    assert isinstance(outcome, Started)
    assert (run.status, run.ready_at, run.queue) == (RunStatus.PENDING, NOW, "q")
    assert (run.created_at, run.updated_at, run.start_at) == (NOW, NOW, NOW)
    assert (run.run_id, run.last_seq, run.parent_id) == (f"run-wf-1-{NOW // MICROS}", 1, None)
    assert [(event.seq, event.type, event.payload) for event in desk.events("wf-1")] == [
        (1, EventType.WORKFLOW_STARTED, '{"a":1}')
    ]


@pytest.mark.parametrize("input_text", [None, "null", "[1, 2]", '"x"'])
def test_the_input_itself_is_the_payload_of_the_first_event(input_text: str | None) -> None:
    desk = Desk()
    desk.do(Start("order", "wf", input=input_text))
    assert desk.events()[0].payload == input_text


@pytest.mark.parametrize("end", [False, True])
def test_an_id_is_taken_for_good(end: bool) -> None:
    desk = Desk()
    desk.start()
    if end:
        desk.do(Terminate("wf"))
    before = desk.at()
    with pytest.raises(Conflict):
        desk.do(Start("other", "wf"))
    assert desk.at() is before


def test_an_id_taken_earlier_in_the_same_batch_is_taken() -> None:
    desk = Desk()
    first, second, third = desk.ask(Start("a", "wf"), Start("b", "wf"), Start("b", "wf-2"))
    assert isinstance(first, Started)
    assert isinstance(second, Conflict)
    assert isinstance(third, Started)
    assert [(run.id, run.type) for run in desk.all()] == [("wf", "a"), ("wf-2", "b")]


def test_an_unknown_namespace_is_not_found() -> None:
    desk = Desk()
    with pytest.raises(NotFound, match="not found: namespace elsewhere"):
        desk.do(Start("order", "wf", namespace="elsewhere"))
    assert desk.decision.is_empty


def test_an_id_nobody_gave_is_safe_in_urls_and_sorts_by_start_time() -> None:
    ids = [generated_workflow_id("My Flow/ä", no, now) for no, now in ((9, 1), (8, 2), (7, 300))]
    assert ids == sorted(ids)
    assert len(set(ids)) == 3
    assert all(id.startswith("wf-my-flow---") for id in ids)


def test_ids_nobody_gave_differ_within_one_batch() -> None:
    desk = Desk()
    desk.ask(*[Start("order")] * 20)
    assert len({run.id for run in desk.all()}) == 20


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        ("a" * 1_000, 1_000),
        ("İ" * 500, 1_000),
        ("a" * 972, 1_000),
        ("a" * 971, 999),
        ("ä" * 500, 528),
    ],
)
def test_a_generated_id_is_no_longer_than_one_that_a_client_may_choose(
    kind: str, length: int
) -> None:
    numbers = (1, 2, 2**40 - 1)
    ids = [generated_workflow_id(kind, no, NOW) for no in numbers]
    assert {len(id.encode()) for id in ids} == {length}
    for id, no in zip(ids, numbers, strict=True):
        assert id.endswith(f"-{NOW:014x}{no:010x}")
