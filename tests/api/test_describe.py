"""The run record (contract 3.1, 5.3): its fields, JSON in a string, which times move when."""

from __future__ import annotations

import time

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at

FIELDS = {
    "id": str,
    "namespace": str,
    "workflow_type": str,
    "task_queue": str,
    "run_id": str,
    "status": str,
    "input": str | None,
    "result": str | None,
    "search_attributes": str | None,
    "error": str | None,
    "parent_id": str | None,
    "claimed_by": str | None,
    "archived_at": float | None,
    "archive_uri": str | None,
    "blocked": str | None,
    "start_at": float | int,
    "timeout_at": float | int | None,
    "created_at": float | int,
    "updated_at": float | int,
    "completed_at": float | int | None,
}
EMPTY_AT_FIRST = (
    "input",
    "result",
    "error",
    "parent_id",
    "claimed_by",
    "archived_at",
    "archive_uri",
    "blocked",
    "timeout_at",
    "completed_at",
)


@over_http
async def test_every_field_is_there_and_empty_ones_are_null(api: Api) -> None:
    before = time.time()
    run = await api.describe(await api.start())
    for name, kind in FIELDS.items():
        assert isinstance(run[name], kind), (name, run)
    assert [name for name in EMPTY_AT_FIRST if run[name] is not None] == []
    assert before - 1 < run["created_at"] < time.time() + 1
    assert run["created_at"] == run["updated_at"] == run["start_at"]


@over_http
async def test_an_unknown_run_is_not_found(api: Api) -> None:
    run = api.fresh("none")
    answer = await api.send("GET", at(run), status=404)
    assert answer.error == f"not found: workflow {run}"


@over_http
async def test_a_namespace_parameter_is_ignored(api: Api) -> None:
    run = await api.start()
    assert (await api.get(f"{at(run)}?namespace=elsewhere"))["id"] == run


@over_http
async def test_result_and_error_of_ended_runs(api: Api) -> None:
    good, bad = await api.start(), await api.start()
    await api.advance(good, commands.complete({"steps": 0}))
    await api.advance(bad, commands.fail("no way"))
    ended = await api.describe(good)
    assert (ended["status"], ended["result"], ended["error"]) == (
        "COMPLETED",
        '{"steps":0}',
        None,
    )
    ended = await api.describe(bad)
    assert (ended["status"], ended["result"], ended["error"]) == ("FAILED", None, "no way")


@over_http
async def test_times_move_on_status_changes_only(api: Api) -> None:
    run = await api.start()
    first = await api.describe(run)
    await api.signal(run, "go")
    assert (await api.describe(run))["updated_at"] == first["updated_at"]
    await api.advance(run, commands.timer(1, 100))
    running = await api.describe(run)
    assert running["updated_at"] > first["updated_at"]
    await api.signal(run, "go")
    assert (await api.describe(run))["updated_at"] == running["updated_at"]
    await api.advance(run, commands.complete())
    ended = await api.describe(run)
    assert ended["created_at"] == first["created_at"]
    assert ended["completed_at"] == ended["updated_at"] > running["updated_at"]


@over_http
async def test_claimed_by_names_the_last_claimer(api: Api) -> None:
    run = await api.start()
    for worker in ("w-one", "w-two"):
        await api.claim(run, worker=worker)
        assert (await api.describe(run))["claimed_by"] == worker
        await api.submit(run, worker=worker)
        assert (await api.describe(run))["claimed_by"] == worker
        await api.signal(run, "again")
