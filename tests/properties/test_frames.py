"""The stream over random stories: each change is told once, and batches make no difference."""

import random
from collections import Counter
from collections.abc import Callable, Iterator

import hypothesis
from hypothesis import strategies as st

from assay.core.claim import claim_activity, claim_run, is_activity_claimable, is_run_claimable
from assay.core.decide import decide
from assay.core.draft import Draft
from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    StartChild,
)
from assay.model.decision import Decision
from assay.model.events import EventType
from assay.model.frame import Frame
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    ContinueRun,
    DeleteRun,
    FailActivity,
    Operation,
    Retry,
    Signal,
    Start,
    SubmitCommands,
    Terminate,
)
from assay.model.retry import RetryPolicy
from assay.model.states import ActivityStatus, RunStatus
from tests.unit.core.desk import LEASE, RULES, Desk, activity

IDS = ("a", "b", "c")
STEPS = 40
Step = Callable[[Draft], object]
ENDS = {
    RunStatus.COMPLETED: "workflow_completed",
    RunStatus.FAILED: "workflow_failed",
    RunStatus.CANCELLED: "workflow_cancelled",
    RunStatus.RUNNING: "workflow_running",
}
OUTCOMES = {ActivityStatus.COMPLETED: "task_completed", ActivityStatus.FAILED: "task_failed"}


def ask(operation: Operation) -> Step:
    return lambda draft: decide(draft, operation, RULES)


def claim(id: str) -> Step:
    def step(draft: Draft) -> None:
        run = draft.run_by_id(id)
        if run is not None and is_run_claimable(run, draft.now):
            claim_run(draft, run, "w", LEASE)

    return step


def work(id: str, seq: int) -> Step:
    def step(draft: Draft) -> None:
        run = draft.run_by_id(id)
        row = None if run is None else draft.activities.at(run.no, seq)
        if row is not None and is_activity_claimable(row, draft.now):
            claim_activity(draft, row, "w")

    return step


def report(id: str, seq: int, error: str | None) -> Step:
    def step(draft: Draft) -> None:
        run = draft.run_by_id(id)
        row = None if run is None else draft.activities.at(run.no, seq)
        if row is not None:
            outcome = CompleteActivity(row.no, "1") if error is None else None
            decide(draft, outcome or FailActivity(row.no, str(error)), RULES)

    return step


def commands(dice: random.Random, id: str) -> tuple[Command, ...]:
    once = RetryPolicy(max_attempts=1)
    any_of: list[tuple[Command, ...]] = [
        (activity(dice.randint(1, 3), policy=once), activity(dice.randint(1, 3))),
        (StartChild("order", dice.choice([f"{id}-kid", *IDS]), "default", None),),
        (CompleteWorkflow("1"),),
        (FailWorkflow("broke"),),
        (CancelWorkflow(None),),
        (ContinueAsNew(None, ()),),
    ]
    return dice.choice([*any_of, any_of[0], any_of[0]])


def steps(dice: random.Random, *, alone: bool) -> Iterator[Step]:
    """What happens; `alone` admits what never shares a batch."""
    for _ in range(STEPS):
        id, seq = dice.choice(IDS), dice.randint(1, 3)
        error = dice.choice([None, "broke"])
        some: list[Step] = [
            ask(Start("order", id)),
            ask(Signal(id, "go")),
            claim(id),
            claim(id),
            ask(SubmitCommands(id, "w", commands(dice, id))),
            ask(SubmitCommands(id, "w", commands(dice, id))),
            work(id, seq),
            work(id, seq),
            report(id, seq, error),
            report(id, seq, error),
            ask(Terminate(id)),
            ask(ContinueRun(id, None, dice.choice([None, *IDS]))),
        ]
        rare: list[Step] = [ask(Cancel(id)), *([ask(DeleteRun(id))] if alone else [])]
        retry = [ask(Retry(id, "ann", "healed"))] * 3 if alone else []
        yield dice.choice([*some, *some, *rare, *retry])


def changes(decision: Decision) -> Counter[tuple[str, str]]:
    """What a batch of one operation has to tell, read from the rows alone."""
    told: Counter[tuple[str, str]] = Counter()
    ids: dict[int, str] = {}
    terminated = {
        event.run_no for event in decision.events if "terminated" in (event.payload or "")
    }
    for change in decision.runs:
        before, run = change.before, change.after or change.before
        assert run is not None
        ids[run.no] = run.id
        if change.after is None:
            told["workflow_deleted", run.id] += 1
        elif before is None:
            told["workflow_started", run.id] += 1
        elif before.status is not run.status:
            kind = ENDS.get(run.status, "workflow_retry_requested")
            told["workflow_terminated" if run.no in terminated else kind, run.id] += 1
    for row in decision.activities:
        if row.after is not None and row.before is None:
            told["activity_inserted", ids[row.after.run_no]] += 1
        elif row.after is not None and row.before is not None and row.before.is_live:
            if row.after.status in OUTCOMES:
                told[OUTCOMES[row.after.status], ids[row.after.run_no]] += 1
    return told


def kinds(frames: tuple[Frame, ...]) -> Counter[tuple[str, str]]:
    return Counter((str(frame.kind), frame.workflow_id) for frame in frames)


@hypothesis.given(st.randoms(use_true_random=False))
def test_each_change_is_told_once_and_nothing_else_is(dice: random.Random) -> None:
    desk = Desk()
    for step in steps(dice, alone=True):
        draft = desk.draft()
        step(draft)
        desk.keep(draft)
        decision, expected = desk.decision, changes(desk.decision)
        started = {run for kind, run in expected if kind == "workflow_started"}
        for event in decision.events:
            # Of signals those to runs that were there: the others are carried over.
            run = desk.runs[event.run_no]
            if event.type is EventType.SIGNAL_RECEIVED and run.id not in started:
                expected["signal_received", run.id] += 1
        assert kinds(decision.frames) == expected


@hypothesis.given(st.integers(0, 2**32), st.integers(1, STEPS))
def test_one_batch_tells_what_many_would(seed: int, size: int) -> None:
    frames: list[list[Frame]] = [[], []]
    for told, batch in zip(frames, (1, size), strict=True):
        desk = Desk()
        story = list(steps(random.Random(seed), alone=False))
        for start in range(0, len(story), batch):
            draft = desk.draft()
            for step in story[start : start + batch]:
                step(draft)
            desk.keep(draft)
            told.extend(desk.decision.frames)
    assert frames[0] == frames[1]
