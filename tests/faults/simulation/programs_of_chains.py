"""Workflows that go on as new runs, and those that wait for such."""

from tests.faults.simulation.contexts import QUEUES, Program, Story
from tests.faults.simulation.programs_of_records import SLOWLY
from tests.support.http import Json


async def relay(ctx: Story, input: Json) -> Json:
    """Takes some signals in each run and hands on what is left, and what it has taken."""
    taken = input.get("taken", [])
    for _ in range(input["n"]):
        taken = [*taken, await ctx.wait_for_signal("go")]
    if laps := input.get("laps", input["depth"]):
        await ctx.continue_as_new({**input, "taken": taken, "laps": laps - 1})
    return {"race": taken}


async def pilgrim(ctx: Story, input: Json) -> Json:
    """Some work in each of its runs; the last one tells what it comes to."""
    total, laps = input.get("total", 0), input.get("laps", 2)
    work = {"value": total, "fails": input.get("fails", 0)}
    total = (await ctx.execute_activity("add", work, **SLOWLY))["value"]
    if laps:
        await ctx.continue_as_new({**input, "total": total, "laps": laps - 1})
    return total


async def siesta(ctx: Story, input: Json) -> Json:
    """A sleep in two runs."""
    await ctx.sleep(0.7)
    if not (input or {}).get("again"):
        await ctx.continue_as_new({"again": True})
    return "rested"


async def shepherd(ctx: Story, input: Json) -> Json:
    """Children that go on as new; the outcome of the last of each counts."""
    child = f"{ctx.workflow_id}.p"
    total = await ctx.start_child_workflow("pilgrim", workflow_id=child, input=input)
    kinds = ("pilgrim", "relay", "siesta")[: input["n"]]
    count = await ctx.start_children(kinds, {**input, "depth": 1, "n": 1})
    again = await ctx.start_child_workflow(
        "siesta", workflow_id=f"{ctx.workflow_id}.l", task_queue=QUEUES[1]
    )
    return [total, count, again]


PROGRAMS_OF_CHAINS: dict[str, Program] = {
    handler.__name__: handler for handler in (relay, pilgrim, siesta, shepherd)
}
