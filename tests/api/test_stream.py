"""The event stream (contract 14), heard by clients of a running server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support import commands
from tests.support.api import Api, over_http
from tests.support.caller import at
from tests.support.http import Answer, Json
from tests.support.server import Server
from tests.support.sse import Ear, Heard, listen, open_ear

PREFIXES = ("/api/v1", "/api/v1/engine/workflow")
FIELDS = ["id", "ts", "namespace", "subsystem", "kind", "event_type", "workflow_id", "payload"]
QUIET_SECS = 0.3


async def ear(api: Api, query: str = "", cursor: object = None) -> Ear:
    return await open_ear(api.http.host, api.http.port, query, cursor=cursor)


async def refused(api: Api, cursor: object) -> Answer:
    answer = await listen(api.http.host, api.http.port, cursor=cursor)
    assert isinstance(answer, Answer), answer
    return answer


async def newest(api: Api) -> int:
    """The id of an event that is told now."""
    async with await ear(api) as listening:
        run = await api.start()
        while (heard := await listening.next()).data["workflow_id"] != run:
            pass
        return heard.id


class Told:
    """A namespace of this test's own, and all that is told of it from now on."""

    def __init__(self, api: Api, namespace: str, listening: Ear) -> None:
        self.api = api
        self.namespace = namespace
        self._ear = listening

    async def start(self, **fields: Any) -> str:
        return await self.api.start(namespace=self.namespace, **fields)

    async def expect(self, run: str, kind: str, **payload: Json) -> Heard:
        """The next event is this one, and nothing else is said of it."""
        heard = await self._ear.next()
        data = heard.data
        assert list(data) == FIELDS
        assert heard.kind == data["kind"] == data["event_type"] == kind, data
        assert data["workflow_id"] == run
        assert data["namespace"] == data["payload"]["namespace"] == self.namespace
        assert data["subsystem"] == "workflow"
        assert abs(data["ts"] - time.time()) < 60
        assert data["payload"] == {"namespace": self.namespace, **payload}
        return heard

    async def expect_start(self, run: str, parent: str | None = None, kind: str = "Story") -> None:
        queue = self.api.queue
        await self.expect(
            run, "workflow_started", workflow_type=kind, task_queue=queue, parent_id=parent
        )

    async def running(self, **fields: Any) -> tuple[str, Json]:
        """A run that a worker has claimed, with its task."""
        run = await self.start(**fields)
        task = await self.api.claim(run)
        await self.expect_start(run)
        await self.expect(run, "workflow_running")
        return run, task

    async def submit(self, run: str, task: Json, *batch: Json) -> None:
        await self.api.submit(run, *batch, lease=task["lease"])


def told(story: Callable[[Told], Awaitable[None]]) -> Callable[..., None]:
    """Make `async def story(told)` a test on both stores."""

    async def listened(api: Api) -> None:
        namespace = api.fresh("ns")
        await api.send("POST", "/namespaces", {"name": namespace}, 201)
        async with await ear(api, f"namespace={namespace}") as listening:
            await story(Told(api, namespace, listening))

    return over_http(listened)


# -- kinds ---------------------------------------------------------------------------------------


@told
async def test_the_work_of_a_run_is_told_step_by_step(told: Told) -> None:
    run, task = await told.running()
    work = commands.activity(1, "charge", task_queue=told.api.queue)
    once = commands.activity(2, "mail", task_queue=told.api.queue, max_attempts=1)
    await told.submit(run, task, work, once)
    charge = await told.api.take("charge")
    details = {"activity_id": charge["id"], "activity_seq": 1, "name": "charge"}
    await told.expect(run, "activity_inserted", **details, task_queue=told.api.queue)
    mail = await told.api.take("mail")
    others = {"activity_id": mail["id"], "activity_seq": 2, "name": "mail"}
    await told.expect(run, "activity_inserted", **others, task_queue=told.api.queue)
    await told.api.complete(charge["id"], {"big": "result"})
    await told.expect(run, "task_completed", **details)
    await told.api.fail(mail["id"])
    await told.expect(run, "task_failed", **others)
    await told.api.signal(run, "go", {"secret": 1})
    await told.expect(run, "signal_received", signal="go")
    await told.api.advance(run, commands.complete({"big": "result"}))
    await told.expect(run, "workflow_completed")
    await told.api.delete(run)
    await told.expect(run, "workflow_deleted")


@told
async def test_every_end_has_its_kind(told: Told) -> None:
    api = told.api
    run, task = await told.running()
    await told.submit(run, task, commands.fail("broke"))
    await told.expect(run, "workflow_failed", error="broke")
    run, task = await told.running()
    await told.submit(run, task, commands.cancelled())
    await told.expect(run, "workflow_cancelled")
    run = await told.start()
    await told.expect_start(run)
    await api.terminate(run, "enough")
    await told.expect(run, "workflow_terminated", error="enough")
    run = await told.start(timeout_secs=0.1)
    await told.expect_start(run)
    await told.expect(run, "workflow_timed_out")
    run = await told.start()
    await told.expect_start(run)
    successor = (await api.continue_as_new(run))["workflow_id"]
    await told.expect_start(successor)
    await told.expect(run, "workflow_completed", new_workflow_id=successor)


