"""Patches, search attributes and snapshots (contract 6, 8.9, 8.10): recorded once, in time."""

from __future__ import annotations

import json

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json

VERSION = "assay_engine_version"


async def attributes(api: Api, run: str) -> Json:
    """What a run carries, the engine's own entry left out."""
    kept = json.loads((await api.describe(run))["search_attributes"] or "{}")
    kept.pop(VERSION, None)
    return kept


# Patches


@over_http
async def test_a_patch_is_recorded_once_and_wakes_nobody(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.patch("new way"), commands.patch("new way"))
    assert await api.poll_run() is None
    [*_, event] = await api.history(run)
    assert (event.type, event.payload) == ("PatchRecorded", {"patch_id": "new way"})
    await api.signal(run, "go")
    await api.advance(run, commands.patch("new way"), commands.patch("other"))
    assert [event.payload["patch_id"] for event in await api.events(run, "PatchRecorded")] == [
        "new way",
        "other",
    ]


# Search attributes


@over_http
async def test_those_of_the_start_and_the_engines_version(api: Api) -> None:
    version = (await api.get("/version"))["version"]
    given = {"b": [1, {"c": None}], "a": "x"}
    record = await api.describe(await api.start(search_attributes=given))
    assert json.loads(record["search_attributes"]) == {VERSION: version, **given}
    run = await api.start(search_attributes={VERSION: "mine"})
    assert json.loads((await api.describe(run))["search_attributes"]) == {VERSION: "mine"}
    for empty in (b"[]", b"{}", b"null"):
        raw = b'{"workflow_type":"Story","task_queue":"nobody","search_attributes":' + empty + b"}"
        run = (await api.send("POST", "/workflows", raw, 201)).json()["workflow_id"]
        assert await attributes(api, run) == {}


@pytest.mark.parametrize("wrong", ["x", 5, [1], True])
@over_http
async def test_those_of_the_start_must_be_an_object(api: Api, wrong: Json) -> None:
    body = {"workflow_type": "Story", "task_queue": api.queue, "search_attributes": wrong}
    await api.send("POST", "/workflows", body, 422)
    for text in (r'{"a":"\u0000"}', r'{"\u0000":1}'):
        raw = f'{{"workflow_type":"Story","task_queue":"q","search_attributes":{text}}}'
        await api.send("POST", "/workflows", raw.encode(), 400)


@over_http
async def test_an_upsert_with_a_number_is_merged_and_recorded_once(api: Api) -> None:
    run = await api.start(search_attributes={"a": 1, "b": 2})
    await api.advance(run, commands.upsert({"b": 3, "c": {"d": [True]}}, 1))
    [*_, event] = await api.history(run)
    assert event.type == "SearchAttributesUpserted"
    assert event.payload == {"upsert_seq": 1, "patch": {"b": 3, "c": {"d": [True]}}}
    await api.advance(run, commands.upsert({"b": 9}, 1))
    assert await api.poll_run() is None
    assert await attributes(api, run) == {"a": 1, "b": 3, "c": {"d": [True]}}
    assert len(await api.events(run, "SearchAttributesUpserted")) == 1


@over_http
async def test_beside_other_commands_an_upsert_wakes_nobody(api: Api) -> None:
    run = await api.start()
    await api.advance(
        run, commands.upsert({"a": 1}, 1), commands.upsert({"b": 2}), commands.wait("go")
    )
    assert await api.poll_run() is None
    assert await attributes(api, run) == {"a": 1, "b": 2}
    recorded = await api.events(run, "SearchAttributesUpserted")
    assert [event.payload["upsert_seq"] for event in recorded] == [1]


