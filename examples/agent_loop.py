"""An agent: it thinks, uses tools, thinks again. Steps run inline; the history stays short.

    python examples/agent_loop.py

Each step's result is durable before the code after it runs: no answer of a model is paid twice.
"""

import asyncio
from dataclasses import dataclass, field

import assay

TURNS_PER_RUN = 2  # then the run goes on as a new one, with a fresh history


@dataclass
class Memory:
    question: str
    notes: list[str] = field(default_factory=list[str])


@dataclass
class Thought:
    answer: str | None = None
    look_up: list[str] = field(default_factory=list[str])


async def think(memory: Memory) -> Thought:
    """A model would be asked here."""
    print(f"thinking about {len(memory.notes)} notes")
    if len(memory.notes) < 6:
        return Thought(look_up=[f"fact {len(memory.notes) + n}" for n in (1, 2)])
    return Thought(answer=f"{memory.question} Because of {memory.notes[-1]}.")


def look_up(what: str) -> str:
    """A tool; plain functions run in a thread."""
    return what.upper()


@assay.workflow
async def agent(ctx: assay.WorkflowContext, memory: Memory) -> str:
    for _ in range(TURNS_PER_RUN):
        thought = await ctx.step(think, memory, max_attempts=5, initial_interval_secs=0.1)
        if thought.answer is not None:
            return thought.answer
        memory.notes += await asyncio.gather(*(ctx.step(look_up, it) for it in thought.look_up))
    return await ctx.continue_as_new(memory)


async def main() -> None:
    async with assay.open("agent.db", workflows=[agent]) as app:
        run = await app.workflows.start(agent, input=Memory("Why?"))
        print(await run.result())


if __name__ == "__main__":
    asyncio.run(main())
