"""Namespaces and schedules, listed and counted (contract 5.12, 5.13)."""

from __future__ import annotations

import time
from urllib.parse import quote

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.http import Json
from tests.support.plans import of_schedule

ODD = ("z", "A", "a", "ä", "𝄞", "\ufffd", "a b")


async def stats(api: Api, space: str) -> Json:
    found = await api.get(f"/namespaces/{quote(space, safe='')}")
    assert found.pop("namespace") == space
    return found


@over_http
async def test_namespaces_are_listed_by_name(api: Api) -> None:
    before, mark = time.time(), api.fresh("space")
    names = [f"{mark}-{word}" for word in ODD]
    for name in names:
        await api.send("POST", "/namespaces", {"name": name}, 201)
    found = await api.get("/namespaces")
    listed = [space["name"] for space in found]
    assert listed == sorted(listed), "by code point"
    assert {*names, "main"} <= set(listed)
    created = {space["name"]: space["created_at"] for space in found}
    assert all(before - 1 < created[name] < time.time() + 1 for name in names)
    assert 0 < created["main"] < time.time() + 1
    await api.close_namespace(names[0])
    assert names[0] not in {space["name"] for space in await api.get("/namespaces")}


@over_http
async def test_stats_count_what_there_is(api: Api) -> None:
    space = await api.open_namespace()
    nothing = dict.fromkeys(("running", "pending", "completed", "failed", "schedules"), 0)
    assert await stats(api, space) == {"total_workflows": 0, "workers": 0, **nothing}
    ends = {
        "complete": commands.complete(),
        "fail": commands.fail(),
        "cancel": commands.cancelled(),
        "timer": commands.timer(1, 1000),
    }
    for end in ("complete", "fail", "cancel", "timer", "timer"):
        run = await api.start(namespace=space)
        await api.advance(run, ends[end])
    last = ""
    for _ in range(3):
        last = await api.start(namespace=space)
    body = {"identity": "me", "queue": "q", "namespace": space}
    await api.send("POST", "/workers/register", body)
    for _ in range(2):
        await api.schedule(namespace=space)
    counted = {
        "total_workflows": 8,
        "running": 2,
        "pending": 3,
        "completed": 1,
        "failed": 1,
        "schedules": 2,
        "workers": 1,
    }
    assert await stats(api, space) == counted
    await api.terminate(last)
    assert await stats(api, space) == {**counted, "pending": 2, "failed": 2}
    await api.delete(last)
    assert await stats(api, space) == {**counted, "pending": 2, "total_workflows": 7}


@over_http
async def test_unknown_namespaces_are_not_found(api: Api) -> None:
    name = api.fresh("none") + "/ä"
    path = f"/namespaces/{quote(name, safe='')}"
    answer = await api.send("GET", path, status=404)
    assert answer.error == f"not found: namespace {name}"
    await api.send("POST", "/namespaces", {"name": name}, 201)
    assert (await stats(api, name))["total_workflows"] == 0
    await api.close_namespace(name)
    await api.send("GET", path, status=404)
    assert (await stats(api, "main"))["total_workflows"] >= 0


@over_http
async def test_schedules_are_listed_by_name_within_their_namespace(api: Api) -> None:
    space, other = await api.open_namespace(), await api.open_namespace()
    made = {name: await api.schedule(name, namespace=space) for name in ODD}
    await api.schedule("elsewhere", namespace=other)
    assert await api.get(f"/schedules?namespace={space}") == [made[name] for name in sorted(ODD)]
    assert await api.get(f"/schedules?namespace={api.fresh('none')}") == []
    own = await api.schedule()
    assert own in await api.get("/schedules")
    for name in ODD:
        assert await api.get(of_schedule(name, namespace=space)) == made[name]
    await api.unschedule("a", namespace=space)
    answer = await api.send("GET", of_schedule("a", namespace=space), status=404)
    assert answer.error == "not found: schedule a"
    await api.send("GET", of_schedule("elsewhere"), status=404)
    await api.send("GET", of_schedule("z", namespace=api.fresh("none")), status=404)


@over_http
async def test_a_schedule_is_shown_as_it_was_changed(api: Api) -> None:
    made = await api.schedule(input={"b": [1.0], "a": None})
    assert await api.get(of_schedule(made["name"])) == made
    paused = await api.pause(made["name"])
    assert await api.get(of_schedule(made["name"])) == paused
    assert paused["paused"] is True
    patched = await api.patch(made["name"], cron_expr="@daily", timezone="Europe/Berlin")
    assert await api.get(of_schedule(made["name"])) == patched
