"""The smallest durable program: a workflow, an activity, and the engine in this very process.

    python examples/hello.py

Kill it in the middle and run it again: what was begun is finished by the next one.
"""

import asyncio

import assay


@assay.activity
async def greet(ctx: assay.ActivityContext, name: str) -> str:
    return f"Hello, {name}!"


@assay.workflow
async def hello(ctx: assay.WorkflowContext, name: str) -> str:
    return await ctx.execute_activity(greet, name)


async def main() -> None:
    async with assay.open("hello.db", workflows=[hello], activities=[greet]) as app:
        run = await app.workflows.start(hello, input="world")
        print(await run.result())


if __name__ == "__main__":
    asyncio.run(main())
