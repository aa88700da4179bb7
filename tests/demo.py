"""The main job in one go: an engine on SQLite, a worker, and a workflow seen through to its result.

Run by `./dev demo`. On a terminal the engine stays up until Ctrl-C, so that it can be looked at.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.support.http import Http, Json
from tests.support.plain_replay import Context
from tests.support.plain_worker import ActivityContext, PlainWorker
from tests.support.server import Server

QUEUE = "default"
WAIT_SECS = 30.0


async def order(ctx: Context, order: Json) -> Json:
    """Charge a card, let the customer think it over for a second, then ship."""
    charge = await ctx.execute_activity("charge", order)
    await ctx.sleep(1)
    parcel = await ctx.execute_activity("ship", order)
    return {"order": order["id"], "charged": charge, "parcel": parcel}


async def charge(ctx: ActivityContext, order: Json) -> Json:
    if ctx.attempt == 1:
        raise ConnectionError("the bank did not answer")  # the engine tries again after a second
    return f"{order['amount']} EUR at attempt {ctx.attempt}"


async def ship(_: ActivityContext, order: Json) -> Json:
    return f"parcel-{order['id']}"


async def see_through(server: Server) -> None:
    """Start an order, serve it, and show what the engine kept of it."""
    async with Http(server.host, server.port) as http:
        await _see_through(http)


async def _see_through(http: Http) -> None:
    worker = PlainWorker(http, QUEUE)
    worker.define("order", order)
    worker.activity("charge", charge)
    worker.activity("ship", ship)
    serving = asyncio.create_task(worker.serve())
    try:
        body: Json = {"workflow_type": "order", "workflow_id": "order-1", "task_queue": QUEUE}
        body["input"] = {"id": 1, "amount": 42}
        await http.request("POST", "/api/v1/workflows", body)
        async with asyncio.timeout(WAIT_SECS):
            run = await _ended(http)
        events = (await http.request("GET", "/api/v1/workflows/order-1/events")).json()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    print("What happened to order-1, event by event:")
    for event in events:
        print(f"  {event['seq']:>3}  {event['event_type']:<20} {event['payload'] or ''}")
    print(f"It is {run['status']}; its result: {json.loads(run['result'])}")
    if run["status"] != "COMPLETED":
        sys.exit(1)


async def _ended(http: Http) -> Json:
    while True:
        run = (await http.request("GET", "/api/v1/workflows/order-1")).json()
        if run["status"] in ("COMPLETED", "FAILED", "CANCELLED"):
            return run
        await asyncio.sleep(0.1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="assay-demo-") as folder:
        place = Path(folder)
        server = Server(f"sqlite://{place}/demo.db", place / "server.log")
        with server.running():
            address = f"http://127.0.0.1:{server.port}/api/v1/workflows/order-1"
            print(f"The engine serves {place}/demo.db; a worker polls its queue.")
            asyncio.run(see_through(server))
            print(f"Look at the run yourself: {address}")
            if sys.stdout.isatty():
                print("Ctrl-C ends the engine.")
                try:
                    server.process.wait()
                except KeyboardInterrupt:
                    print()


if __name__ == "__main__":
    main()