@told
async def test_children_retries_and_what_comes_late(told: Told) -> None:
    api = told.api
    run, task = await told.running()
    child = api.fresh("child")
    slow = commands.activity(1, "slow", task_queue=api.queue)
    fails = commands.activity(2, "fails", task_queue=api.queue, max_attempts=1)
    await told.submit(run, task, commands.child(child, task_queue=api.queue), slow, fails)
    await told.expect_start(child, parent=run, kind="Child")
    slow_id, failed_id = (await api.take("slow"))["id"], (await api.take("fails"))["id"]
    for seq, name, no in ((1, "slow", slow_id), (2, "fails", failed_id)):
        about = {"activity_id": no, "activity_seq": seq, "name": name, "task_queue": api.queue}
        await told.expect(run, "activity_inserted", **about)
    await api.fail(failed_id)
    await told.expect(run, "task_failed", activity_id=failed_id, activity_seq=2, name="fails")
    await api.terminate(child)
    await told.expect(child, "workflow_terminated", error="terminated")
    await api.advance(run, commands.fail("broke"))
    await told.expect(run, "workflow_failed", error="broke")
    await api.complete(slow_id)
    await told.expect(run, "task_completed", activity_id=slow_id, activity_seq=1, name="slow")
    await api.retry(run)
    asked = {"requested_by": "ann", "reason": "mended", "activity_seq": 2}
    await told.expect(run, "workflow_retry_requested", **asked)
    await api.claim(run)
    await told.expect(run, "workflow_running")


@told
async def test_a_blocked_run_says_why(told: Told) -> None:
    run, task = await told.running()
    await told.api.submit(run, {"type": "ScheduleActivity"}, lease=task["lease"], status=422)
    error = (await told.api.describe(run))["blocked"]
    await told.expect(run, "workflow_blocked", error=error)


@told
async def test_a_schedule_tells_of_the_runs_it_starts(told: Told) -> None:
    schedule = {
        "name": "tick",
        "namespace": told.namespace,
        "workflow_type": "Story",
        "cron_expr": "* * * * * *",
        "task_queue": told.api.queue,
    }
    await told.api.send("POST", "/schedules", schedule, 201)
    task = await told.api.claim()
    await told.expect_start(task["workflow_id"])
    await told.api.send("DELETE", f"/schedules/tick?namespace={told.namespace}")
    heard = await told.expect(task["workflow_id"], "schedule_triggered", schedule="tick")
    assert task["workflow_id"].startswith("tick-")
    assert heard.data["ts"] >= int(task["workflow_id"].split("-")[1])


# -- how it is sent ------------------------------------------------------------------------------


