"""What follows from changed rows: entries of the look-up, and counts of runs."""

from assay.model.commands import CompleteWorkflow, ContinueAsNew, UpsertSearchAttributes
from assay.model.operations import (
    Cancel,
    CreateNamespace,
    DeleteRun,
    Signal,
    Start,
    Terminate,
)
from tests.unit.core.desk import Desk, child


def counted(desk: Desk) -> dict[tuple[str, str], int]:
    """How many runs there are by namespace and status, as counted."""
    return {place: runs for place, runs in desk.counts.items() if runs}


def standing(desk: Desk) -> dict[tuple[str, str], int]:
    """The same, by looking at every run."""
    found: dict[tuple[str, str], int] = {}
    for run in desk.all():
        place = (run.namespace, run.status)
        found[place] = found.get(place, 0) + 1
    return found


def test_counts_follow_every_change_of_status() -> None:
    desk = Desk()
    desk.do(CreateNamespace("shop"))
    desk.ask(*(Start("order", f"wf-{n}", namespace=("main", "shop")[n % 2]) for n in range(6)))
    desk.step(child(), ContinueAsNew(None, ()), id="wf-0")
    desk.step(CompleteWorkflow(None), id="wf-1")
    desk.ask(Cancel("wf-2"), Terminate("wf-3"), Start("order", "wf-9"), Terminate("wf-9"))
    desk.claim("wf-4")
    desk.do(DeleteRun("wf-1"))
    desk.do(Signal("wf-5", "go"))
    assert counted(desk) == standing(desk)


def entries(desk: Desk, id: str = "wf") -> dict[str, str]:
    run = desk.at(id)
    own = [each for each in desk.attributes if each.run_no == run.no]
    assert {(each.namespace, each.created_at) for each in own} <= {(run.namespace, run.created_at)}
    return {each.key: each.value for each in own}


def test_entries_follow_what_the_run_holds() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", search_attributes='{"a":1,"b":"x","c":[1]}'))
    assert entries(desk) == {"assay_engine_version": '"0"', "a": "1", "b": '"x"', "c": "[1]"}
    desk.step(UpsertSearchAttributes('{"a":1.0,"b":null,"d":true}', 1))
    assert [each.key for each in desk.decision.attributes_added] == ["b", "d"]
    assert [each.key for each in desk.decision.attributes_removed] == ["b"]
    assert entries(desk) == {
        "assay_engine_version": '"0"',
        "a": "1",
        "b": "null",
        "c": "[1]",
        "d": "true",
    }
    desk.do(Signal("wf", "go"))
    assert desk.decision.attributes_added == desk.decision.attributes_removed == ()


def test_what_changes_to_and_fro_in_one_batch_is_not_written() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", search_attributes='{"a":1}'))
    desk.step(UpsertSearchAttributes('{"a":2}', 1), UpsertSearchAttributes('{"a":1}', 2))
    assert desk.decision.attributes_added == desk.decision.attributes_removed == ()
