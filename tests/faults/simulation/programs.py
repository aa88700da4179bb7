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
from tests.support.plain_replay import CallFailed, Cancelled, Commands, Context, Handler, replay
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
    """Fails until an operator heals it; beside the sick activity others succeed."""
    await ctx.execute_activity("add", {"value": 1, "fails": 0}, **PATIENT)
    calls: list[dict[str, Json]] = [
        {"name": "slow", "input": {"value": 1}, "opts": SLOW},
        {"name": "sick", "input": {"id": ctx.workflow_id}, "opts": BRIEF},
        {"name": "add", "input": {"value": 2, "fails": 1}, "opts": PATIENT},
    ]
    if input["eager"]:
        calls = calls[1:2]
    done = await ctx.execute_parallel(calls)
    await ctx.sleep(0.3)
    return [result["value"] for result in done]


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
        steps, fan, slow, gate, choice, family, guardian, claimant, hopeless, sick, hasty, nap,
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


