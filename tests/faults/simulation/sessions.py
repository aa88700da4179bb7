"""What a machine knows of the workers that exchange with it, as `engine/exchange.py` has it.

The sessions are the product's own; where those wait for their loop, here is an event of the
schedule. So tasks are on their way for a while, and what happens meanwhile is up to the dice.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.engine.exchange import Asked
from assay.engine.requests import Answer, Request
from assay.engine.session import Parcel, Session
from assay.engine.wants import Grant, Since
from assay.errors import AssayError
from assay.model.activity import Activity
from assay.model.operations import Outcome
from assay.model.run import Run
from assay.model.task import Claim, TaskKind
from assay.store.port import Look
from assay.store.views import HeldRows
from tests.faults.simulation.rows import parsed
from tests.faults.simulation.schedule import MILLI, SECOND, Action
from tests.faults.simulation.trace import Broken
from tests.support.http import Json
from tests.support.runs import Event

if TYPE_CHECKING:
    from tests.faults.simulation.machine import Machine

KEPT = 3 * SECOND
"""So long a session is kept that nobody comes back to: the product keeps it a little longer."""


class Given(NamedTuple):
    """A task as its worker gets it: a run with what is new since the claim it names."""

    claim: Claim
    run: Run | None
    activity: Activity | None
    input: Json
    since: Since | None
    free: bool
    entries: list[Event]


class Reply(NamedTuple):
    """What a worker is told."""

    outcomes: list[Outcome | AssayError]
    tasks: list[Given]


Then = Callable[[Reply | None], None]


class Sitting(Session):
    """A session whose requests wait in the schedule."""

    def __init__(self, id: str, news: Action) -> None:
        super().__init__(id)
        self.waiting: deque[Visit] = deque()
        self._news = news

    def wake(self) -> None:
        """A turn later one request goes home with what there is then."""
        self._news()

    @property
    def has_something(self) -> bool:
        """Something is here for it."""
        return bool(self._grants or self._endings)


class Visit:
    """One request on its way through."""

    def __init__(self, asked: Asked, session: Sitting, then: Then, *, fresh: bool) -> None:
        self.asked = asked
        self.session = session
        self.then = then
        self.fresh = fresh
        self.outcomes: list[Outcome | AssayError] = [AssayError("none")] * len(asked.operations)
        self.left = len(asked.operations)


class Sessions:
    """Those of one machine in one of its lives."""

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        self._world = machine.world
        self._by_id: dict[str, Sitting] = {}

    def ask(self, asked: Asked, then: Then) -> None:
        """A request arrives."""
        machine, session = self._machine, self._by_id.get(asked.session)
        fresh = session is None
        if session is None:
            session = self._by_id[asked.session] = Sitting(asked.session, lambda: None)
            session._news = partial(self._soon, "has news", partial(self._wake, session))
        session.present += 1
        visit = Visit(asked, session, then, fresh=fresh)
        machine.callers[visit] = lambda: self._reply("exchange broken", partial(then, None))
        if asked.held is None:
            self._enter(visit)
        for at, operation in enumerate(asked.operations):
            sights = self._world.ledger.arrived((operation,))
            heard = partial(self._answered, visit, at, sights)
            machine.engine.submit(Request((operation,), heard))
        machine.kick()
        if not asked.operations:
            self._performed(visit)

    # -- on the way ------------------------------------------------------------------------------

    def _answered(self, visit: Visit, at: int, sights: Any, answer: Answer) -> None:
        operation = (visit.asked.operations[at],)
        self._world.ledger.answered(operation, answer, sights, self._machine.tokens)
        visit.outcomes[at] = answer[0]
        visit.left -= 1
        if visit.left == 0:
            self._soon("has performed", partial(self._performed, visit))

    def _performed(self, visit: Visit) -> None:
        if visit.asked.held is None:
            self._stay(visit)
            return
        # What is read is a moment old when it is used.
        rows = at_once(self._world.store.reading.held_by(visit.session.id))
        self._soon("has read claims", partial(self._read, visit, rows))

    def _read(self, visit: Visit, rows: HeldRows) -> None:
        self._enter(visit, rows)
        self._stay(visit)

    def _enter(self, visit: Visit, rows: HeldRows | None = None) -> None:
        session, asked, engine = visit.session, visit.asked, self._machine.engine
        self._machine.memory.watching(session.id)
        engine.index.kept.watch(session.id)
        for taking in asked.takings:
            if visit.fresh or rows is not None:
                session.count_anew(taking.kind, taking.seen)
        if rows is not None:
            self._give_again(session, asked.held or frozenset(), rows)
        for taking in asked.takings:
            want = session.want_on(Look(taking.kind, namespace_of(session.id), taking.queue))
            engine.want_several(want, session.room(taking.kind, taking.room, taking.seen))
        self._machine.kick()

    def _give_again(self, session: Sitting, held: frozenset[int], rows: HeldRows) -> None:
        """As the product does: open claims that are not listed, nor on their way."""
        found: list[tuple[TaskKind, Run | Activity]] = [
            *((TaskKind.WORKFLOW, run) for run in rows.runs),
            *((TaskKind.ACTIVITY, activity) for activity in rows.activities),
        ]
        for kind, row in found:
            token = row.claim_token or 0
            if token not in held and not session.has_token(token):
                self._world.trace.note(f"    again {row.no} under {token}")
                session.give(Grant(Claim(kind, row.no, token, session.id), row))

    def _stay(self, visit: Visit) -> None:
        """Whoever has nothing to say, and finds nothing, is held for a while."""
        hold = round(visit.asked.hold_secs * SECOND)
        if visit.asked.operations or visit.fresh or not hold or visit.session.has_something:
            self._finish(visit)
            return
        visit.session.waiting.append(visit)
        self._after(hold, "has been held", partial(self._time_is_up, visit))
        faults = self._world.faults
        if faults.strike(faults.profile.hangs_up):
            moment = faults.dice.randrange(MILLI, hold)
            self._after(moment, "is hung up on", partial(self._hang_up, visit))

    def _wake(self, session: Sitting) -> None:
        if session.has_something and session.waiting:
            self._finish(session.waiting.popleft())

    def _time_is_up(self, visit: Visit) -> None:
        if visit in visit.session.waiting:
            visit.session.waiting.remove(visit)
            self._finish(visit)

    def hang_up(self, worker_id: str) -> None:
        """A worker has died: its connections end, some time soon."""
        session = self._by_id.get(worker_id)
        for visit in list(session.waiting) if session is not None else ():
            self._soon("sees somebody die", partial(self._hang_up, visit))

    def _hang_up(self, visit: Visit) -> None:
        if visit in visit.session.waiting:
            visit.session.waiting.remove(visit)
            self._leave(visit)
            self._machine.callers.pop(visit)
            self._reply("hung up", partial(visit.then, None))

    # -- the answer ------------------------------------------------------------------------------

    def _finish(self, visit: Visit) -> None:
        parcel = visit.session.take()
        self._leave(visit)
        self._soon("writes", partial(self._write, visit, parcel))

    def _write(self, visit: Visit, parcel: Parcel) -> None:
        for grant in list(parcel.grants):
            if not self._is_there(grant):
                visit.session.lose(parcel, grant)
        tasks = [self._given(grant) for grant in parcel.grants]
        self._machine.callers.pop(visit)
        for task in tasks:
            self._world.trace.note(f"    {task.claim} since {task.since} {len(task.entries)}")
        faults, then = self._world.faults, visit.then
        if faults.strike(faults.profile.answer_lost):
            if self._world.dice.random() < 0.5:
                self._soon("was not heard", partial(visit.session.put_back, parcel))
            self._reply("exchange lost", partial(then, None))
            return
        self._world.answers_under_way[visit.session.id] += 1
        self._reply("exchange", partial(self._arrive, visit, Reply(visit.outcomes, tasks)))

    def _is_there(self, grant: Grant) -> bool:
        """Its run may have ended and been deleted while it was on its way."""
        row = grant.row
        return not isinstance(row, Activity) or row.run_no in self._world.rows.runs

    def _arrive(self, visit: Visit, reply: Reply) -> None:
        self._world.answers_under_way[visit.session.id] -= 1
        visit.then(reply)

    def _given(self, grant: Grant) -> Given:
        """With what its worker has not seen, and nothing that came after the claim."""
        row, rows = grant.row, self._world.rows
        if isinstance(row, Activity):
            return Given(grant.claim, None, row, rows.input(row), None, False, [])
        after = 0 if grant.since is None else grant.since.seq
        stored = [each for each in rows.history(row.no) if after < each.seq <= row.claim_seq]
        if grant.events is not None:
            at_hand = [
                Event(each.seq, str(each.type), parsed(each.payload), each.at)
                for each in grant.events
            ]
            if row.no in rows.runs and at_hand != stored:
                raise Broken(f"of {row.id} after {after} at hand is {at_hand}, stored {stored}")
        return Given(grant.claim, row, None, None, grant.since, not grant.spends, stored)

    # -- who leaves ------------------------------------------------------------------------------

    def _leave(self, visit: Visit) -> None:
        session = visit.session
        session.present -= 1
        if session.present:
            return
        session.left_at = now = self._world.schedule.now
        for want in session.wants.values():
            self._machine.engine.wants.retire(want)
        self._after(KEPT, "looks for who has gone", partial(self._forget, session, now))

    def _forget(self, session: Sitting, left_at: float) -> None:
        if session.present or session.left_at != left_at:
            return
        engine = self._machine.engine
        del self._by_id[session.id]
        engine.index.kept.unwatch(session.id)
        for grant in session.take().grants:
            engine.undo(grant.claim)
        self._machine.kick()

    # -- events ----------------------------------------------------------------------------------

    def _reply(self, label: str, action: Action) -> None:
        self._world.schedule.soon(f"answer: {label}", action)

    def _soon(self, label: str, action: Action) -> None:
        self._after(self._world.dice.randrange(20, 3 * MILLI), label, action)

    def _after(self, delay: int, label: str, action: Action) -> None:
        def act() -> None:
            if self._machine.up and self._machine.sessions is self:
                action()

        self._world.schedule.after(delay, f"{self._machine.name} {label}", act)


def namespace_of(worker_id: str) -> str | None:
    """Where a worker belongs; its name tells."""
    return {"m": "main", "s": "side"}.get(worker_id[-1])


def at_once(work: Coroutine[Any, Any, HeldRows]) -> HeldRows:
    """What a coroutine that waits for nothing comes to."""
    try:
        work.send(None)
    except StopIteration as done:
        found: HeldRows = done.value
        return found
    raise AssertionError("it waits for something")
