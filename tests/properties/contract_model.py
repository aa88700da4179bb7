"""The contract's tables of transitions (§4, §6, §8) as plain code: what operations do to runs.

No stores, no batches, no caches, no guards: only what a client may see. Numbers of events are their
places in a run's history, counted from 1.
"""

from copy import deepcopy

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
from assay.model.time import MICROS
from tests.properties.stories import ENDED, LEASE, Alarm, Story, Work

ENDING = {
    CompleteWorkflow: "COMPLETED",
    FailWorkflow: "FAILED",
    CancelWorkflow: "CANCELLED",
}


class Refused(Exception):
    """The contract says no: `not_found`, `conflict` or `non_determinism`."""


class Contract:
    """All runs, and the time."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.runs: dict[str, Story] = {}
        self._count = 0

    # -- beginnings and ends ---------------------------------------------------------------------

    def number(self) -> int:
        self._count += 1
        return self._count

    def start(self, id: str, parent: str | None = None) -> None:
        if id in self.runs:
            raise Refused("conflict")
        self.runs[id] = Story(id, self.number(), parent, self.now)
        self.runs[id].tell("WorkflowStarted")

    def get(self, id: str) -> Story:
        if id not in self.runs:
            raise Refused("not_found")
        return self.runs[id]

    def end(self, run: Story, status: str) -> None:
        run.tell(ENDED[status])
        self.silence(run)
        self.release(run)
        run.status, run.ended_at, run.ready_at = status, self.now, None
        run.failures, run.blocked = 0, None
        parent = None if run.parent is None else self.runs[run.parent]
        if parent is not None and parent.is_open:
            self.hear(parent, run)

    def hear(self, parent: Story, child: Story) -> None:
        """The outcome of a child, once, and only success if the parent is to stop."""
        if child.id in parent.heard_of or (parent.cancelled and child.status != "COMPLETED"):
            return
        parent.heard_of.add(child.id)
        done = child.status == "COMPLETED"
        parent.tell("ChildWorkflowCompleted" if done else "ChildWorkflowFailed")
        self.offer(parent)

    def silence(self, run: Story) -> None:
        for work in run.work.values():
            if work.status == "PENDING":
                work.status, work.ready_at = "CANCELLED", None
        for alarm in run.alarms.values():
            if alarm.state == "open":
                alarm.state, alarm.silenced = "silenced", (len(run.history), self.now)

    def offer(self, run: Story, *, at_once: bool = False) -> None:
        if run.ready_at is None or (at_once and run.ready_at > self.now):
            run.ready_at = self.now

    def release(self, run: Story) -> None:
        run.token = run.until = run.ready_before = None

    # -- clients ---------------------------------------------------------------------------------

    def signal(self, id: str, name: str) -> None:
        run = self.get(id)
        if not run.is_open:
            raise Refused("conflict")
        run.tell("SignalReceived")
        run.waits = {wait for wait in run.waits if wait[0] != name}
        self.offer(run)

    def terminate(self, id: str) -> None:
        if id not in self.runs or not self.runs[id].is_open:
            raise Refused("not_found")
        self.end(self.runs[id], "FAILED")

    def cancel(self, id: str) -> None:
        if id not in self.runs or not self.runs[id].is_open:
            raise Refused("not_found")
        repeated = self.runs[id].cancelled
        self.ask(self.runs[id])
        if not repeated:
            self.ask_below(id)

    def ask(self, run: Story) -> None:
        """One more event and one more turn; the first request also ends what waits."""
        first, pending = run.cancelled is None, run.status == "PENDING"
        run.cancelled_last = run.tell("WorkflowCancelRequested")
        if first:
            run.cancelled = run.cancelled_last
        if pending:
            self.end(run, "CANCELLED")
            return
        if first:
            self.silence(run)
        self.offer(run, at_once=True)

    def ask_below(self, id: str) -> None:
        for child in self.runs.values():
            if child.parent == id and child.is_open:
                self.ask(child)
                self.ask_below(child.id)

    # -- workflow tasks --------------------------------------------------------------------------

    def claimable(self) -> Story | None:
        """The run that has been ready longest."""
        ready = [
            (run.ready_at, run.no, run)
            for run in self.runs.values()
            if run.is_open and run.until is None and run.ready_at is not None
        ]
        ready = [entry for entry in ready if entry[0] <= self.now]
        return min(ready)[2] if ready else None

    def claim(self, run: Story, worker: str, token: int) -> None:
        if run.token is not None and run.worker is not None:
            run.unanswered.setdefault(run.worker, run.seen)
        run.status, run.token, run.worker, run.until = "RUNNING", token, worker, self.now + LEASE
        run.seen, run.ready_before, run.ready_at = len(run.history), run.ready_at, None

    def undo(self, run: Story, token: int) -> None:
        if run.token == token:
            marks = [at for at in (run.ready_before, run.ready_at) if at is not None]
            self.release(run)
            run.ready_at = min(marks, default=self.now)

    def renew(self, run: Story, worker: str) -> None:
        if run.until is not None and run.worker == worker:
            run.until = self.now + LEASE

    def held(self, id: str, worker: str, token: int | None) -> Story:
        run = self.get(id)
        if not run.is_open or run.token is None or run.worker != worker:
            raise Refused("conflict")
        if token is not None and token != run.token:
            raise Refused("conflict")
        return run

    def submit(
        self, id: str, worker: str, token: int | None, commands: tuple[Command, ...]
    ) -> None:
        run = self.held(id, worker, token)
        missed = token is None and worker in run.unanswered
        seen = run.unanswered[worker] if missed else run.seen
        late = run.cancelled is not None and seen < run.cancelled
        before = deepcopy(self.runs)
        try:
            for command in commands:
                if not (
                    late and isinstance(command, ScheduleActivity | ScheduleTimer | StartChild)
                ):
                    self.apply(run, command)
                if not run.is_open:
                    return
        except Refused:
            self.runs = before
            self.block(self.runs[id])
            raise
        self.release(run)
        run.failures, run.blocked = 0, None
        run.unanswered.pop(worker, None)
        if missed:
            self.offer(run)

    def block(self, run: Story) -> None:
        self.release(run)
        run.failures += 1
        run.blocked = "refused"
        run.ready_at = self.now
        if run.seen >= run.cancelled_last:
            run.ready_at += min(2 ** (run.failures - 1), 60) * MICROS

    def apply(self, run: Story, command: Command) -> None:
        match command:
            case ScheduleActivity():
                self.schedule(run, command)
            case ScheduleTimer(seq=seq, duration_secs=secs):
                if seq not in run.alarms:
                    planned, fire_at = run.tell("TimerScheduled", seq), round(secs * MICROS)
                    run.alarms[seq] = Alarm(self.number(), seq, self.now + fire_at, planned)
            case WaitForSignal(name=name, timer_seq=timer):
                if (name, timer) not in run.waits:
                    run.tell("WorkflowAwaitingSignal")
                    run.waits.add((name, timer))
            case StartChild(id=id):
                self.start_child(run, id)
            case _:
                self.end(run, ENDING[type(command)])

    def schedule(self, run: Story, command: ScheduleActivity) -> None:
        seq, name, most = command.seq, command.name, command.policy.max_attempts
        if seq not in run.work:
            planned, no = run.tell("ActivityScheduled", seq), self.number()
            run.work[seq] = Work(run.id, no, seq, name, most, planned, self.now, self.now)
        elif run.work[seq].name != name:
            raise Refused("non_determinism")

    def start_child(self, run: Story, id: str) -> None:
        if run.cancelled:
            return
        taken = self.runs.get(id)
        if taken is None:
            run.tell("ChildWorkflowStarted")
            self.start(id, run.id)
        elif taken.parent != run.id:
            if id not in run.heard_of:
                run.heard_of.add(id)
                run.tell("ChildWorkflowFailed")
            self.offer(run)
        elif not taken.is_open:
            self.hear(run, taken)
            self.offer(run)
