"""Stretches of mostly legal life, so that runs get old: from a seed, each step checked."""

from random import Random
from typing import TYPE_CHECKING

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
from assay.model.operations import (
    CompleteActivity,
    FailActivity,
    HeartbeatActivity,
    UndoActivityClaim,
)
from assay.model.retry import RetryPolicy
from tests.properties.flows import CLOSES_AFTER, SILENT_FOR

if TYPE_CHECKING:
    from tests.properties.test_states import States

STEPS = 80
MOST = 10  # runs at once: all of them are looked at after each step
ENDS = (FailWorkflow("x"), FailWorkflow("y"), CompleteWorkflow("1"), CancelWorkflow(None))
REPORTS = (CompleteActivity, FailActivity, FailActivity, HeartbeatActivity, UndoActivityClaim)


def burst(states: "States", dice: Random) -> None:
    """Some steps; what is asked of whom is thrown."""
    for _ in range(STEPS):
        _once(states, dice)
        states.all_is_what_the_model_says()


def _once(states: "States", dice: Random) -> None:  # noqa: C901 - one line per kind of step
    world = states.world
    if not any(flow.is_open for flow in world.flows.values()) and len(world.flows) < MOST:
        states.start(f"r{len(world.flows)}")
    id = dice.choice(list(world.flows))
    held = [name for name, flow in world.flows.items() if flow.claimed]
    worker = dice.choice(("w1", "w2"))
    match dice.choices(range(10), (6, 6, 6, 3, 3, 4, 3, 1, 0.6, 0.3))[0]:
        case 0:
            states.step(worker, _batch(dice), _ending(dice))
        case 1:
            states.work(worker, dice.choice(REPORTS[:3]))
        case 2:
            states.pass_time(dice.choice((1, 1, 2, 3, 8, 31)))
        case 3:
            dice.choice((states.poll, states.poll_work))(worker)
        case 4:
            _report_some(states, dice)
        case 5:
            _heal_some(states, dice)
        case 6:
            if held:
                fenced = dice.random() < 0.5
                states.answer(dice.choice(held), _batch(dice), _ending(dice), fenced=fenced)
        case 7:
            states.signal(id, dice.choice(("go", "stop")))
            states.start(dice.choice("abc"))
        case 8:
            states.cancel(dice.choice(held or [id]), really=True)
        case 9:
            states.terminate(id, really=True)


def _batch(dice: Random) -> list[Command]:
    policy = RetryPolicy(dice.choice((1, 1, 2)), 1.0, 2.0, CLOSES_AFTER, SILENT_FOR)
    ids = ("a", "b", "c", "k1", "k2")

    def command() -> Command:
        kinds: tuple[Command, ...] = (
            ScheduleActivity(dice.randint(1, 3), "pay", "default", None, policy),
            ScheduleActivity(dice.randint(1, 3), "pay", "default", None, policy),
            ScheduleTimer(dice.randint(1, 3), dice.choice((0, 2, 30))),
            WaitForSignal(dice.choice(("go", "stop")), None),
            StartChild("step", dice.choice(ids), "default", None),
        )
        return dice.choice(kinds)

    mismatch = ScheduleActivity(1, "ship", "default", None, policy)
    commands = [command() for _ in range(dice.randint(0, 4))]
    return [*commands, mismatch] if dice.random() < 0.03 else commands


def _ending(dice: Random) -> Command | None:
    return dice.choice(ENDS) if dice.random() < 0.08 else None


def _report_some(states: "States", dice: Random) -> None:
    works = [
        (id, seq)
        for id, flow in states.world.flows.items()
        for seq, work in flow.works.items()
        if work.status == "RUNNING"
    ]
    if works:
        wrong = dice.choice((None, None, None, "worker", "attempt", "token"))
        states.report(*dice.choice(works), dice.choice(REPORTS), wrong=wrong)


def _heal_some(states: "States", dice: Random) -> None:
    """A run with a failed activity is given up; one that was is tried anew."""
    broken = [
        id
        for id, flow in states.world.flows.items()
        if any(work.status == "FAILED" for work in flow.works.values())
    ]
    if broken:
        id = dice.choice(broken)
        if states.world.flows[id].is_open and dice.random() < 0.5:
            states.terminate(id, really=True)
        else:
            states.retry(id)
