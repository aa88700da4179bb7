"""What is not at hand is asked for in sets: one pass names everything it can."""

from collections.abc import Callable

import pytest

from assay.core.decide import decide
from assay.core.view import Key, Missing, Need, OpenChildren, look_at_all
from assay.model.events import EventType
from assay.model.operations import Cancel, RenewLeases, Signal, SubmitCommands
from assay.model.run import Run
from tests.unit.core.desk import RULES, Desk, activity, child, timer


def missing(*keys: Key) -> Callable[[], object]:
    def read() -> object:
        raise Missing(*keys)

    return read


A, B, C = (Key(Need.RUN, no) for no in range(3))


@pytest.mark.parametrize(
    ("reads", "keys"),
    [
        ([], ()),
        ([lambda: 1, lambda: None], ()),
        ([missing(A)], (A,)),
        ([missing(A), lambda: 1, missing(B, C)], (A, B, C)),
    ],
)
def test_all_reads_are_made_before_anything_is_asked_for(
    reads: list[Callable[[], object]], keys: tuple[Key, ...]
) -> None:
    if not keys:
        look_at_all(reads)
        return
    with pytest.raises(Missing) as gap:
        look_at_all(reads)
    assert gap.value.keys == keys


def test_a_refused_read_is_not_held_back() -> None:
    def refuse() -> object:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        look_at_all([missing(A), refuse])


class Forgetful(Desk):
    """A desk that has only some runs at hand."""

    def __init__(self) -> None:
        super().__init__()
        self.away: set[str] = set()
        self.known_parents: set[int] | None = None

    def run_by_id(self, workflow_id: str) -> Run | None:
        if workflow_id in self.away:
            raise Missing(Key(Need.RUN_BY_ID, workflow_id))
        return super().run_by_id(workflow_id)

    def open_children(self, run_no: int) -> OpenChildren:
        if self.known_parents is not None and run_no not in self.known_parents:
            raise Missing(Key(Need.OPEN_CHILDREN, run_no))
        return super().open_children(run_no)


def names(gap: Missing) -> list[str | int]:
    return [key.name for key in gap.keys]


def test_a_renewal_asks_for_all_its_runs_at_once() -> None:
    desk = Forgetful()
    desk.start("b")
    desk.away = {"a", "c"}
    with pytest.raises(Missing) as gap:
        decide(desk.draft(), RenewLeases("w1", ("a", "b", "c")), RULES)
    assert names(gap.value) == ["a", "c"]


def test_a_batch_asks_for_all_its_childrens_ids_at_once() -> None:
    desk = Forgetful()
    desk.start()
    desk.claim()
    desk.away = {"x", "y"}
    batch = SubmitCommands("wf", "w1", (child("x"), activity(), timer(), child("y")))
    with pytest.raises(Missing) as gap:
        decide(desk.draft(), batch, RULES)
    assert names(gap.value) == ["x", "y"]


def test_a_cascade_asks_for_a_whole_level_at_once() -> None:
    desk = Forgetful()
    desk.start()
    desk.step(child("x"), child("y"))
    for id in ("x", "y"):
        desk.step(id=id)
    desk.known_parents = {desk.at().no}
    with pytest.raises(Missing) as gap:
        decide(desk.draft(), Cancel("wf"), RULES)
    assert names(gap.value) == [desk.at("x").no, desk.at("y").no]


def test_new_seqs_need_no_look_into_the_store() -> None:
    desk = Forgetful()
    desk.start()
    desk.claim()
    draft = desk.draft()
    decide(draft, SubmitCommands("wf", "w1", (activity(1), timer(1))), RULES)
    decide(draft, Signal("wf", "go"), RULES)
    assert [event.type for event in draft.events][-1] is EventType.SIGNAL_RECEIVED
