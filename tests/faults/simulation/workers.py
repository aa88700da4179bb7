"""Workers: they poll, replay, work, send heartbeats, are slow or wrong, and die holding tasks."""

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.engine.requests import Answer
from assay.errors import Refusal
from assay.model.commands import (
    Command,
    RecordSnapshot,
    ScheduleActivity,
    UpsertSearchAttributes,
)
from assay.model.ids import claim_token
from assay.model.operations import (
    Fence,
    Heard,
    HeartbeatActivity,
    Operation,
    RegisterWorker,
    RejectCommands,
    RenewLeases,
    SubmitCommands,
)
from assay.model.task import TaskKind
from assay.model.worker import Worker as RegisteredWorker
from assay.store.port import Look
from tests.faults.simulation.contexts import QUEUES
from tests.faults.simulation.machine import Machine
from tests.faults.simulation.network import Task
from tests.faults.simulation.replays import answer, echo
from tests.faults.simulation.reports import report_on
from tests.faults.simulation.schedule import MILLI, SECOND, Action
from tests.support.runs import Event

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

LANES = (TaskKind.WORKFLOW, TaskKind.WORKFLOW, TaskKind.ACTIVITY, TaskKind.ACTIVITY)
HOLDS = (0, 0, SECOND, 5 * SECOND, 20 * SECOND)
PATIENT_HOLDS = (20 * SECOND,)
NAMESPACES = (None, None, None, "main", "main", "side")
TRIES = 4


