"""Workflows that have values recorded: side effects, steps, patches, attributes, snapshots."""

from functools import partial

from tests.faults.simulation.contexts import Program, Story, work
from tests.faults.simulation.recording import StepFailed
from tests.support.http import Json
from tests.support.plain_replay import CallFailed, Cancelled

SLOWLY = {
    "max_attempts": 60,
    "initial_interval_secs": 0.2,
    "backoff_coefficient": 1.1,
    "start_to_close_secs": 8.0,
}


def add(input: Json, attempt: int) -> Json:
    """A step that works, after a few attempts."""
    return work("add", input, attempt, set())


def give_up(_: int) -> Json:
    """A step that fails for good."""
    raise StepFailed("for good")


async def diary(ctx: Story, input: Json) -> Json:
    """Values of chance, steps that take some attempts, and a patch on the way."""
    done: list[Json] = []
    ctx.register_query("done", lambda: len(done))
    done.append(await ctx.side_effect("coin"))
    done.append(await ctx.step("add", partial(add, {"value": 1, "fails": input["fails"]})))
    if ctx.patched("coins"):
        done.append(await ctx.side_effect("another coin"))
    for at in range(input["n"]):
        done.append(  # noqa: PERF401 - one after the other, each in its turn
            await ctx.step(f"add {at}", partial(add, {"value": at, "fails": at % 2}))
        )
    try:
        await ctx.step("hopeless", give_up)
    except CallFailed as error:
        done.append(str(error))
    ctx.patched("end")
    return {"race": done}


async def stepper(ctx: Story, input: Json) -> Json:
    """Steps alone, told by what they come to; cleanup is a step too."""
    total = 0
    try:
        for at in range(input["n"] + 1):
            step = partial(add, {"value": at, "fails": input["fails"]})
            total += await ctx.step(f"add {at}", step, retry_secs=0.5 * (at + 1))
    except Cancelled:
        await ctx.step("tidy", partial(add, {"value": 0, "fails": 1}), retry_secs=0.2)
        raise
    return total


async def tagger(ctx: Story, input: Json) -> Json:
    """Attributes: some under numbers, some as clients set them that stop at the call."""
    for at in range(input["n"]):
        ctx.upsert({"at": at, f"kept {at}": [at, None, {"b": 1.0, "a": 1e2}]})
        await ctx.upsert_and_stop({f"plain {at}": at})
    ctx.register_query("at", lambda: {"steps": input["n"]})
    await ctx.execute_activity("add", {"value": 1, "fails": input["fails"]}, **SLOWLY)
    ctx.upsert({"at": "end"})
    await ctx.upsert_and_stop({"text": "long " * 30})
    return input["n"]


def attributes_of_tagger(input: Json) -> dict[str, Json]:
    """What a tagger has set by its end."""
    turns = range(input["n"])
    kept = {f"kept {at}": [at, None, {"b": 1.0, "a": 1e2}] for at in turns}
    plain = {f"plain {at}": at for at in turns}
    return {**kept, **plain, "at": "end", "text": "long " * 30}


async def impatient(ctx: Story, input: Json) -> Json:
    """Timed waits whose timers are cancelled once the signal is there."""
    got = 0
    for _ in range(input["n"]):
        got += await ctx.signal_or_timer("go", 1.5) is not None
    await ctx.sleep(0.2)
    return {"race": got}


PROGRAMS_OF_RECORDS: dict[str, Program] = {
    handler.__name__: handler for handler in (diary, stepper, tagger, impatient)
}