@over_http
async def test_an_event_is_sent_in_three_lines(api: Api) -> None:
    connection = await api.http.open()
    run = api.fresh()
    path = f"/api/v1/events/stream?workflow_id={run}"
    await connection.send(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    reader = connection._reader
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    assert head[0] == "http/1.1 200 ok"
    assert "content-type: text/event-stream" in head
    assert "cache-control: no-cache" in head
    assert not [line for line in head if line.startswith("content-length")]
    await api.start(run)
    text = (await reader.readuntil(b"}}\n\n")).decode()
    lines = text[text.index("id: ") :].split("\n")
    number = lines[0].removeprefix("id: ")
    assert number.isdigit()
    assert lines[1] == "event: workflow_started"
    assert lines[2].startswith(f'data: {{"id":{number},"ts":')
    assert lines[3:] == ["", ""]
    record = await api.describe(run)
    assert f'"ts":{record["created_at"]},' in lines[2]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_both_prefixes_have_the_stream(server: Server, prefix: str) -> None:
    async def story(api: Api) -> None:
        path = f"{prefix}/events/stream"
        opened = open_ear(api.http.host, api.http.port, path=path)
        async with await opened as listening:
            run = await api.start()
            while (await listening.next()).data["workflow_id"] != run:
                pass

    asyncio.run(_on(server, story))


async def _on(server: Server, story: Callable[[Api], Awaitable[None]]) -> None:
    from tests.support.api import tell

    await tell(server, story, 20, {})


# -- filters -------------------------------------------------------------------------------------


@over_http
async def test_filters_are_joined_by_and_kinds_by_or(api: Api) -> None:
    mine, other = api.fresh("ns"), api.fresh("ns")
    for namespace in (mine, other):
        await api.send("POST", "/namespaces", {"name": namespace}, 201)
    first, second, third = (api.fresh() for _ in range(3))
    ends = "kind=workflow_terminated&kind=workflow_cancelled"
    expected = {
        f"namespace={mine}": [first, first, second, second],
        f"ns={mine}": [first, first, second, second],
        f"namespace={mine}&ns={other}": [first, first, second, second],
        f"namespace={mine}&{ends}": [first, second],
        f"namespace={mine}&kind=workflow_started": [first, second],
        f"namespace={mine}&kind=workflow_cancelled&workflow_id={second}": [second],
        f"namespace={mine}&kind=workflow_cancelled&workflow_id={first}": [],
        f"namespace={other}&workflow_id={first}": [],
        f"workflow_id={third}": [third, third],
        f"workflow_id={third}&kind=no_such_kind": [],
        f"workflow_id={third}&kind=no_such_kind&kind=workflow_started": [third],
        f"workflow_id={third}&namespace=&kind=": [third, third],
        f"workflow_id={third}&colour=red": [third, third],
        f"namespace={mine.upper()}": [],
    }
    cursor = await newest(api)
    live = {query: await ear(api, query) for query in expected}
    await api.start(first, namespace=mine)
    await api.start(second, namespace=mine)
    await api.start(third, namespace=other)
    await api.terminate(first)
    await api.cancel(second)
    await api.terminate(third)
    last = await newest(api)
    replayed = {query: await ear(api, query, cursor) for query in expected}
    for ears in (live, replayed):
        for query, runs in expected.items():
            found = await ears[query].take(len(runs))
            assert sorted(heard.data["workflow_id"] for heard in found) == sorted(runs), query
            assert all(cursor < heard.id < last for heard in found)
    await asyncio.sleep(QUIET_SECS)
    for ears in (live, replayed):
        for listening in ears.values():
            listening.hang_up()
            with pytest.raises(EOFError):
                await listening.next()


# -- cursors -------------------------------------------------------------------------------------


@over_http
async def test_without_a_cursor_nothing_of_before_is_told(api: Api) -> None:
    for _ in range(5):
        before = await api.start()
        async with await ear(api) as listening:
            run = await api.start()
            heard = await listening.next()
            assert heard.data["workflow_id"] != before
            assert heard.data["workflow_id"] == run


@over_http
async def test_a_cursor_brings_all_that_was_missed_and_then_what_comes(api: Api) -> None:
    cursor = await newest(api)
    runs = [await api.start() for _ in range(30)]
    async with await ear(api, f"kind=workflow_started&kind={api.fresh()}", cursor) as listening:
        runs += [await api.start() for _ in range(5)]
        heard = await listening.take(35)
        assert [each.data["workflow_id"] for each in heard] == runs
        ids = [each.id for each in heard]
    middle = ids[10]
    async with await ear(api, cursor=f"{middle}") as listening:
        assert (await listening.next()).id == middle + 1
    async with await ear(api, "kind=workflow_started", cursor=f"{middle}.0") as listening:
        assert [each.id for each in await listening.take(24)] == ids[11:]


@pytest.mark.parametrize("cursor", ["abc", "1.5", "1 2", "0x10", "", "--1", "1e3"])
def test_a_cursor_that_is_no_integer_is_refused(server: Server, cursor: str) -> None:
    async def story(api: Api) -> None:
        connection = await api.http.open()
        line = f"last-event-id: {cursor}\r\n".encode()
        await connection.send(b"GET /api/v1/events/stream HTTP/1.1\r\nhost: x\r\n" + line + b"\r\n")
        answer = await connection.answer()
        assert answer.status == 400
        assert "Last-Event-ID" in answer.error

    asyncio.run(_on(server, story))


@over_http
async def test_a_cursor_beyond_what_there_ever_was_is_gone(api: Api) -> None:
    await api.start()
    last = await newest(api)
    for cursor in (last + 100_000, 2**53, 2**63, 2**64 + 1, 10**80):
        answer = await refused(api, cursor)
        assert answer.status == 410
        assert str(cursor) in answer.error
    for endless in ("9" * 1_001, f"+{'9' * 60_000}", f"{'1' * 5_000}.0"):
        assert (await refused(api, endless)).status == 410
    for known in (f"{last}", f"{'0' * 5_000}{last}"):
        async with await ear(api, cursor=known) as listening:
            run = await api.start()
            while (await listening.next()).data["workflow_id"] != run:
                pass
    for early in ("-5", "-0", f"-{'9' * 2_000}"):
        async with await ear(api, cursor=early) as listening:
            assert (await listening.next()).id == 1


@over_http
async def test_other_methods_are_told_what_is_allowed(api: Api) -> None:
    answer = await api.ask("POST", "/events/stream", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
    answer = await api.ask("GET", at("events", "stream"))
    assert answer.status == 404
