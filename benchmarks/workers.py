"""The worker process: plain pollers, four requests per step and no more replay than a count.

A workflow poller counts the completed activities of the history and asks for the next, or ends the
run with their sum; an activity poller answers with its input. `steps` counts acknowledged
completions, `refused` every answer that was not 200; ends are told once acknowledged.
"""

import asyncio
import os
import sys

import msgspec
import uvloop

from benchmarks import calls
from benchmarks.control import Reporter
from benchmarks.load import Connection, connect, connect_many
from benchmarks.submitter import number_of

OK = 200


class Plan(msgspec.Struct, frozen=True):
    """How many pollers of each kind serve workflows of how many steps; where to tell of ends."""

    port: int
    steps: int
    workflow_pollers: int
    activity_pollers: int
    tell: int | None


async def poll_workflow_tasks(connection: Connection, me: str, plan: Plan, to: Reporter) -> None:
    """Claim workflow tasks and answer each with the one command that history asks for."""
    poll = calls.poll_workflow_task(me)
    while True:
        status, body = await connection.request(poll)
        task = calls.read_workflow_task(body) if status == OK else None
        if task is None:
            to.count("empty" if status == OK else "refused")
            continue
        command = replay(task.history, plan.steps)
        status, _ = await connection.request(calls.submit(task, me, command))
        to.count("batches" if status == OK else "refused")
        if plan.tell is not None and isinstance(command, calls.CompleteWorkflow):
            os.write(plan.tell, b"%d\n" % number_of(task.workflow_id))


def replay(
    history: list[calls.Event], steps: int
) -> calls.ScheduleActivity | calls.CompleteWorkflow:
    """Go through the history and name the next command."""
    done = [event for event in history if event.event_type == "ActivityCompleted"]
    if len(done) < steps:
        return calls.ScheduleActivity(len(done) + 1, len(done) + 1)
    total = sum(calls.read_outcome(event.payload).result for event in done)
    return calls.CompleteWorkflow(calls.Total(len(done), total))


async def poll_activities(connection: Connection, me: str, to: Reporter) -> None:
    """Claim activities and complete each with its own input."""
    poll = calls.poll_activity(me)
    while True:
        status, body = await connection.request(poll)
        task = calls.read_activity_task(body) if status == OK else calls.ActivityTask()
        if not task.id or task.input is None:
            to.count("empty" if status == OK else "refused")
            continue
        status, _ = await connection.request(calls.complete(task, me, int(task.input)))
        to.count("steps" if status == OK else "refused")


async def register(port: int, identity: str) -> str:
    """Register one worker and return its id."""
    connection = await connect(port)
    status, body = await connection.request(calls.register(identity))
    connection.close()
    if status != OK:
        raise RuntimeError(f"registration answered {status}: {body!r}")
    return calls.read_registered(body).worker_id


async def main(plan: Plan) -> None:
    to = Reporter()
    me = await register(plan.port, "bench")
    workflows = await connect_many(plan.port, plan.workflow_pollers)
    activities = await connect_many(plan.port, plan.activity_pollers)
    to.listen()
    async with asyncio.TaskGroup() as group:
        pollers = [group.create_task(poll_workflow_tasks(each, me, plan, to)) for each in workflows]
        pollers += [group.create_task(poll_activities(each, me, to)) for each in activities]
        await to.stopping.wait()
        for poller in pollers:
            poller.cancel()
    to.mark()


if __name__ == "__main__":
    uvloop.run(main(msgspec.json.decode(sys.argv[1], type=Plan)))
