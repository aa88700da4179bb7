"""Tenants come and go, also in one batch; what is in one that goes, goes on."""

import pytest

from assay.errors import Conflict, NotFound
from assay.model.commands import ContinueAsNew
from assay.model.decision import NamespaceChange
from assay.model.operations import (
    CreateNamespace,
    DeleteNamespace,
    Operation,
    Signal,
    Start,
    Started,
)
from assay.model.states import RunStatus
from tests.unit.core.desk import Desk, child

CREATE, DELETE = CreateNamespace("shop"), DeleteNamespace("shop")


def start(id: str) -> Start:
    return Start("order", id, namespace="shop")


def test_a_name_is_taken_once() -> None:
    desk = Desk()
    desk.do(CREATE)
    with pytest.raises(Conflict, match="namespace shop exists"):
        desk.do(CREATE)
    with pytest.raises(Conflict):
        desk.do(CreateNamespace("main"))
    assert desk.namespaces == {"main", "shop"}


def test_what_is_unknown_cannot_go_and_main_never_does() -> None:
    desk = Desk()
    with pytest.raises(NotFound, match="not found: namespace shop"):
        desk.do(DELETE)
    with pytest.raises(NotFound, match="not found: cannot delete the 'main' namespace"):
        desk.do(DeleteNamespace("main"))


def test_nothing_new_begins_in_one_that_is_gone_but_its_runs_go_on() -> None:
    desk = Desk()
    desk.ask(CREATE, start("wf"), DELETE)
    assert desk.at().namespace == "shop"
    with pytest.raises(NotFound, match="not found: namespace shop"):
        desk.do(start("new"))
    desk.do(Signal("wf", "go"))
    desk.step(child(), ContinueAsNew(None, ()))
    assert [run.namespace for run in desk.all()] == ["shop"] * 3
    assert desk.at().status is RunStatus.COMPLETED


# What is written of several changes in one batch

CAME, WENT = NamespaceChange("shop", created=True), NamespaceChange("shop", created=False)
BATCHES: list[tuple[bool, list[Operation], list[NamespaceChange]]] = [
    (False, [CREATE], [CAME]),
    (False, [CREATE, DELETE], []),
    (False, [CREATE, DELETE, CREATE], [CAME]),
    (True, [DELETE], [WENT]),
    (True, [DELETE, CREATE], [WENT, CAME]),
    (True, [DELETE, CREATE, DELETE], [WENT]),
]


@pytest.mark.parametrize(("exists", "operations", "written"), BATCHES)
def test_several_changes_come_to_what_can_be_written(
    exists: bool, operations: list[Operation], written: list[NamespaceChange]
) -> None:
    desk = Desk()
    if exists:
        desk.do(CREATE)
    outcomes = desk.ask(*operations)
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert list(desk.decision.namespaces) == written
    assert desk.decision.is_empty is not bool(written)


def test_each_operation_sees_the_namespace_as_it_stands_then() -> None:
    desk = Desk()
    outcomes = desk.ask(start("a"), CREATE, start("b"), DELETE, start("c"), CREATE, start("d"))
    started = [outcome.run.id for outcome in outcomes if isinstance(outcome, Started)]
    assert started == ["b", "d"]
