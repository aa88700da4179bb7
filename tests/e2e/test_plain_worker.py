"""Whole stories through the plain worker: what any client of the contract can rely on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests.support import commands
from tests.support.api import Api
from tests.support.caller import at, until
from tests.support.http import Http, Json
from tests.support.plain_records import RecordingContext
from tests.support.plain_replay import CallFailed, Cancelled, Context
from tests.support.plain_worker import ActivityContext, PlainWorker
from tests.support.runs import Event
from tests.support.server import Server

SECS = 40.0


class Shop:
    """A shop whose payment and delivery can be broken and mended."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.calls: list[str] = []
        self.broken: set[str] = set()

    async def order(self, ctx: Context, given: Json) -> Json:
        opts: Json = {"task_queue": self.queue, "max_attempts": 2, "initial_interval_secs": 0.05}
        opts["start_to_close_secs"] = 2  # the end of an attempt whose report was lost
        reserved = await ctx.execute_activity("reserve", given, **opts)
        await ctx.sleep(0.05)
        prices = await ctx.execute_parallel(
            [{"name": "price", "input": item, "opts": opts} for item in given["items"]]
        )
        approval = await ctx.wait_for_signal("approve", timeout=given.get("patience", 20))
        if approval is None:
            return "nobody approved"
        paid = await ctx.execute_activity("pay", sum(prices), **opts)
        sent = await ctx.start_child_workflow(
            "Delivery", workflow_id=f"{ctx.workflow_id}-delivery", input=paid, task_queue=self.queue
        )
        return {"reserved": reserved, "paid": paid, "sent": sent, "by": approval["by"]}

    async def delivery(self, ctx: Context, given: Json) -> Json:
        opts: Json = {"task_queue": self.queue, "max_attempts": 1, "start_to_close_secs": 2}
        try:
            return await ctx.execute_activity("ship", given, **opts)
        except CallFailed as failure:
            return f"kept in stock: {failure}"

    async def careful(self, ctx: Context, given: Json) -> Json:
        try:
            await ctx.start_child_workflow(
                "Careless", workflow_id=f"{ctx.workflow_id}-child", task_queue=self.queue
            )
        except Cancelled:
            await ctx.execute_activity("undo", task_queue=self.queue)
            raise

    async def careless(self, ctx: Context, given: Json) -> Json:
        await ctx.wait_for_signal("never")

    def activity(self, name: str) -> Callable[[ActivityContext, Json], Awaitable[Json]]:
        async def work(ctx: ActivityContext, given: Json) -> Json:
            self.calls.append(name)
            await ctx.heartbeat({"attempt": ctx.attempt})
            if name in self.broken:
                raise RuntimeError(f"{name} is broken")
            return {"reserve": "ok", "price": given, "pay": given, "ship": "parcel"}.get(name)

        return work

    def staff(self, http: Http) -> PlainWorker:
        worker = PlainWorker(http, self.queue)
        worker.define("Order", self.order)
        worker.define("Delivery", self.delivery)
        worker.define("Careful", self.careful)
        worker.define("Careless", self.careless)
        worker.define("Diary", diary)
        for name in ("reserve", "price", "pay", "ship", "undo"):
            worker.activity(name, self.activity(name))
        return worker


@contextlib.asynccontextmanager
async def opened(server: Server) -> AsyncIterator[tuple[Api, Shop]]:
    """A shop with two workers, each doing one task at a time."""
    async with asyncio.timeout(SECS), Http(server.host, server.port) as http:
        api = Api(http)
        shop = Shop(api.queue)
        workers = [asyncio.create_task(shop.staff(http).serve()) for _ in range(2)]
        try:
            yield api, shop
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


async def ended(api: Api, run: str) -> Json:
    async def record() -> Json:
        return await api.describe(run)

    final = ("COMPLETED", "FAILED", "CANCELLED")
    return await until(record, lambda seen: seen["status"] in final, SECS)


