"""Reading a history (contract 5.4): whole, by pages, in both orders."""

from __future__ import annotations

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Json

COUNT = 60  # more than one page of the usual size


async def long_run(api: Api) -> str:
    run = await api.start()
    await api.advance(run, *(commands.wait(f"s{n}") for n in range(COUNT - 1)))
    return run


async def seqs(api: Api, run: str, query: str) -> list[int]:
    return [item["seq"] for item in await api.get(f"{at(run, 'events')}?{query}")]


@over_http
async def test_the_record_of_an_event(api: Api) -> None:
    run = await api.start(input={"a": 1})
    await api.signal(run, "go")
    first, second = await api.get(at(run, "events"))
    assert isinstance(first["id"], int)
    assert first["workflow_id"] == run
    assert (first["seq"], first["event_type"]) == (1, "WorkflowStarted")
    assert first["payload"] == '{"a":1}'
    assert isinstance(first["timestamp"], float | int)
    assert second["id"] > first["id"]
    assert second["timestamp"] >= first["timestamp"]


@over_http
async def test_without_parameters_the_whole_history_comes(api: Api) -> None:
    run = await long_run(api)
    assert [item["seq"] for item in await api.get(at(run, "events"))] == [*range(1, COUNT + 1)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("limit=3", [1, 2, 3]),
        ("limit=3&cursor=2", [3, 4, 5]),
        ("limit=3&order=desc", [60, 59, 58]),
        ("limit=3&order=desc&cursor=3", [2, 1]),
        ("limit=2&order=asc&cursor=59", [60]),
        ("cursor=60", []),
        ("order=desc&cursor=1", []),
        ("order=asc", [*range(1, 51)]),
        ("order=desc", [*range(60, 10, -1)]),
        ("cursor=0", [*range(1, 51)]),
        ("limit=1000", [*range(1, 61)]),
        ("limit=5000", [*range(1, 61)]),
        ("limit=2.0&cursor=1.0", [2, 3]),
    ],
)
@over_http
async def test_pages(api: Api, query: str, wanted: list[int]) -> None:
    assert await seqs(api, await long_run(api), query) == wanted


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "limit=abc", "cursor=x", "limit=1.5", "order=up"]
)
@over_http
async def test_odd_pages_are_refused(api: Api, query: str) -> None:
    run = await api.start()
    await api.send("GET", f"{at(run, 'events')}?{query}", status=400)


@over_http
async def test_limits_above_a_thousand_count_as_a_thousand(api: Api) -> None:
    run = await api.start()
    await api.advance(run, *(commands.wait(f"s{n}") for n in range(1010)))
    assert await seqs(api, run, "limit=2000") == [*range(1, 1001)]
    assert len(await api.history(run)) == 1011


@over_http
async def test_an_unknown_run_has_no_events(api: Api) -> None:
    assert await api.get(at(api.fresh("none"), "events")) == []
    assert await api.get(at(api.fresh("none"), "events") + "?limit=5") == []


@over_http
async def test_paging_to_and_fro_sees_every_event_once(api: Api) -> None:
    run = await long_run(api)
    for order, start in (("asc", 0), ("desc", COUNT + 1)):
        seen: list[int] = []
        cursor = start
        while page := await seqs(api, run, f"limit=7&order={order}&cursor={cursor}"):
            seen += page
            cursor = page[-1]
        assert sorted(seen) == [*range(1, COUNT + 1)]


@over_http
async def test_payloads_of_each_kind(api: Api) -> None:
    run = await api.start()
    await api.advance(
        run,
        commands.activity(1, "pay", input={"n": 1}, task_queue=api.queue),
        commands.timer(1, 90.5),
        commands.wait("go"),
        commands.wait("go", 1),
    )
    payloads: dict[str, Json] = {}
    for event in await api.history(run):
        payloads.setdefault(event.type, event.payload)
    scheduled = payloads["ActivityScheduled"]
    assert scheduled | {"activity_id": 0} == {
        "activity_id": 0,
        "activity_seq": 1,
        "name": "pay",
        "task_queue": api.queue,
        "input": '{"n":1}',  # JSON in a string, here too
    }
    timer = payloads["TimerScheduled"]
    assert (timer["timer_seq"], timer["duration_secs"]) == (1, 90.5)
    assert isinstance(timer["timer_id"], int)
    assert isinstance(timer["fire_at"], float | int)
    assert payloads["WorkflowAwaitingSignal"]["signal"] == "go"
