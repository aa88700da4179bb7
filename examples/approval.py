"""A person decides: a signal with a time-out, a state that can be looked at, a pause that survives.

python examples/approval.py
"""

import asyncio
from dataclasses import dataclass

import assay

REMIND_SECS = 1.0  # days, in earnest: a run that waits costs nothing
COOLING_OFF_SECS = 0.5
REMINDERS = 3


@dataclass
class Expense:
    who: str
    amount: float


@dataclass
class Decision:
    by: str
    approved: bool


@assay.activity
async def remind(ctx: assay.ActivityContext, expense: Expense) -> None:
    print(f"reminder: {expense.who} waits for {expense.amount:.2f} EUR")


@assay.activity
async def pay(ctx: assay.ActivityContext, expense: Expense) -> str:
    return f"{expense.amount:.2f} EUR are paid to {expense.who}"


@assay.workflow
async def approval(ctx: assay.WorkflowContext, expense: Expense) -> str:
    stage = "nobody has decided"
    ctx.register_query("stage", lambda: stage)

    for _ in range(REMINDERS):
        decision = await ctx.wait_for_signal("decision", REMIND_SECS, kind=Decision)
        if decision is not None:
            break
        await ctx.execute_activity(remind, expense)
    else:
        return "nobody cared"

    if not decision.approved:
        return f"{decision.by} refused"
    stage = f"{decision.by} approved, the money goes out soon"
    await ctx.sleep(COOLING_OFF_SECS)
    return await ctx.execute_activity(pay, expense)


async def main() -> None:
    async with assay.open("approval.db", workflows=[approval], activities=[remind, pay]) as app:
        run = await app.workflows.start(approval, input=Expense("Ann", 120))
        await asyncio.sleep(REMIND_SECS * 1.5)
        stage = await run.state("stage")
        print("stage:", stage and stage["value"])
        await run.signal("decision", Decision(by="Bob", approved=True))
        print("result:", await run.result())


if __name__ == "__main__":
    asyncio.run(main())
