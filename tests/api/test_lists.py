"""The list of runs (contract 5.2): what a query finds is what was started, in its order."""

from __future__ import annotations

import asyncio
import json
import random
import secrets

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json

WORKERS = ("w-ann", "w-bob", "w-cy")
TYPES = ("order", "Order", "or der", "größe")
STATUSES = ("PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT")
ODD_IDS = ("z", "a", "Z", "ä", "𝄞", "\ufffd", "a/b", "a b", "%", "~")


@over_http
async def test_the_newest_come_first_and_those_of_one_moment_by_id(api: Api) -> None:
    space = await api.open_namespace()
    for _ in range(3):
        names = [f"{word}-{api.fresh()}" for word in ODD_IDS]
        await asyncio.gather(*(api.start(name, namespace=space) for name in names))
    runs = await api.listed(namespace=space)
    assert len(runs) == 3 * len(ODD_IDS)
    assert len({run["created_at"] for run in runs}) < len(runs), "some share a moment"
    assert runs == sorted(runs, key=lambda run: (-run["created_at"], run["id"]))


@over_http
async def test_a_listed_run_is_the_record_that_describe_shows(api: Api) -> None:
    space = await api.open_namespace()
    big = '{"b": 1.0, "a": [1e300, 123456789012345678901234567890, "\\u0000"]}'
    body = {"workflow_type": "T", "namespace": space, "task_queue": api.queue}
    text = json.dumps({**body, "workflow_id": api.fresh()})[:-1] + f', "input": {big}}}'
    run = (await api.send("POST", "/workflows", text.encode(), 201)).json()["workflow_id"]
    [listed] = await api.listed(namespace=space)
    described = await api.describe(run)
    described.pop("waiting_for")
    assert listed == described
    assert listed["input"].replace(" ", "") == big.replace(" ", "")
    await api.advance(run, commands.complete({"sum": [1, None]}))
    [listed] = await api.listed(namespace=space)
    assert listed == await api.describe(run)
    assert listed["result"] == '{"sum":[1,null]}'


@over_http
async def test_pages_put_together_are_the_list(api: Api) -> None:
    space = await api.open_namespace()
    await asyncio.gather(*(api.start(namespace=space) for _ in range(53)))
    whole = [run["id"] for run in await api.listed(namespace=space, limit=1000)]
    assert len(set(whole)) == 53
    assert [run["id"] for run in await api.listed(namespace=space)] == whole[:50]
    for limit in (1, 7, 53):
        pages = [
            await api.listed(namespace=space, limit=limit, offset=offset)
            for offset in range(0, 54, limit)
        ]
        assert [run["id"] for page in pages for run in page] == whole
    for offset in (53, 1000, 2**53):
        assert await api.listed(namespace=space, offset=offset) == []


@pytest.mark.parametrize(
    "query",
    [
        "status=running",
        "status=DONE",
        "status=RUNNING%20",
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=abc",
        "limit=1.5",
        "offset=-1",
        "offset=x",
        "offset=9007199254740993",
        "search_attrs=1",
        "search_attrs=null",
        "search_attrs=%22a%22",
        "search_attrs=%5B1%5D",
        "search_attrs=%7B",
        "search_attrs=%7B%22a%22:1%7D,",
        "search_attrs=%7B%22a%22:NaN%7D",
        "search_attrs=%7B%22a%22:%22%5Cu0000%22%7D",
        "search_attrs=%7B%22%5Cu0000%22:1%7D",
        "search_attrs=%7B%22a%22:%22%5Cud800%22%7D",
        "search_attrs=%7B%22a%22:%22%FF%22%7D",
        "search_attrs=" + "%7B%22a%22:" * 501 + "1" + "%7D" * 501,
        "search_attrs=",
        "limit=",
        "offset=",
        "status=",
        "type=a%00b",
        "claimed_by=%ED%A0%80",
        "namespace=%00",
    ],
)
@over_http
async def test_what_cannot_be_asked(api: Api, query: str) -> None:
    await api.send("GET", f"/workflows?{query}", status=400)


