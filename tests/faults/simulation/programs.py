"""The workflows of the simulated world, their activities, and what they come to undisturbed."""

from collections.abc import Mapping

from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    WaitForSignal,
)
from assay.model.retry import RetryPolicy
from tests.support.http import Json
from tests.support.plain_replay import (
    CallFailed,
    Cancelled,
    Commands,
    Context,
    Handler,
    replay,
    schedule,
    stop,
)
from tests.support.runs import Event

import json

QUEUES = ("default", "other")
PATIENT = {"max_attempts": 60, "initial_interval_secs": 0.2, "backoff_coefficient": 1.1,
           "start_to_close_secs": 8.0}
BRIEF = {"max_attempts": 2, "initial_interval_secs": 0.1, "start_to_close_secs": 8.0}
SLOW = {**PATIENT, "start_to_close_secs": 30.0, "heartbeat_timeout_secs": 2.5}


async def steps(ctx: Context, input: Json) -> Json:
    """One activity after the other, some failing a few times."""
    total = 0
    for at in range(input["n"]):
        work = {"value": at, "fails": input["fails"]}
        total += (await ctx.execute_activity("add", work, **PATIENT))["value"]
    return total


async def fan(ctx: Context, input: Json) -> Json:
    """Several activities at once, then a sleep."""
    calls: list[dict[str, Json]] = [
        {"name": "add", "input": {"value": at, "fails": at % 2},
         "opts": {**PATIENT, "task_queue": QUEUES[at % 2]}}
        for at in range(input["n"])
    ]
    values = [result["value"] for result in await ctx.execute_parallel(calls)]
    await ctx.sleep(1.5)
    return values


async def slow(ctx: Context, input: Json) -> Json:
    """An activity that takes long and says that it is alive."""
    return (await ctx.execute_activity("slow", {"value": 1}, **SLOW))["value"]


async def gate(ctx: Context, input: Json) -> Json:
    """Two signals, without a time limit."""
    await ctx.wait_for_signal("go")
    await ctx.wait_for_signal("go")
    return "through"


async def choice(ctx: Context, input: Json) -> Json:
    """Signals against timers: whichever comes first in history."""
    first = await ctx.wait_for_signal("go", timeout=2)
    second = await ctx.wait_for_signal("go", timeout=1)
    await ctx.sleep(0.5)
    return {"race": [first is not None, second is not None]}


async def family(ctx: Context, input: Json) -> Json:
    """Children of children; the youngest works."""
    depth = input["depth"]
    if depth == 0:
        return (await ctx.execute_activity("add", {"value": 0, "fails": 1}, **PATIENT))["value"]
    child = f"{ctx.workflow_id}.c"
    older = await ctx.start_child_workflow(
        "family", workflow_id=child, input={"depth": depth - 1}, task_queue=QUEUES[depth % 2]
    )
    return older + 1


async def tribe(ctx: Context, input: Json) -> Json:
    """Several children at once, each with children of its own; the youngest take a nap."""
    kinds = ("tribe", "tribe") if input["depth"] > 1 else ("nap", "steps", "gate")
    below = {**input, "depth": input["depth"] - 1}
    ids = [f"{ctx.workflow_id}.{at}" for at in range(len(kinds))]
    if isinstance(ctx, Ideal):
        return len(ids)
    known = [ctx._children[id] for id in ids if id in ctx._children]
    ctx._call(max(event.seq for event in known) if len(known) == len(ids) else None)
    if len(known) < len(ids):
        await stop([
            start_child(kind, id, below, QUEUES[at % 2])
            for at, (id, kind) in enumerate(zip(ids, kinds, strict=True))
            if id not in ctx._children
        ])
    return len(known)


async def guardian(ctx: Context, input: Json) -> Json:
    """A child that fails does not hurt its parent."""
    try:
        await ctx.start_child_workflow("hopeless", workflow_id=f"{ctx.workflow_id}.h")
    except CallFailed:
        return "caught"
    return "odd"


async def claimant(ctx: Context, input: Json) -> Json:
    """A child under an id that somebody else may have."""
    try:
        return {"race": await ctx.start_child_workflow("nap", workflow_id=input["id"])}
    except CallFailed:
        return {"race": "taken"}


async def hopeless(ctx: Context, input: Json) -> Json:
    """Its activity fails for good."""
    await ctx.execute_activity("never", {}, **BRIEF)
    return "odd"


async def sick(ctx: Context, input: Json) -> Json:
    """Fails until an operator heals it; what is beside the sick activity is open or not by then."""
    await ctx.execute_activity("add", {"value": 1, "fails": 0}, **PATIENT)
    calls: list[dict[str, Json]] = [
        {"name": "slow", "input": {"value": 1}, "opts": SLOW},
        {"name": "sick", "input": {"id": ctx.workflow_id}, "opts": BRIEF},
        {"name": "add", "input": {"value": 2, "fails": 1}, "opts": PATIENT},
        {"name": "add", "input": {"value": 3, "fails": 9}, "opts": PATIENT},
    ]
    turn = input["n"]
    try:
        return await together(ctx, calls[turn:] + calls[:turn], 3.0)
    except CallFailed:
        if input["eager"]:
            await ctx.sleep(0.3)
        raise