def test_an_order_from_start_to_end(own_server: Server) -> None:
    async def story() -> None:
        async with opened(own_server) as (api, shop):
            run = await api.start(workflow_type="Order", input={"items": [1, 2, 3]})
            await api.signal(run, "approve", {"by": "ann"})
            record = await ended(api, run)
            assert record["result"] == '{"reserved":"ok","paid":6,"sent":"parcel","by":"ann"}'
            assert sorted(shop.calls) == ["pay", "price", "price", "price", "reserve", "ship"]
            kinds = await api.kinds(run)
            assert kinds.count("ActivityCompleted") == kinds.count("ActivityScheduled") == 5
            assert "WorkflowAwaitingSignal" not in kinds  # the signal was there already
            assert await api.status(f"{run}-delivery") == "COMPLETED"

    asyncio.run(story())


def test_an_order_that_nobody_approves(own_server: Server) -> None:
    async def story() -> None:
        async with opened(own_server) as (api, _):
            order = {"items": [1], "patience": 0.1}
            run = await api.start(workflow_type="Order", input=order)
            assert (await ended(api, run))["result"] == '"nobody approved"'

    asyncio.run(story())


def test_a_failure_that_is_retried_then_fails_then_is_healed(own_server: Server) -> None:
    async def story() -> None:
        async with opened(own_server) as (api, shop):
            shop.broken = {"pay", "ship"}
            run = await api.start(workflow_type="Order", input={"items": [5]})
            await api.signal(run, "approve", {"by": "bob"})
            record = await ended(api, run)
            assert record["status"] == "FAILED"
            assert record["error"] == "activity 'pay' failed: pay is broken"
            assert shop.calls.count("pay") == 2
            shop.broken = {"ship"}
            answer = await api.retry(run)
            assert answer["status"] == "WAITING"
            record = await ended(api, run)
            assert record["status"] == "COMPLETED"
            sent = "kept in stock: activity 'ship' failed: ship is broken"
            assert f'"sent":"{sent}"' in record["result"]
            assert shop.calls.count("reserve") == shop.calls.count("price") == 1
            assert shop.calls.count("pay") == 3
            kinds = await api.kinds(run)
            assert kinds.count("WorkflowFailed") == kinds.count("ActivityRetryRequested") == 1

    asyncio.run(story())


def test_a_cancelled_family_cleans_up(own_server: Server) -> None:
    async def story() -> None:
        async with opened(own_server) as (api, shop):
            run = await api.start(workflow_type="Careful")

            async def child_kinds() -> list[str]:
                return await api.kinds(f"{run}-child")

            await until(child_kinds, lambda kinds: "WorkflowAwaitingSignal" in kinds)
            await api.cancel(run, "closed today")
            assert (await ended(api, run))["status"] == "CANCELLED"
            assert (await ended(api, f"{run}-child"))["status"] == "CANCELLED"
            assert shop.calls == ["undo"]
            [*_, last] = await api.history(f"{run}-child")
            assert last.payload == {"reason": "closed today"}

    asyncio.run(story())


# What is recorded on the way


async def diary(ctx: RecordingContext, given: Json) -> Json:
    """Three days, each a run of its own; signals that came too early go along."""
    day, entries = given["day"], given["entries"]
    ctx.register_query("entries", lambda: entries)
    ctx.register_query("broken", lambda: given["no such key"])
    ctx.upsert_search_attributes({"day": day})
    luck = await ctx.side_effect("luck", lambda: [random.random(), None])
    assert luck == await ctx.side_effect("again", lambda: luck)
    counted = await ctx.step(unsteady, retry_in_secs=0.1)
    style = "new" if ctx.patched("style") else "old"
    note = await ctx.wait_for_signal("note", timeout=20 if day < 3 else 0.05)
    entries = [*entries, {"note": note, "luck": luck[0], "tries": counted, "style": style}]
    ctx.upsert_search_attributes({"notes": len(entries)})
    if day < 3:
        await ctx.continue_as_new({"day": day + 1, "entries": entries})
    try:
        await ctx.step(hopeless, max_attempts=2)
    except CallFailed as failure:
        return {"entries": entries, "failure": str(failure)}


