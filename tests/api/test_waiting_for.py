"""Why a run is not moving (contract 3.1): the reasons that describe gives for an open run."""

from __future__ import annotations

import functools

import pytest

from tests.support import commands
from tests.support.api import Api, over_http

pytestmark = pytest.mark.xfail(reason="describe does not say waiting_for yet")


@over_http
async def test_an_open_run_says_what_it_waits_for(api: Api) -> None:
    run = await api.start()
    [reason] = (await api.describe(run))["waiting_for"]
    assert reason["kind"] == "workflow_task"
    assert {"kind", "name", "since", "until", "note"} <= reason.keys()
    assert reason["note"]  # no worker lives on this queue, and that is said
    await api.advance(run, commands.activity(1, "pay", task_queue=api.queue))
    assert await kinds(api, run) == {("activity", "pay")}
    await api.take("pay")
    assert await kinds(api, run) == {("activity", "pay")}


async def kinds(api: Api, run: str) -> set[tuple[str, str | None]]:
    waiting_for = (await api.describe(run))["waiting_for"]
    return {(reason["kind"], reason["name"]) for reason in waiting_for}


@over_http
async def test_waiting_for_follows_the_commands(api: Api) -> None:
    child = api.fresh("child")
    for kind, name, command in (
        ("timer", None, commands.timer(1, 100)),
        ("signal", "go", commands.wait("go")),
        ("child", child, commands.child(child)),
    ):
        run = await api.start()
        await api.advance(run, command)
        [(seen_kind, seen_name)] = await kinds(api, run)
        assert seen_kind == kind
        assert name in (None, seen_name)


@functools.partial(over_http, server="short_lease_server")
async def test_a_blocked_run_says_so(api: Api) -> None:
    run = await api.start()
    await api.claim(run)
    await api.submit(run, {"type": "ScheduleTimer"}, status=422)
    assert "blocked" in {kind for kind, _ in await kinds(api, run)}


@over_http
async def test_an_ended_run_waits_for_nothing(api: Api) -> None:
    run = await api.start()
    assert "waiting_for" in await api.describe(run)
    await api.terminate(run)
    assert not (await api.describe(run)).get("waiting_for")