@over_http
async def test_what_may_be_asked_besides(api: Api) -> None:
    space = await api.open_namespace()
    run = await api.start(namespace=space)
    for query in (
        "",
        "type=&claimed_by=",  # blank is absent
        "search_attrs=%5B%5D",
        "search_attrs=%20%5B%20%5D",
        "search_attrs=%7B%7D",
        "limit=12.0&offset=0.0",
        "order=up&unknown=1",
        "status=RUNNING&status=PENDING",  # the last one counts
    ):
        found = await api.get(f"/workflows?namespace={space}&{query}")
        assert [each["id"] for each in found] == [run], query


@over_http
async def test_tenants_are_apart_and_unknown_ones_empty(api: Api) -> None:
    space, other = await api.open_namespace(), await api.open_namespace()
    run = await api.start(namespace=space, search_attributes={"a": 1})
    assert [each["id"] for each in await api.listed(namespace=space)] == [run]
    asked = {"search_attrs": '{"a":1}'}
    assert [each["id"] for each in await api.listed(namespace=space, **asked)] == [run]
    for name in (other, api.fresh("none"), "main"):
        assert run not in {each["id"] for each in await api.listed(namespace=name, **asked)}
    assert await api.listed(namespace=api.fresh("none")) == []
    main = await api.start()
    assert main in {each["id"] for each in await api.listed(limit=1000)}
    await api.close_namespace(space)
    assert [each["id"] for each in await api.listed(namespace=space)] == [run]


@over_http
async def test_the_longest_names_can_be_listed(api: Api) -> None:
    """An entry of an index has a longest size, and random text cannot be made smaller."""
    longest = {name: secrets.token_hex(500) for name in ("space", "type", "worker", "queue")}
    space, queue, worker = longest["space"], longest["queue"], longest["worker"]
    await api.send("POST", "/namespaces", {"name": space}, 201)
    names = {"namespace": space, "workflow_type": longest["type"], "task_queue": queue}
    near = longest["type"][:-1] + "x"
    run = await api.start(secrets.token_hex(500), **names)
    await api.start(**{**names, "workflow_type": near, "task_queue": api.queue})
    task = await api.poll_run(worker=worker, queue=queue)
    assert task["workflow_id"] == run
    await api.submit(run, commands.activity(1, task_queue=queue), worker=worker)
    await api.signal(run, "go")
    await api.poll_run(worker=worker, queue=queue)
    await api.submit(run, commands.complete(), worker=worker)
    for query in ({"type": longest["type"]}, {"claimed_by": worker}, {"status": "COMPLETED"}):
        found = await api.listed(namespace=space, **query)
        assert [each["id"] for each in found] == [run], query
    assert await api.listed(namespace=space, claimed_by=worker[:-1]) == []
    continued = await api.continue_as_new(run)
    assert len(continued["id"]) > 1000
    assert continued["id"] in {each["id"] for each in await api.listed(namespace=space)}


# --- against a model ----------------------------------------------------------------------------


async def settle(api: Api, dice: random.Random, run: str) -> None:
    """Bring a run that was just started to a random end, or somewhere before it."""
    end = dice.choice(["pending", "cancelled", "timer", "waiting", "complete", "fail", "cancel"])
    if end == "pending":
        return
    if end == "cancelled":
        await api.cancel(run)
        return
    for _ in range(dice.randint(1, 2)):
        await api.claim(run, worker=(worker := dice.choice(WORKERS)))
        await api.submit(run, commands.timer(1, 1000), worker=worker)
        await api.signal(run, "again")
    await api.claim(run, worker=(worker := dice.choice(WORKERS)))
    if end == "waiting":
        await api.submit(run, commands.activity(1, max_attempts=1, task_queue=run), worker=worker)
        task = await api.poll_activity(queue=run)
        await api.fail(task["id"])
        await api.claim(run, worker=worker)
        await api.submit(run, commands.fail(), worker=worker)
        await api.retry(run)
        return
    command = {
        "timer": commands.timer(2, 1000),
        "complete": commands.complete(1),
        "fail": commands.fail(),
        "cancel": commands.cancelled(),
    }[end]
    await api.submit(run, command, worker=worker)


