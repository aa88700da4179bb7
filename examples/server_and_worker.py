"""An engine that is served, a worker, and a program that starts runs: three processes.

    assay serve
    python examples/server_and_worker.py work
    python examples/server_and_worker.py welcome Ann

They may be on three machines, and there may be any number of workers and starters. Kill any of
them while a run is under way: another one, or the same one later, goes on where it was.
"""

import asyncio
import contextlib
import os
import sys

import assay

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8080")


@assay.activity
async def send(ctx: assay.ActivityContext, text: str) -> str:
    print(f"sending {text!r}, attempt {ctx.attempt}", flush=True)
    return f"sent {text!r}"


@assay.workflow
async def welcome(ctx: assay.WorkflowContext, name: str) -> list[str]:
    first = await ctx.execute_activity(send, f"Welcome, {name}!", max_attempts=10)
    await ctx.sleep(1)
    return [first, await ctx.execute_activity(send, f"How is it going, {name}?")]


async def work() -> None:
    """Serve the queue `default` until Ctrl-C or SIGTERM."""
    async with await assay.connect(URL) as client:
        client.define(welcome)
        client.activity(send)
        await client.listen()


async def start(name: str) -> None:
    """Welcome somebody once, however often this is run."""
    async with await assay.connect(URL) as client:
        run = await client.workflows.start(welcome, f"welcome-{name}", name, if_exists="use")
        print(await run.result())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(work())
        case ["welcome", name]:
            asyncio.run(start(name))
        case _:
            sys.exit(__doc__)
