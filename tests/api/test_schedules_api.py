"""Schedules as a resource (contract 5.12, 9.1, 9.2); what they start is in test_schedule_firing."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import pytest

from tests.support.api import Api, over_http
from tests.support.http import NOTHING, Json
from tests.support.plans import EVERY_SECOND, NEVER_SOON, of_schedule

FIELDS = {
    "name": str,
    "namespace": str,
    "workflow_type": str,
    "cron_expr": str,
    "timezone": str,
    "input": str | None,
    "task_queue": str,
    "overlap_policy": str,
    "paused": bool,
    "last_run_at": float | int | None,
    "next_run_at": float | int | None,
    "last_workflow_id": str | None,
    "created_at": float | int,
}


def moment(secs: float) -> datetime:
    return datetime.fromtimestamp(secs, UTC)


@over_http
async def test_the_record_and_its_defaults(api: Api) -> None:
    name, before = api.fresh("plan"), time.time()
    body: Json = {"name": name, "workflow_type": "Story", "cron_expr": NEVER_SOON}
    record = (await api.send("POST", "/schedules", body, 201)).json()
    assert record.keys() >= FIELDS.keys()
    for field, kind in FIELDS.items():
        assert isinstance(record[field], kind), field
    assert (record["namespace"], record["timezone"], record["task_queue"]) == (
        "main",
        "UTC",
        "default",
    )
    assert (record["overlap_policy"], record["paused"], record["input"]) == ("skip", False, None)
    assert (record["last_run_at"], record["last_workflow_id"]) == (None, None)
    assert before - 1 < record["created_at"] < time.time() + 1
    next_run = moment(record["next_run_at"])
    assert (next_run.month, next_run.day, next_run.hour, next_run.microsecond) == (1, 1, 0, 0)
    assert await api.patch(name) == record
    await api.unschedule(name)


@over_http
async def test_all_fields(api: Api) -> None:
    name, space = api.fresh("a/b ä"), await api.open_namespace()
    given: Json = {
        "name": name,
        "namespace": space,
        "workflow_type": "Report",
        "cron_expr": "30 6 * * MON-FRI",
        "timezone": "Europe/Berlin",
        "input": {"b": 1, "a": [None]},
        "task_queue": "reports",
        "overlap_policy": "cancel_old",
    }
    record = (await api.send("POST", "/schedules", given, 201)).json()
    assert {name: record[name] for name in given} == given | {"input": '{"b":1,"a":[null]}'}
    assert moment(record["next_run_at"]).minute == 30
    await api.unschedule(name, 404)
    await api.unschedule(name, namespace=space)


WRONG: list[tuple[Json, int]] = [
    ({"name": None}, 422),
    ({"workflow_type": None}, 422),
    ({"cron_expr": None}, 422),
    ({"cron_expr": 5}, 422),
    ({"overlap_policy": 5}, 422),
    ({"name": " "}, 400),
    ({"workflow_type": ""}, 400),
    ({"task_queue": ""}, 400),
    ({"name": "x" * 1001}, 400),
    ({"cron_expr": ""}, 400),
    ({"cron_expr": "every day"}, 400),
    ({"cron_expr": "60 * * * * *"}, 400),
    ({"cron_expr": "* * * *"}, 400),
    ({"cron_expr": "0 0 0 1 1 * 2101"}, 400),
    ({"timezone": "Mars/Base"}, 400),
    ({"timezone": "../etc/passwd"}, 400),
    ({"overlap_policy": "SKIP"}, 400),
    ({"overlap_policy": "replace"}, 400),
    ({"namespace": "nowhere"}, 404),
    ({"namespace": "nowhere", "cron_expr": "no"}, 400),
]


@pytest.mark.parametrize(("wrong", "status"), WRONG)
@over_http
async def test_what_cannot_be_made(api: Api, wrong: Json, status: int) -> None:
    name = api.fresh("plan")
    body = {"name": name, "workflow_type": "Story", "cron_expr": NEVER_SOON} | wrong
    await api.send("POST", "/schedules", body, status)
    await api.patch(name, 404)


@pytest.mark.parametrize("zone", ["", "utc", "UTC", "Etc/UTC"])
@over_http
async def test_names_of_utc(api: Api, zone: str) -> None:
    record = await api.schedule(timezone=zone, cron_expr="0 0 12 1 1 *")
    assert moment(record["next_run_at"]).hour == 12
    await api.unschedule(record["name"])


@over_http
async def test_an_expression_without_an_instant_never_fires(api: Api) -> None:
    record = await api.schedule(cron_expr="0 0 0 30 2 *")
    assert record["next_run_at"] is None
    assert (await api.patch(record["name"], cron_expr=NEVER_SOON))["next_run_at"] is not None
    assert (await api.patch(record["name"], cron_expr="0 0 0 1 1 * 1999"))["next_run_at"] is None
    await api.unschedule(record["name"])


@over_http
async def test_a_name_is_taken_once(api: Api) -> None:
    name = api.fresh("plan")
    body: Json = {"name": name, "workflow_type": "Story", "cron_expr": NEVER_SOON}
    made = [api.ask("POST", "/schedules", body) for _ in range(10)]
    answers = await asyncio.gather(*made)
    assert sorted(answer.status for answer in answers) == [201] + [409] * 9
    assert all(name in answer.error for answer in answers if answer.status == 409)
    await api.unschedule(name)
    await api.schedule(name)
    await api.unschedule(name)


# Changes


@over_http
async def test_a_patch_changes_what_it_names(api: Api) -> None:
    name = api.fresh("plan")
    record = await api.schedule(name, input=1)
    changes: list[Json] = [
        {"input": {"a": 1}},
        {"task_queue": "elsewhere"},
        {"overlap_policy": "queue"},
        {"input": {}},
    ]
    for change in changes:
        changed = await api.patch(name, **change)
        shown = {"input": '{"a":1}'} if change == {"input": {"a": 1}} else change
        shown = {"input": "{}"} if change == {"input": {}} else shown
        record |= shown
        assert changed == record
    await api.unschedule(name)


@pytest.mark.parametrize(
    "body", [NOTHING, b"", None, {}, [], {"input": None, "cron_expr": None, "colour": "red"}]
)
@over_http
async def test_an_empty_patch_changes_nothing(api: Api, body: object) -> None:
    record = await api.schedule(input=1, cron_expr="0 0 0 30 2 *")
    answer = await api.send("PATCH", of_schedule(record["name"]), body)
    assert answer.json() == record
    await api.unschedule(record["name"])


@over_http
async def test_a_new_rhythm_counts_from_now(api: Api) -> None:
    record = await api.schedule(timezone="Asia/Tokyo")
    name = record["name"]
    assert moment(record["next_run_at"]).hour == 15
    moved = await api.patch(name, timezone="UTC")
    assert moment(moved["next_run_at"]).hour == 0
    moved = await api.patch(name, cron_expr="0 30 * * * *")
    assert moment(moved["next_run_at"]).minute == 30
    assert 0 < moved["next_run_at"] - time.time() < 3601
    assert (moved["timezone"], moved["cron_expr"]) == ("UTC", "0 30 * * * *")
    await api.unschedule(name)


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"cron_expr": "no"}, 400),
        ({"timezone": "Mars/Base"}, 400),
        ({"overlap_policy": "no"}, 400),
        ({"task_queue": " "}, 400),
        ({"cron_expr": 5}, 422),
        ({"input": 1, "cron_expr": "no"}, 400),
    ],
)
@over_http
async def test_a_patch_is_validated_as_on_create(api: Api, wrong: Json, status: int) -> None:
    record = await api.schedule()
    await api.patch(record["name"], status, **wrong)
    assert await api.patch(record["name"]) == record
    await api.unschedule(record["name"])
    await api.patch(record["name"], status, **wrong)  # values come before existence


# Pause, resume, delete


@over_http
async def test_pause_and_resume_may_be_repeated(api: Api) -> None:
    record = await api.schedule()
    name = record["name"]
    paused = await api.pause(name)
    assert paused == record | {"paused": True}
    assert await api.pause(name) == paused
    resumed = await api.resume(name)
    assert resumed == record
    assert await api.resume(name) == resumed
    nothing: list[Json] = [b"", None, {}, [], {"colour": "red"}]
    for path in ("pause", "resume"):
        for body in nothing:
            await api.send("POST", of_schedule(name, path), body)
    await api.unschedule(name)


@over_http
async def test_resuming_counts_from_now(api: Api) -> None:
    record = await api.schedule(cron_expr=EVERY_SECOND)
    name = record["name"]
    paused = await api.pause(name)
    while time.time() < paused["next_run_at"] + 0.1:
        await asyncio.sleep(0.05)
    resumed = await api.resume(name)
    assert resumed["next_run_at"] > paused["next_run_at"]
    assert resumed["last_run_at"] == paused["last_run_at"]
    await api.unschedule(name)


@over_http
async def test_unknown_names_are_not_found(api: Api) -> None:
    name = api.fresh("none")
    calls = (
        api.send("PATCH", of_schedule(name), {"task_queue": "q"}, 404),
        api.send("PATCH", of_schedule(name), status=404),
        api.send("POST", of_schedule(name, "pause"), status=404),
        api.send("POST", of_schedule(name, "resume"), status=404),
        api.send("DELETE", of_schedule(name), status=404),
    )
    for call in calls:
        assert (await call).error == f"not found: schedule {name}"


@over_http
async def test_a_deleted_schedule_is_gone(api: Api) -> None:
    name = (await api.schedule())["name"]
    answer = await api.unschedule(name)
    assert (answer.body, answer.headers["content-length"]) == (b"", "0")
    await api.unschedule(name, 404)