def random_attributes(dice: random.Random) -> dict[str, Json]:
    values: dict[str, list[Json]] = {
        "tier": ["gold", "tin"],
        "n": [1, 2, True, None],
        "deep": [{"a": [1]}, []],
    }
    keys = dice.sample(sorted(values), dice.randint(0, 3))
    return {key: dice.choice(values[key]) for key in keys}


def random_query(dice: random.Random, runs: list[Json]) -> dict[str, str | int]:
    """Anything that may be asked; often what some run fulfils."""
    query: dict[str, str | int] = {}
    like = dice.choice(runs)
    if dice.random() < 0.4:
        query["status"] = like["status"] if dice.random() < 0.7 else dice.choice(STATUSES)
    if dice.random() < 0.4:
        query["type"] = dice.choice([like["workflow_type"], dice.choice(TYPES), "none"])
    if dice.random() < 0.4:
        query["claimed_by"] = like["claimed_by"] or dice.choice([*WORKERS, "w-none"])
    if dice.random() < 0.6:
        attributes = json.loads(like["search_attributes"])
        if dice.random() < 0.3:
            attributes |= random_attributes(dice)
        keys = dice.sample(sorted(attributes), dice.randint(0, len(attributes)))
        query["search_attrs"] = json.dumps({key: attributes[key] for key in keys})
    if dice.random() < 0.3:
        query |= {"limit": dice.choice([1, 3, 1000]), "offset": dice.choice([0, 1, 5])}
    return query


def is_meant(run: Json, query: dict[str, str | int]) -> bool:
    attributes = json.loads(run["search_attributes"])
    wanted = json.loads(str(query.get("search_attrs", "{}")))
    return (
        query.get("status") in (None, run["status"])
        and query.get("type") in (None, run["workflow_type"])
        and query.get("claimed_by") in (None, run["claimed_by"])
        and all(key in attributes for key in wanted)
        and all(json.dumps(attributes[key]) == json.dumps(wanted[key]) for key in wanted)
    )


@over_http
async def test_any_query_finds_what_a_look_at_every_run_finds(api: Api) -> None:
    dice, space = random.Random(20), await api.open_namespace()
    names = [api.fresh() for _ in range(40)]
    for at in range(0, 40, 8):  # several at once, so that some share their moment
        chosen = [
            {"workflow_type": dice.choice(TYPES), "search_attributes": random_attributes(dice)}
            for _ in names[at : at + 8]
        ]
        starts = zip(names[at : at + 8], chosen, strict=True)
        await asyncio.gather(
            *(
                api.start(name, namespace=space, task_queue=name, **fields)
                for name, fields in starts
            )
        )
    queue = api.queue
    for name in names:
        api.queue = name
        await settle(api, dice, name)
    api.queue = queue
    timed = await api.start(namespace=space, workflow_type=TYPES[0], timeout_secs=0.001)
    while await api.status(timed) != "TIMED_OUT":
        await asyncio.sleep(0.01)
    runs = [await api.describe(name) for name in [*names, timed]]
    assert {run["status"] for run in runs} == set(STATUSES)
    runs.sort(key=lambda run: (-run["created_at"], run["id"]))
    found_some = 0
    for _ in range(300):
        query = random_query(dice, runs)
        first, limit = int(query.get("offset", 0)), int(query.get("limit", 50))
        meant = [run["id"] for run in runs if is_meant(run, query)][first : first + limit]
        found = [run["id"] for run in await api.listed(namespace=space, **query)]
        assert found == meant, query
        found_some += bool(found)
    assert 100 < found_some < 290