class Worker:
    """One worker process with a few lanes, each busy with one task at a time."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.held: dict[str, None] = {}
        self._reports = 0

    def begin(self) -> None:
        """Register, open all lanes, and say from time to time what is in work."""
        now = self.world.schedule.clock
        queue = self.world.dice.choice(QUEUES)
        me = RegisteredWorker(self.name, "main", self.name, queue, None, None, 2, 2, now, now)
        self.world.network.call(
            self._machine(), (RegisterWorker(me),), lambda _: None, repeatable=False
        )
        for at, kind in enumerate(LANES):
            self._after(at * MILLI, "opens a lane", partial(self._poll, kind))
        self._renew()

    def die(self) -> None:
        """Gone, with all it holds; somebody else comes after a while."""
        self.alive = False
        self.world.trace.note(f"    {self.name} dies")
        pause = self.world.dice.randrange(SECOND)
        self.world.schedule.after(pause, "hires", partial(self.world.hire, Worker))

    def _poll(self, kind: TaskKind) -> None:
        dice = self.world.dice
        look = Look(kind, dice.choice(NAMESPACES), dice.choice(QUEUES))
        hold = dice.choice(PATIENT_HOLDS if self.world.seed % 4 == 1 else HOLDS)
        self.world.network.poll(
            self._machine(), look, self.name, hold, lambda task: self._got(kind, task)
        )

    def _got(self, kind: TaskKind, task: Task | None) -> None:
        faults = self.world.faults
        if not self.alive:
            return
        if task is None:
            pause = self.world.dice.randrange(50 * MILLI, SECOND)
            self._after(pause, "is idle", lambda: self._poll(kind))
        elif faults.strike(faults.profile.worker_dies):
            self.die()
        elif task.run is not None:
            self._replay(task, task.run.id)
        else:
            self._work(task)

    def _machine(self) -> Machine:
        return self.world.dice.choice(self.world.machines)

    def _after(self, delay: int, label: str, action: Action) -> None:
        def act() -> None:
            if self.alive:
                action()

        self.world.schedule.after(delay, f"{self.name} {label}", act)

    # -- workflow tasks --------------------------------------------------------------------------

    def _replay(self, task: Task, workflow_id: str) -> None:
        world, faults = self.world, self.world.faults
        self.held[workflow_id] = None
        pause = world.dice.randrange(MILLI, 60 * MILLI)
        if faults.strike(faults.profile.worker_slow):
            pause = world.dice.randrange(SECOND, 9 * SECOND)
        commands = self._commands(task, workflow_id)
        wrong = has_first_activity(task.history) and faults.strike(faults.profile.worker_wrong)
        if wrong:
            done = tuple(each for each in commands if isinstance(each, ScheduleActivity))
            commands = tuple(replace(each, seq=1, name="wrong") for each in done) or commands
        bare = world.dice.random() < 0.1
        lease = None if bare else claim_token(task.claim.token)
        report: Operation = SubmitCommands(workflow_id, self.name, commands, lease)
        if wrong and world.dice.random() < 0.3:
            report = RejectCommands(workflow_id, self.name, "commands[0]: no type", lease)
        # Without a fence a repeat might end another claim of the same worker: it is not repeated.
        tries = TRIES if lease else 0
        self._after(pause, f"has replayed {workflow_id}", lambda: self._submit(report, tries))

    def _commands(self, task: Task, workflow_id: str) -> tuple[Command, ...]:
        world, run = self.world, task.run
        assert run is not None
        commands = answer(
            run.type,
            task.input,
            workflow_id,
            task.history,
            now=world.schedule.clock,
            coin=lambda: f"{self.name} {world.dice.random()}",
        )
        notes = (RecordSnapshot, UpsertSearchAttributes)
        says_more = any(not isinstance(each, notes) for each in commands)
        if says_more and world.faults.strike(world.faults.profile.worker_echoes):
            return echo(task.history, world.dice) + commands
        return commands

    def _submit(self, report: SubmitCommands | RejectCommands | Operation, tries: int) -> None:
        operations: tuple[Operation, ...] = (report,)
        if self.world.dice.random() < 0.1:
            operations = (RenewLeases(self.name, tuple(self.held)), report)
        self.world.network.call(
            self._machine(),
            operations,
            lambda answer: self._submitted(report, tries, answer),
            repeatable=getattr(report, "lease", None) is not None,
        )

    def _submitted(self, report: Operation, tries: int, answer: Answer | None) -> None:
        if not self.alive:
            return
        if tries and is_doubtful(answer):
            pause = self.world.dice.randrange(20 * MILLI, SECOND)
            self._after(pause, "submits again", lambda: self._submit(report, tries - 1))
            return
        self.held.pop(getattr(report, "id", ""), None)
        self._poll(TaskKind.WORKFLOW)

    def _renew(self) -> None:
        if self.held and self.world.dice.random() < 0.7:
            renewal = (RenewLeases(self.name, tuple(self.held)),)
            self.world.network.call(self._machine(), renewal, lambda _: None)
        self._after(SECOND, "renews", self._renew)

    # -- activities ------------------------------------------------------------------------------

    def _work(self, task: Task) -> None:
        activity = task.activity
        assert activity is not None
        pause = self.world.dice.randrange(MILLI, 200 * MILLI)
        if activity.name == "slow":
            self._beat(task, self.world.dice.randrange(2, 6))
            return
        self._after(pause, f"has worked on {activity.no}", lambda: self._worked(task))

    def _beat(self, task: Task, beats: int) -> None:
        if not beats:
            self._worked(task)
            return
        beat = HeartbeatActivity(task.claim.no, str(beats), self._fence(task))
        self.world.network.call(
            self._machine(), (beat,), lambda answer: self._heard(task, beats, answer)
        )

    def _heard(self, task: Task, beats: int, answer: Answer | None) -> None:
        if not self.alive:
            return
        if answer is not None and isinstance(answer[0], Refusal):
            self._poll(TaskKind.ACTIVITY)
            return
        stop = answer is not None and isinstance(answer[0], Heard) and answer[0].cancel_requested
        left = 0 if stop else beats - 1
        pause = self.world.dice.randrange(SECOND // 2, SECOND)
        self._after(pause, f"goes on with {task.claim.no}", lambda: self._beat(task, left))

    def _worked(self, task: Task) -> None:
        activity, fence = task.activity, self._fence(task)
        assert activity is not None
        self._reports += 1
        by = f"{self.name}/{self._reports}"
        report = report_on(activity, task.input, self.world.healed, fence, by)
        self._report(report, fence, TRIES)

    def _report(self, report: Operation, fence: Fence, tries: int) -> None:
        self.world.network.call(
            self._machine(),
            (report,),
            lambda answer: self._reported(report, fence, tries, answer),
            repeatable=fence.token is not None,
        )

    def _reported(self, report: Operation, fence: Fence, tries: int, answer: Answer | None) -> None:
        if not self.alive:
            return
        if tries and fence.token is not None and is_doubtful(answer):
            pause = self.world.dice.randrange(20 * MILLI, SECOND)
            self._after(pause, "reports again", lambda: self._report(report, fence, tries - 1))
            return
        self._poll(TaskKind.ACTIVITY)

    def _fence(self, task: Task) -> Fence:
        if self.world.dice.random() < 0.1:
            return Fence()
        attempt = None if task.activity is None else task.activity.attempt
        return Fence(self.name, attempt, claim_token(task.claim.token))


def has_first_activity(history: list[Event]) -> bool:
    """Whether asking for another one under its number is a mismatch."""
    scheduled = (event for event in history if event.type == "ActivityScheduled")
    return any(event.payload["activity_seq"] == 1 for event in scheduled)


def is_doubtful(answer: Answer | None) -> bool:
    """It may have happened or not: worth another try."""
    return answer is None or any(
        isinstance(outcome, Exception) and not isinstance(outcome, Refusal) for outcome in answer
    )
