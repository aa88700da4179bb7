"""Between workers, clients and engines: messages get lost, repeated and late; callers hang up.

`then` of a call or a poll is called exactly once: with the answer, or with None if none came.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from assay.engine.requests import Answer, Request
from assay.engine.wants import Grant, Want, WantState
from assay.errors import AssayError
from assay.model.activity import Activity
from assay.model.operations import Operation
from assay.model.run import Run
from assay.model.task import Claim
from assay.store.port import Look
from tests.faults.simulation.machine import Machine
from tests.faults.simulation.schedule import MILLI, SECOND
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

PATIENCE = 60 * SECOND
"""An engine that is up answers a poll that is not held within this time, whatever goes wrong."""


class Task(NamedTuple):
    """A claim as its worker gets it: with the history, or the activity's input."""

    claim: Claim
    run: Run | None
    activity: Activity | None
    input: Json
    history: list[Event]


class Poll:
    """One poll on its way."""

    def __init__(self, machine: Machine, want: Want, then: Callable[[Task | None], None]) -> None:
        self.machine = machine
        self.want = want
        self.then = then
        self.hung_up = False


class Network:
    """Carries operations and polls to the machines, and answers back."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.pending = 0

    # -- operations ------------------------------------------------------------------------------

    def call(
        self,
        machine: Machine,
        operations: tuple[Operation, ...],
        then: Callable[[Answer | None], None],
        *,
        repeatable: bool = True,
    ) -> None:
        """Send operations; their outcomes come back, or nothing does."""
        faults, names = self.world.faults, " ".join(type(item).__name__ for item in operations)
        if faults.strike(faults.profile.message_lost):
            self.world.schedule.after(SECOND, f"lost {names}", lambda: then(None))
            return
        label = f"{machine.name} gets {names}"
        self.world.schedule.soon(label, lambda: self._arrive(machine, operations, then))
        if repeatable and faults.strike(faults.profile.repeated):
            again = lambda: self._arrive(machine, operations, lambda _: None)  # noqa: E731 - it says when
            self.world.schedule.soon(label + " again", again, SECOND)

    def _arrive(
        self,
        machine: Machine,
        operations: tuple[Operation, ...],
        then: Callable[[Answer | None], None],
    ) -> None:
        if not machine.up:
            self._reply("nobody there", lambda: then(None))
            return
        ledger, faults = self.world.ledger, self.world.faults
        sights, call = ledger.arrived(operations), object()

        def answered(answer: Answer) -> None:
            machine.callers.pop(call, None)
            ledger.answered(operations, answer, sights, machine.tokens)
            told = " ".join(type(item).__name__ for item in answer)
            lost = faults.strike(faults.profile.answer_lost)
            self._reply(f"{told}{' lost' * lost}", lambda: then(None if lost else answer))

        machine.callers[call] = lambda: self._reply("call broken", lambda: then(None))
        machine.engine.submit(Request(operations, answered))
        machine.kick()

    def _reply(self, label: str, action: Callable[[], None]) -> None:
        self.world.schedule.soon(f"answer: {label}", action)

    # -- polls -----------------------------------------------------------------------------------

    def poll(
        self,
        machine: Machine,
        look: Look,
        worker_id: str,
        hold: int,
        then: Callable[[Task | None], None],
    ) -> None:
        """Ask for a task; held polls wait for one."""
        label = f"{machine.name} polled by {worker_id} for {look.kind} {look.queue} {hold}"
        self.world.schedule.soon(
            label, lambda: self._arrive_poll(machine, look, worker_id, hold, then)
        )

    def _arrive_poll(
        self,
        machine: Machine,
        look: Look,
        worker_id: str,
        hold: int,
        then: Callable[[Task | None], None],
    ) -> None:
        if not machine.up:
            self._reply("nobody there", lambda: then(None))
            return
        want = Want(look, worker_id, held=hold > 0, answer=lambda grant: self._granted(poll, grant))
        poll = Poll(machine, want, then)
        machine.callers[poll] = lambda: self._reply("poll broken", lambda: then(None))
        machine.engine.want(want)
        machine.kick()
        faults = self.world.faults
        if faults.strike(faults.profile.hangs_up):
            moment = faults.dice.randrange(MILLI, max(hold, 20 * MILLI))
            self.world.schedule.after(moment, f"{worker_id} hangs up", lambda: self._hang_up(poll))
        limit = hold or PATIENCE
        self.world.schedule.after(limit, f"time of {worker_id} is up", lambda: self._time_up(poll))

    def _time_up(self, poll: Poll) -> None:
        if poll not in poll.machine.callers:
            return
        if not poll.want.held:
            raise Broken(f"a poll of {poll.want.look} that is not held was never answered")
        if poll.machine.engine.wants.withdraw(poll.want):
            self._granted(poll, None)

    def _hang_up(self, poll: Poll) -> None:
        """The client has gone: as the product's runner does it."""
        if poll not in poll.machine.callers:
            return
        poll.hung_up = True
        if poll.want.state is WantState.GRANTED:
            poll.want.gone = True
        else:
            poll.machine.engine.wants.withdraw(poll.want)
        poll.machine.callers.pop(poll)
        self._reply("hung up", lambda: poll.then(None))

    def _granted(self, poll: Poll, grant: Grant | AssayError | None) -> None:
        machine, world = poll.machine, self.world
        machine.callers.pop(poll, None)
        if poll.hung_up:
            return
        if not isinstance(grant, Grant):
            self._reply("no task", lambda: poll.then(None))
            return
        world.trace.note(f"    {grant.claim}")
        faults = world.faults
        if faults.strike(faults.profile.answer_lost):
            if world.dice.random() < 0.7:
                late = world.dice.choice((MILLI, MILLI, 8 * SECOND))
                world.schedule.soon("answer not written", lambda: undo(machine, grant), late)
            self._reply("task lost", lambda: poll.then(None))
            return
        task = self._task(grant)
        self._reply("task", lambda: poll.then(task))

    def _task(self, grant: Grant) -> Task:
        row = grant.row
        if isinstance(row, Run):
            history = self.world.rows.history(row.no)
            return Task(grant.claim, row, None, history[0].payload, history)
        return Task(grant.claim, None, row, self.world.rows.input(row), [])


def undo(machine: Machine, grant: Grant) -> None:
    """The server finds out that an answer was not written."""
    if machine.up:
        machine.engine.undo(grant.claim)
        machine.kick()