def unsteady(attempt: int) -> Json:
    if attempt < 3:
        raise RuntimeError(f"attempt {attempt} slipped")
    return attempt


def hopeless(attempt: int) -> Json:
    raise RuntimeError(f"no use, not even at attempt {attempt}")


def test_a_diary_of_three_runs(own_server: Server) -> None:
    async def story() -> None:
        async with opened(own_server) as (api, _):
            run = await api.start(workflow_type="Diary", input={"day": 1, "entries": []})
            for note in ("first", "second"):
                await api.signal(run, "note", note)
            chain = [run]
            for _ in range(2):
                [*_, last] = await until(history_of(api, chain[-1]), is_over, SECS)
                assert last.type == "WorkflowContinuedAsNew"
                chain.append(last.payload["new_workflow_id"])
            record = await ended(api, chain[-1])
            result = json.loads(record["result"])
            assert [entry["note"] for entry in result["entries"]] == ["first", "second", None]
            assert [entry["tries"] for entry in result["entries"]] == [3, 3, 3]
            assert [entry["style"] for entry in result["entries"]] == ["new"] * 3
            assert result["failure"] == ("step 'hopeless' failed: no use, not even at attempt 2")
            assert len({entry["luck"] for entry in result["entries"]}) == 3
            assert '"day":3' in record["search_attributes"]
            assert '"notes":3' in record["search_attributes"]
            for link in chain:
                kinds = Counter(await api.kinds(link))
                assert kinds["SideEffectRecorded"] == 2
                assert kinds["StepAttemptFailed"] == (3 if link == chain[-1] else 2)
                assert (kinds["PatchRecorded"], kinds["SearchAttributesUpserted"]) == (1, 2)
            state = await api.get(at(chain[-1], "state", "entries"))
            assert state["value"] == result["entries"]

    asyncio.run(story())


def history_of(api: Api, run: str) -> Callable[[], Awaitable[list[Event]]]:
    return lambda: api.history(run)


def is_over(history: list[Event]) -> bool:
    return history[-1].type.startswith(("WorkflowCo", "WorkflowFailed"))


def test_unknown_types_fail_by_name(own_server: Server) -> None:
    async def story() -> None:
        async with opened(own_server) as (api, _):
            run = await api.start(workflow_type="Unheard")
            record = await ended(api, run)
            assert record["error"] == "no workflow handler registered for type: Unheard"
            run = await api.start(task_queue="by-hand")
            task = await api.poll_run(queue="by-hand")
            odd = commands.activity(1, "odd", task_queue=api.queue, max_attempts=1)
            await api.submit(run, odd, lease=task["lease"])
            [event] = await api.events(run, "ActivityScheduled")

            async def activity() -> Json:
                return await api.activity(event.payload["activity_id"])

            failed = await until(activity, lambda seen: seen["status"] == "FAILED")
            assert failed["error"] == "No handler registered for activity: odd"

    asyncio.run(story())


def test_a_hundred_orders_through_a_restart(backend: str, tmp_path: Path) -> None:
    lease = {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": "1"}  # what the workers had in hand is lost
    server = Server(backend, tmp_path / "server.log", environment=lease)

    async def story() -> None:
        async with opened(server) as (api, _):
            runs = []
            for n in range(100):
                order = {"items": [n], "patience": 30}
                runs.append(await api.start(workflow_type="Order", input=order))
                await api.signal(runs[-1], "approve", {"by": n})
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            for n, run in enumerate(runs):
                assert f'"paid":{n},' in (await ended(api, run))["result"]
                assert (await api.kinds(run)).count("WorkflowCompleted") == 1

    with server.running():
        asyncio.run(story())
