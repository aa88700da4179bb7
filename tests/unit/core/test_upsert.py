"""Search attributes of a run: merged, recorded once per number, and no client gets stuck at one."""

import json

import pytest

from assay.model.commands import (
    Command,
    CompleteWorkflow,
    RecordPatch,
    RecordSnapshot,
    UpsertSearchAttributes,
)
from assay.model.events import EventType
from assay.model.operations import Signal
from assay.model.states import RunStatus
from tests.unit.core.desk import Desk, activity, said, timer
from tests.unit.core.scenes import begun

UPSERTED = EventType.SEARCH_ATTRIBUTES_UPSERTED
SNAPSHOT = RecordSnapshot('{"at":1}')


def upsert(patch: str, seq: int | None = None) -> UpsertSearchAttributes:
    return UpsertSearchAttributes(patch, seq)


def attributes(desk: Desk) -> dict[str, object]:
    kept: dict[str, object] = json.loads(desk.at().search_attributes or "{}")
    kept.pop("assay_engine_version", None)
    return kept


def upserts(desk: Desk) -> list[tuple[int | None, object]]:
    texts = [said(event) for event in desk.events() if event.type is UPSERTED]
    return [(text["upsert_seq"], text["patch"]) for text in texts]


# Merging


def test_keys_of_the_patch_win_and_others_stay() -> None:
    desk = begun(upsert('{"a":1,"b":{"deep":[1]}}', 1), upsert('{"b":null,"c":"x"}', 2))
    assert attributes(desk) == {"a": 1, "b": None, "c": "x"}
    assert upserts(desk) == [(1, {"a": 1, "b": {"deep": [1]}}), (2, {"b": None, "c": "x"})]


def test_a_number_is_merged_and_recorded_once() -> None:
    desk = begun(upsert('{"a":1}', 1))
    desk.step(upsert('{"a":2}', 1))
    assert (attributes(desk), len(upserts(desk))) == ({"a": 1}, 1)
    assert desk.at().ready_at is None


def test_numbers_may_come_in_any_order() -> None:
    desk = begun(upsert('{"a":3}', 3), upsert('{"a":1}', 1))
    desk.step(upsert('{"a":9}', 3), upsert('{"a":2}', 2), upsert('{"a":9}', 1))
    assert (attributes(desk), [seq for seq, _ in upserts(desk)]) == ({"a": 2}, [3, 1, 2])


# Batches of upserts and snapshots


@pytest.mark.parametrize(
    "batch",
    [
        (upsert('{"a":1}', 1),),
        (SNAPSHOT, upsert('{"a":1}', 1)),
        (upsert('{"a":1}'),),
        (SNAPSHOT, upsert('{"a":1}')),
    ],
)
def test_a_batch_of_upserts_alone_has_the_run_replayed(batch: tuple[Command, ...]) -> None:
    desk = begun(*batch)
    assert len(upserts(desk)) == 1
    assert desk.at().ready_at == desk.now
    desk.step(*batch)
    assert len(upserts(desk)) == 1
    assert desk.at().ready_at is None


def test_a_batch_of_snapshots_alone_wakes_nobody() -> None:
    desk = begun(SNAPSHOT)
    assert desk.at().ready_at is None
    assert desk.told() == [EventType.WORKFLOW_STARTED]


@pytest.mark.parametrize("beside", [timer(1), activity(1), RecordPatch("new")])
@pytest.mark.parametrize(("seq", "recorded"), [(1, 1), (None, 0)])
def test_beside_other_commands_it_wakes_nobody(
    beside: Command, seq: int | None, recorded: int
) -> None:
    for batch in ((beside, upsert('{"a":1}', seq)), (upsert('{"a":1}', seq), beside)):
        desk = begun(*batch)
        assert (attributes(desk), len(upserts(desk))) == ({"a": 1}, recorded)
        assert desk.at().ready_at is None


def test_beside_the_end_of_the_run_it_is_merged() -> None:
    desk = begun(upsert('{"a":1}'), CompleteWorkflow(None))
    assert (desk.at().status, attributes(desk)) == (RunStatus.COMPLETED, {"a": 1})


# Clients that stop at the call, and send no number


def test_each_patch_is_recorded_once_until_something_else_happens() -> None:
    desk = begun(upsert('{"a":1}'))
    for patch, recorded in (('{"a":1}', 1), ('{"b":2}', 2), ('{"b":2}', 2), ('{"a":1}', 2)):
        is_news = recorded > len(upserts(desk))
        desk.step(upsert(patch))
        assert len(upserts(desk)) == recorded
        assert (desk.at().ready_at is not None) is is_news
    desk.do(Signal("wf", "go"))
    desk.step(upsert('{"b":2}'))
    assert upserts(desk)[2:] == [(None, {"b": 2})]
    assert desk.at().ready_at is not None


def test_a_patch_is_the_same_whatever_its_notation() -> None:
    desk = begun(upsert('{"a": 1.0, "b": [2]}'))
    desk.step(upsert('{"b":[2e0],"a":1}'))
    assert len(upserts(desk)) == 1


def test_a_numbered_upsert_between_two_equal_ones_is_no_news() -> None:
    desk = begun(upsert('{"a":1}'), upsert('{"a":2}', 1))
    desk.step(upsert('{"a":1}'))
    assert [seq for seq, _ in upserts(desk)] == [None, 1]
    assert (attributes(desk), desk.at().ready_at) == ({"a": 1}, None)


def test_two_that_are_alike_in_one_batch_are_recorded_once() -> None:
    desk = begun(upsert('{"a":1}'), upsert('{"a":1}'), upsert('{"a":2}'), upsert('{"a":1}'))
    assert upserts(desk) == [(None, {"a": 1}), (None, {"a": 2})]
    assert attributes(desk) == {"a": 1}


def stopping_client(desk: Desk, patches: list[str], *, skips: bool) -> int:
    """A worker that stops at every upsert it has not answered; how many replays until it waits."""
    replays = 0
    while desk.at().ready_at is not None:
        replays += 1
        assert replays < 20, "the run spins"
        recorded = [json.dumps(patch) for _, patch in upserts(desk)]
        left = [
            each for each in patches if not skips or json.dumps(json.loads(each)) not in recorded
        ]
        desk.step(upsert(left[0])) if left else desk.step(timer(1))
    return replays


def test_a_client_that_skips_what_is_recorded_gets_past_every_upsert() -> None:
    desk = Desk()
    desk.start()
    assert stopping_client(desk, ['{"a":1}', '{"b":2}', '{"a":3}'], skips=True) == 4
    assert attributes(desk) == {"a": 3, "b": 2}
    assert desk.timer(1).is_live


def test_a_client_that_does_not_skip_neither_spins_nor_loses_its_run() -> None:
    desk = Desk()
    desk.start()
    assert stopping_client(desk, ['{"a":1}'], skips=False) == 2
    desk.do(Signal("wf", "go"))
    assert stopping_client(desk, ['{"a":1}'], skips=False) == 2
    assert attributes(desk) == {"a": 1}


# The look-up follows


def test_the_look_up_holds_what_the_run_holds() -> None:
    desk = begun(upsert('{"a":1,"b":"x"}', 1))
    desk.step(upsert('{"a":2.0}', 2))
    run = desk.at()
    held = {(each.key, each.value) for each in desk.attributes if each.run_no == run.no}
    assert held >= {("a", "2"), ("b", '"x"')}
    assert ("a", "1") not in held
