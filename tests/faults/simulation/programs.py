"""The workflows of the simulated world: activities, timers, signals, children, and the others."""

from tests.faults.simulation.contexts import QUEUES, Calls, Programs, Story
from tests.faults.simulation.programs_of_chains import PROGRAMS_OF_CHAINS
from tests.faults.simulation.programs_of_records import PROGRAMS_OF_RECORDS
from tests.support.http import Json
from tests.support.plain_replay import CallFailed, Cancelled

PATIENT = {
    "max_attempts": 60,
    "initial_interval_secs": 0.2,
    "backoff_coefficient": 1.1,
    "start_to_close_secs": 8.0,
    "max_interval_secs": 4.0,
    "jitter": 0.5,
}
BRIEF = {"max_attempts": 2, "initial_interval_secs": 0.1, "start_to_close_secs": 8.0}
SLOW = {**PATIENT, "start_to_close_secs": 30.0, "heartbeat_timeout_secs": 2.5}


async def steps(ctx: Story, input: Json) -> Json:
    """One activity after the other, some failing a few times."""
    total = 0
    for at in range(input["n"]):
        work = {"value": at, "fails": input["fails"]}
        total += (await ctx.execute_activity("add", work, **PATIENT))["value"]
    return total


async def fan(ctx: Story, input: Json) -> Json:
    """Several activities at once, then a sleep."""
    calls: Calls = [
        {
            "name": "add",
            "input": {"value": at, "fails": at % 2},
            "opts": {**PATIENT, "task_queue": QUEUES[at % 2]},
        }
        for at in range(input["n"])
    ]
    values = [result["value"] for result in await ctx.execute_parallel(calls)]
    await ctx.sleep(1.5)
    return values


async def slow(ctx: Story, input: Json) -> Json:
    """An activity that takes long and says that it is alive."""
    return (await ctx.execute_activity("slow", {"value": 1}, **SLOW))["value"]


async def gate(ctx: Story, input: Json) -> Json:
    """Two signals, without a time limit."""
    await ctx.wait_for_signal("go")
    await ctx.wait_for_signal("go")
    return "through"


async def choice(ctx: Story, input: Json) -> Json:
    """Signals against timers: whichever comes first in history."""
    first = await ctx.wait_for_signal("go", timeout=2)
    second = await ctx.wait_for_signal("go", timeout=1)
    await ctx.sleep(0.5)
    return {"race": [first is not None, second is not None]}


async def family(ctx: Story, input: Json) -> Json:
    """Children of children; the youngest works."""
    depth = input["depth"]
    if depth == 0:
        return (await ctx.execute_activity("add", {"value": 0, "fails": 1}, **PATIENT))["value"]
    child = f"{ctx.workflow_id}.c"
    older = await ctx.start_child_workflow(
        "family", workflow_id=child, input={"depth": depth - 1}, task_queue=QUEUES[depth % 2]
    )
    return older + 1


async def tribe(ctx: Story, input: Json) -> Json:
    """Several children at once, some with children of their own."""
    kinds = ("tribe", "tribe") if input["depth"] > 1 else ("nap", "steps", "gate")
    return await ctx.start_children(kinds, {**input, "depth": input["depth"] - 1})


async def guardian(ctx: Story, input: Json) -> Json:
    """A child that fails does not hurt its parent."""
    try:
        await ctx.start_child_workflow("hopeless", workflow_id=f"{ctx.workflow_id}.h")
    except CallFailed:
        return "caught"
    return "odd"


async def claimant(ctx: Story, input: Json) -> Json:
    """A child under an id that somebody else may have."""
    try:
        return {"race": await ctx.start_child_workflow("nap", workflow_id=input["id"])}
    except CallFailed:
        return {"race": "taken"}


async def hopeless(ctx: Story, input: Json) -> Json:
    """Its activity fails for good."""
    await ctx.execute_activity("never", {}, **BRIEF)
    return "odd"


async def sick(ctx: Story, input: Json) -> Json:
    """Fails until an operator heals it; what is beside the sick activity is open or not by then.

    What it has recorded and cancelled after the failure is taken back with it.
    """
    ctx.patched("before")
    await ctx.execute_activity("add", {"value": 1, "fails": 0}, **PATIENT)
    calls: Calls = [
        {"name": "slow", "input": {"value": 1}, "opts": SLOW},
        {"name": "sick", "input": {"id": ctx.workflow_id}, "opts": BRIEF},
        {"name": "add", "input": {"value": 2, "fails": 1}, "opts": PATIENT},
        {"name": "add", "input": {"value": 3, "fails": 9}, "opts": PATIENT},
    ]
    turn = input["n"]
    try:
        results = await ctx.together(calls[turn:] + calls[:turn], 3.0)
    except CallFailed:
        if input["eager"]:
            ctx.cancel_timer(1)
            ctx.upsert({"health": "ill"})
            ctx.patched("after")
            await ctx.sleep(0.3)
            await ctx.side_effect("ground")
            await ctx.step("mourn", lambda _: "sad")
        raise
    ctx.upsert({"health": "well"})
    ctx.patched("after")
    await ctx.side_effect("joy")
    await ctx.step("cheer", lambda _: "glad")
    return [result["value"] for result in results]


async def hasty(ctx: Story, input: Json) -> Json:
    """Ends while a timer of its wait and another activity are still open."""
    if await ctx.wait_for_signal("go", timeout=30) is None:
        return {"race": "slept"}
    return {"race": "woken"}


async def nap(ctx: Story, input: Json) -> Json:
    """A sleep, and cleanup when it is cancelled."""
    try:
        await ctx.sleep(6)
    except Cancelled:
        await ctx.execute_activity("add", {"value": 1, "fails": 1}, **PATIENT)
        raise
    return "slept"


async def wink(ctx: Story, input: Json) -> Json:
    """A short sleep."""
    await ctx.sleep(1.2)
    return "blinked"


async def quitter(ctx: Story, input: Json) -> Json:
    """Ends itself as cancelled."""
    await ctx.sleep(0.2)
    await ctx.cancel("had enough")


PROGRAMS: Programs = {
    handler.__name__: handler
    for handler in (
        steps,
        fan,
        slow,
        gate,
        choice,
        family,
        tribe,
        guardian,
        claimant,
        hopeless,
        sick,
        hasty,
        nap,
        wink,
        quitter,
    )
}
PROGRAMS = {**PROGRAMS, **PROGRAMS_OF_RECORDS, **PROGRAMS_OF_CHAINS}
