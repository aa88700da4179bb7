"""The worker of the SDK benchmarks: `python -m benchmarks.sdk_worker URL`, until SIGTERM."""

import asyncio
import sys

import uvloop

import assay
from benchmarks.sdk_work import ACTIVITIES, WORKFLOWS

RUNS_AT_ONCE = 500
ATTEMPTS_AT_ONCE = 500


async def serve(url: str) -> None:
    async with await assay.connect(url) as client:
        for workflow in WORKFLOWS:
            client.define(workflow)
        for activity in ACTIVITIES:
            client.activity(activity)
        worker = client.worker(
            max_concurrent_workflows=RUNS_AT_ONCE, max_concurrent_activities=ATTEMPTS_AT_ONCE
        )
        running = asyncio.create_task(worker.run())
        await worker.wait_until_ready()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await running


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