async def together(ctx: Context, calls: list[dict[str, Json]], secs: float) -> Json:
    """Activities, a timer and a child at once; the first failure does not wait for the others."""
    if isinstance(ctx, Ideal):
        return [result["value"] for result in await ctx.execute_parallel(calls)]
    timer, child = ctx._next("timer"), f"{ctx.workflow_id}.s"
    numbered = [(ctx._next("activity"), call) for call in calls]
    known = [ctx._outcomes[seq] for seq, _ in numbered if seq in ctx._outcomes]
    failed = next((event for event in known if event.type == "ActivityFailed"), None)
    fired, born = ctx._fired.get(timer), ctx._children.get(child)
    done = fired is not None and born is not None and len(known) == len(calls)
    seqs = [fired or 0, born.seq if born else 0, *(event.seq for event in known)]
    ctx._call(max(seqs) if done else failed.seq if failed else None)
    if failed is not None:
        raise CallFailed(f"activity '{failed.payload['name']}' failed: {failed.payload['error']}")
    if not done:
        asked: Commands = [schedule(seq, call) for seq, call in numbered if seq not in ctx._outcomes]
        if fired is None:
            asked.append({"type": "ScheduleTimer", "seq": timer, "duration_secs": secs})
        if born is None:
            asked.append(start_child("nap", child, {}, QUEUES[0]))
        await stop(asked)
    return [event.payload["result"]["value"] for event in sorted(known, key=activity_seq)]


def start_child(kind: str, id: str, input: Json, queue: str) -> dict[str, Json]:
    """The command that starts a child."""
    command = {"type": "StartChildWorkflow", "workflow_type": kind, "workflow_id": id}
    return {**command, "input": input, "task_queue": queue}


def activity_seq(event: Event) -> int:
    """Which activity an outcome is about."""
    seq: int = event.payload["activity_seq"]
    return seq


async def hasty(ctx: Context, input: Json) -> Json:
    """Ends while a timer of its wait and another activity are still open."""
    if await ctx.wait_for_signal("go", timeout=30) is None:
        return {"race": "slept"}
    return {"race": "woken"}


async def nap(ctx: Context, input: Json) -> Json:
    """A sleep, and cleanup when it is cancelled."""
    try:
        await ctx.sleep(6)
    except Cancelled:
        await ctx.execute_activity("add", {"value": 1, "fails": 1}, **PATIENT)
        raise
    return "slept"


async def quitter(ctx: Context, input: Json) -> Json:
    """Ends itself as cancelled."""
    await ctx.sleep(0.2)
    await ctx.cancel("had enough")


PROGRAMS: Mapping[str, Handler] = {
    handler.__name__: handler
    for handler in (
        steps, fan, slow, gate, choice, family, tribe, guardian, claimant, hopeless, sick, hasty, nap,
        quitter,
    )
}


class ActivityFailed(Exception):
    """An attempt fails."""


def work(name: str, input: Json, attempt: int, healed: set[str]) -> Json:
    """What an activity comes to in that attempt."""
    if name == "never" or (name == "sick" and input["id"] not in healed):
        raise ActivityFailed(name)
    if attempt <= input.get("fails", 0):
        raise ActivityFailed("not yet")
    return input.get("value", 0) + 1


class Ideal(Context):
    """Answers a handler's calls at once, as if nothing ever went wrong."""

    def __init__(self, workflow_id: str, healed: set[str]) -> None:
        super().__init__([], workflow_id)
        self._healed = healed

    async def execute_parallel(self, calls: "list[dict[str, Json]]") -> list[Json]:  # type: ignore[override] # a list is enough here
        return [{"value": self._work(call)} for call in calls]

    def _work(self, call: dict[str, Json]) -> Json:
        try:
            return work(call["name"], call["input"], 1000, self._healed)
        except ActivityFailed as error:
            raise CallFailed(str(error)) from None

    async def sleep(self, seconds: float) -> None:
        """No time passes."""

    async def wait_for_signal(self, name: str, timeout: float | None = None) -> Json:
        return 0

    async def start_child_workflow(
        self, kind: str, *, workflow_id: str, input: Json = None, task_queue: str = "default"
    ) -> Json:
        ended = replay(PROGRAMS[kind], input, Ideal(workflow_id, self._healed))[-1]
        if ended["type"] != "CompleteWorkflow":
            raise CallFailed("child")
        return ended.get("result")


def ideal(kind: str, input: Json, workflow_id: str, healed: set[str]) -> dict[str, Json]:
    """How a run ends that nobody disturbs."""
    return replay(PROGRAMS[kind], input, Ideal(workflow_id, healed))[-1]


def answer(kind: str, input: Json, workflow_id: str, history: list[Event]) -> tuple[Command, ...]:
    """What a worker submits for this history."""
    commands = replay(PROGRAMS[kind], input, Context(history, workflow_id))
    return tuple(command(item) for item in commands)


def command(item: dict[str, Json]) -> Command:
    """A command of a replay in the engine's words."""
    match item["type"]:
        case "ScheduleActivity":
            options = {name: item[name] for name in RetryPolicy.__struct_fields__ if name in item}
            text = json.dumps(item["input"])
            queue = item.get("task_queue", "default")
            return ScheduleActivity(item["seq"], item["name"], queue, text, RetryPolicy(**options))
        case "ScheduleTimer":
            return ScheduleTimer(item["seq"], item["duration_secs"])
        case "WaitForSignal":
            return WaitForSignal(item["name"], item.get("timer_seq"))
        case "StartChildWorkflow":
            text = json.dumps(item["input"])
            return StartChild(item["workflow_type"], item["workflow_id"], item["task_queue"], text)
        case "CompleteWorkflow":
            return CompleteWorkflow(json.dumps(item["result"]) if "result" in item else None)
        case "FailWorkflow":
            return FailWorkflow(item["error"])
    return CancelWorkflow(item.get("reason"))