@over_http
async def test_a_client_that_stops_at_the_call_gets_past_it(api: Api) -> None:
    run = await api.start()
    batch = (commands.snapshot({"n": 1}), commands.upsert({"a": 1}))
    await api.advance(run, *batch)
    [*_, event] = await api.history(run)
    assert event.payload == {"upsert_seq": None, "patch": {"a": 1}}
    await api.advance(run, *batch)  # one that does not skip what is recorded: it waits for news
    assert await api.poll_run() is None
    await api.signal(run, "go")
    await api.advance(run, *batch)
    await api.advance(run, commands.upsert({"a": 2}))  # one that does
    await api.advance(run, commands.complete())
    patches = [
        event.payload["patch"] for event in await api.events(run, "SearchAttributesUpserted")
    ]
    assert patches == [{"a": 1}, {"a": 1}, {"a": 2}]
    assert await attributes(api, run) == {"a": 2}


@over_http
async def test_an_empty_table_is_an_empty_object(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.upsert([], 1), commands.snapshot([]))
    [event] = await api.events(run, "SearchAttributesUpserted")
    assert event.payload == {"upsert_seq": 1, "patch": {}}


@over_http
async def test_children_inherit_none(api: Api) -> None:
    run, child = await api.start(search_attributes={"a": 1}), api.fresh("child")
    await api.advance(run, commands.child(child, task_queue=api.queue))
    assert (await api.describe(child))["search_attributes"] is None
    await api.advance(child, commands.upsert({"b": 1}))
    assert await attributes(api, child) == {"b": 1}


# Snapshots


@over_http
async def test_a_snapshot_stands_under_the_events_before_its_batch(api: Api) -> None:
    run = await api.start()
    await api.send("GET", at(run, "state"), status=404)
    await api.advance(run, commands.snapshot({"n": 1, "none": None}), commands.wait("go"))
    state = await api.get(at(run, "state"))
    assert (state["state"], state["event_seq"]) == ({"n": 1, "none": None}, 1)
    await api.signal(run, "go")
    await api.advance(run, commands.snapshot({"n": 2}), commands.snapshot({"m": 3}))
    state = await api.get(at(run, "state"))
    assert (state["state"], state["event_seq"]) == ({"m": 3}, 3)
    assert await api.kinds(run) == ["WorkflowStarted", "WorkflowAwaitingSignal", "SignalReceived"]


@over_http
async def test_a_refused_batch_leaves_no_snapshot(api: Api) -> None:
    run = await api.start()
    await api.advance(run, commands.snapshot({"n": 1}), commands.activity(1))
    await api.signal(run, "go")
    await api.claim(run)
    await api.submit(run, commands.snapshot({"n": 2}), commands.activity(1, "other"), status=409)
    assert (await api.get(at(run, "state")))["state"] == {"n": 1}


WRONG: list[tuple[Json, int]] = [
    ({"type": "UpsertSearchAttributes"}, 422),
    (commands.upsert("x"), 422),
    (commands.upsert([1]), 422),
    (commands.upsert(None), 422),
    (commands.upsert({}, 0), 400),
    (commands.upsert({"a": "\0"}), 400),
    ({"type": "RecordSnapshot"}, 422),
    (commands.snapshot(5), 422),
    (commands.snapshot([1]), 422),
    ({"type": "RecordSideEffect", "seq": 1, "name": 5}, 422),
    ({"type": "ContinueAsNew", "carry": 5}, 422),
    ({"type": "ContinueAsNew", "carry": ["x"]}, 422),
    ({"type": "ContinueAsNew", "carry": [0]}, 400),
    ({"type": "ContinueAsNew", "carry": [1]}, 400),  # the start is no signal
    ({"type": "CancelTimer", "seq": 2**53 + 2}, 400),
]


@pytest.mark.parametrize(("command", "status"), WRONG)
@over_http
async def test_malformed(api: Api, command: Json, status: int) -> None:
    run = await api.start()
    await api.claim(run)
    answer = await api.submit(run, commands.upsert({"a": 1}, 1), command, status=status)
    assert answer.error.startswith("command 1: ")
    assert await api.kinds(run) == ["WorkflowStarted"]
    record = await api.describe(run)
    assert record["blocked"] == answer.error
    assert await attributes(api, run) == {}
    await api.submit(run, commands.complete())
