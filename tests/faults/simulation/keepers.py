"""Workers as the SDK has them: they exchange, keep runs alive, hold on, ask for what was lost.

What a worker is told goes into its live copy of a run and nothing else does: so it is compared with
the rows whenever something comes (`live.py`).
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from assay.engine.exchange import Asked, Taking
from assay.errors import AssayError, Refusal
from assay.model.commands import Command, RecordStep, ScheduleActivity
from assay.model.ids import claim_token
from assay.model.operations import (
    Fence,
    Heard,
    HeartbeatActivity,
    Operation,
    Outcome,
    RegisterWorker,
    RenewLeases,
    ReportMismatch,
    SubmitCommands,
    UndoActivityClaim,
    UndoWorkflowClaim,
)
from assay.model.task import TaskKind
from assay.model.worker import Worker as RegisteredWorker
from tests.faults.simulation.contexts import QUEUES
from tests.faults.simulation.live import Live, ends, split
from tests.faults.simulation.planner import SIDE
from tests.faults.simulation.replays import answer
from tests.faults.simulation.reports import report_on
from tests.faults.simulation.schedule import MILLI, SECOND, Action
from tests.faults.simulation.sessions import Given, Reply, Then
from tests.faults.simulation.trace import Broken
from tests.faults.simulation.workers import has_first_activity

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.simulation.world import World

ROOM = {TaskKind.WORKFLOW: 3, TaskKind.ACTIVITY: 2}
HOLDS = (SECOND, 5 * SECOND, 20 * SECOND)
AT_ONCE = 3
SENDERS = 2
LIVES = 6
"""So many runs are kept; the one that was not heard of for longest goes first."""


class Said(NamedTuple):
    """An operation on its way, the claim it is about, and who waits for its outcome."""

    operation: Operation
    token: int
    then: "Callable[[Outcome | AssayError], None]"


class Keeper:
    """One worker process with one session."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = f"{name}{world.dice.choice(('', 'm', 'm', 's'))}"
        self.alive = True
        self._queue = world.dice.choice(QUEUES)
        self._roams = world.dice.random() < 0.3
        self._machine = world.dice.choice(world.machines)
        self._seen = dict.fromkeys(TaskKind, 0)
        self._live: dict[int, Live] = {}
        self._fetching: dict[int, Given] = {}
        self._attempts: dict[int, Given] = {}
        self._out: deque[Said] = deque()
        self._flying: list[Said] = []
        self._senders = 0
        self._misses = 0
        self._answered_misses = 0
        self._reports = 0
        self._stuck_until = 0
        self._tokens: set[int] = set()

    def begin(self) -> None:
        """Register, and take whatever comes."""
        now, space = self.world.schedule.clock, SIDE if self.name.endswith("s") else "main"
        me = RegisteredWorker(self.name, space, self.name, self._queue, None, None, 3, 2, now, now)
        network = self.world.network
        network.call(self._machine, (RegisterWorker(me),), lambda _: None, repeatable=False)
        self._hold()
        self._renew()

    def die(self) -> None:
        """Gone, with all it holds; another of its kind comes after a while."""
        self.alive = False
        self.world.trace.note(f"    {self.name} dies")
        for machine in self.world.machines:
            if machine.up:
                machine.sessions.hang_up(self.name)
        pause = self.world.dice.randrange(SECOND)
        self.world.schedule.after(pause, "hires", partial(self.world.hire, Keeper))

    # -- requests --------------------------------------------------------------------------------

    def _hold(self) -> None:
        """The request that is held until there is something, and again."""
        hold = self.world.dice.choice(HOLDS[-1:] if self.world.faults.over else HOLDS)
        self._exchange([], hold, lambda answered: self._after_hold(answered=answered))

    def _after_hold(self, *, answered: bool) -> None:
        pause = MILLI if answered else self.world.dice.randrange(20 * MILLI, SECOND)
        self._after(pause, "asks", self._hold)

    def _say(self, said: Said) -> None:
        self._out.append(said)
        self._go()

    def _go(self) -> None:
        if self._out and self._senders < SENDERS:
            self._senders += 1
            self._after(self.world.dice.randrange(20, MILLI), "says", self._send)

    def _send(self) -> None:
        said = [self._out.popleft() for _ in range(min(AT_ONCE, len(self._out)))]
        self._exchange(said, 0, lambda answered: self._sent(said, answered=answered))

    def _sent(self, said: list[Said], *, answered: bool) -> None:
        self._senders -= 1
        if not answered:
            self._out.extendleft(reversed(said))
        pause = MILLI if answered else self.world.dice.randrange(20 * MILLI, SECOND)
        self._after(pause, "goes on", self._go)

    def _exchange(self, said: list[Said], hold: int, then: "Callable[..., None]") -> None:
        misses, asked = self._misses, self._asked(said, hold)
        self._flying += said

        def heard(reply: Reply | None) -> None:
            if not self.alive:
                return
            for each in said:
                self._flying.remove(each)
            if reply is None:
                self._misses += 1
            else:
                self._answered_misses = max(self._answered_misses, misses)
            then(answered=reply is not None)
            if reply is not None:
                self._hear(said, reply)

        self._carry(asked, heard)

    def _asked(self, said: list[Said], hold: int) -> Asked:
        """What it says; what it has in hand only when it may have missed something."""
        missed = self._misses != self._answered_misses
        return Asked(
            self.name,
            [each.operation for each in said],
            [Taking(kind, self._queue, self._room(kind), self._seen[kind]) for kind in TaskKind],
            held=self._in_hand() if missed else None,
            hold_secs=hold / SECOND,
        )

    def _carry(self, asked: Asked, heard: Then) -> None:
        """To a machine, if it gets there; perhaps some of it twice."""
        world, faults = self.world, self.world.faults
        if self._roams and world.dice.random() < 0.1:
            self._machine = world.dice.choice(world.machines)
        machine = self._machine

        def arrive() -> None:
            if machine.up:
                machine.sessions.ask(asked, heard)
            else:
                world.schedule.soon("answer: nobody there", lambda: heard(None))

        if asked.operations and faults.strike(faults.profile.repeated):
            operations = tuple(asked.operations)
            again = partial(world.network.call, machine, operations, lambda _: None)
            world.schedule.after(world.dice.randrange(SECOND), f"{self.name} repeats", again)
        if faults.strike(faults.profile.message_lost):
            world.schedule.after(SECOND, f"{self.name} is not heard", lambda: heard(None))
            return
        names = " ".join(type(each).__name__ for each in asked.operations)
        listed = "" if asked.held is None else f" holding {sorted(asked.held)}"
        label = f"{machine.name} exchanges with {self.name}: {names}{listed} {asked.hold_secs}"
        world.schedule.soon(label, arrive)

    def _in_hand(self) -> frozenset[int]:
        """The claims of all tasks it has, and of reports that nobody has answered yet."""
        claimed = [live.token for live in self._live.values() if live.claimed]
        fetched = [task.claim.token for task in self._fetching.values()]
        said = [each.token for each in (*self._out, *self._flying)]
        return frozenset([*claimed, *fetched, *self._attempts, *said])

    def _room(self, kind: TaskKind) -> int:
        return ROOM[kind] - self._used(kind)

    def _used(self, kind: TaskKind) -> int:
        if kind is TaskKind.ACTIVITY:
            return len(self._attempts)
        return sum(live.claimed for live in self._live.values()) + len(self._fetching)

    def _hear(self, said: list[Said], reply: Reply) -> None:
        for each, outcome in zip(said, reply.outcomes, strict=True):
            if isinstance(outcome, AssayError) and not isinstance(outcome, Refusal):
                self._out.append(each)  # the database could not do it
            else:
                each.then(outcome)
        for task in reply.tasks:
            if not self.alive:
                return
            self._take(task)

    # -- tasks -----------------------------------------------------------------------------------

    def _take(self, task: Given) -> None:
        faults, kind = self.world.faults, task.claim.kind
        self._seen[kind] += not task.free
        if faults.strike(faults.profile.worker_dies):
            self.die()
            return
        if task.claim.token in self._in_hand() and not task.free:
            if not self._misses:
                raise Broken(f"{self.name} has this already: {task}")
            return
        self._tokens.add(task.claim.token)
        if task.run is None:
            self._attempt(task)
        elif not self._is_for_nobody(task):
            self._learn(task)
        if self._used(kind) > ROOM[kind] and not (self._misses or self._roams):
            raise Broken(f"{self.name} has room for {ROOM[kind]} of {kind}, and was given {task}")

    def _is_for_nobody(self, task: Given) -> bool:
        """News under a claim that it does not have any more, of a copy that it has not."""
        live = self._live.get(task.claim.no)
        return task.free and (live is None or live.token != task.claim.token)

    def _learn(self, task: Given) -> None:
        no, rows, live = task.claim.no, self.world.rows, self._live.get(task.claim.no)
        if task.since is not None and task.since.token not in self._tokens:
            raise Broken(f"{self.name} has never seen what this builds on: {task}")
        if not task.free and self.world.dice.random() < 0.03:
            self._live.pop(no, None)
            token = task.claim.token
            self._say(Said(UndoWorkflowClaim(no, token), token, lambda _: None))
            return
        if task.since is None:
            live = Live(task)
        elif live is None or not live.goes_on(task, may_have_missed=self._may_have_missed):
            self._fetch(task)
            return
        self._live.pop(no, None)
        self._live[no] = live
        live.learn(task, rows)
        live.claimed = live.claimed or not task.free
        self._think(live)

    @property
    def _may_have_missed(self) -> bool:
        """An answer was lost, or has been overtaken by this one."""
        return self._misses > 0 or self.world.answers_under_way[self.name] > 0

    def _fetch(self, task: Given) -> None:
        """It has no copy that this would fit: it reads all of it."""
        no = task.claim.no
        self._live.pop(no, None)
        self._fetching[no] = task

        def fetched() -> None:
            if self._fetching.get(no) is task:
                del self._fetching[no]
                assert task.run is not None
                whole = self.world.rows.history(no)
                seen = [event for event in whole if event.seq <= task.run.claim_seq]
                self._learn_whole(task._replace(since=None, entries=seen))

        pause = self.world.dice.randrange(MILLI, 20 * MILLI)
        self._after(pause, f"has read all of {no}", fetched)

    def _learn_whole(self, task: Given) -> None:
        live = self._live[task.claim.no] = Live(task)
        live.learn(task, self.world.rows)
        live.claimed = True
        self._think(live)

    def _think(self, live: Live) -> None:
        if not live.history:
            self._live.pop(live.no, None)  # it was deleted before it could be read
            return
        faults = self.world.faults
        pause = self.world.dice.randrange(MILLI, 40 * MILLI)
        if faults.strike(faults.profile.worker_slow):
            pause = self.world.dice.randrange(SECOND, 9 * SECOND)
        self._after(pause, f"has gone on with {live.id}", partial(self._answer, live))

    # -- what comes of them ----------------------------------------------------------------------

    def _answer(self, live: Live) -> None:
        """Say what its code asks for, and whether there is more to come under the claim."""
        if self._live.get(live.no) is not live or not live.claimed:
            return
        if live.saying:
            live.must_say = True
            return
        live.must_say = False
        commands = self._commands(live)
        wrong = any(isinstance(each, ScheduleActivity) for each in commands)
        wrong = wrong and has_first_activity(live.history)
        if wrong and self.world.faults.strike(self.world.faults.profile.worker_wrong):
            self._block(live)
            return
        live.fed = live.last_seq
        others, step = split(commands, live.made)
        goes_on = live.step is not None and step is not None and is_same(live.step, step)
        if not goes_on:
            live.step = None
        if step is not None and not goes_on and self.world.dice.random() < 0.7:
            live.step, goes_on = step, True
            self._soon_or_later(f"has made a step of {live.id}", partial(self._step, live, step))
        elif step is not None and not goes_on:
            self._make(live, step, others)
            return
        elif step is None and not ends(others) and self.world.dice.random() < 0.25:
            self._linger(live, others)
            return
        self._submit(live, others, holds=goes_on)

    def _linger(self, live: Live, commands: tuple[Command, ...]) -> None:
        """Something else of that run is still under way here: there will be another batch."""
        self._submit(live, commands, holds=True)

        def let_go() -> None:
            if self._live.get(live.no) is live and live.claimed and live.step is None:
                self._answer(live)

        self._soon_or_later(f"lets go of {live.id}", let_go)

    def _soon_or_later(self, label: str, action: Action) -> None:
        faults, dice = self.world.faults, self.world.dice
        pause = dice.randrange(MILLI, 300 * MILLI)
        if faults.strike(faults.profile.worker_slow):
            pause = dice.randrange(SECOND, 6 * SECOND)
            self._stuck_until = self.world.schedule.now + pause
        self._after(pause, label, action)

    def _step(self, live: Live, step: object) -> None:
        if self._live.get(live.no) is not live or live.step is not step or not live.claimed:
            return
        if live.saying:
            self._after(MILLI, "waits to say", partial(self._step, live, step))
            return
        done, live.step = live.step, None
        assert done is not None
        self._make(live, done)

    def _make(self, live: Live, done: RecordStep, before: tuple[Command, ...] = ()) -> None:
        """A step has come to something."""
        live.made.add((done.seq, done.attempt))
        if self.world.dice.random() < 0.4:
            self._linger(live, (*before, done))
        else:
            self._submit(live, (*before, done), holds=False)

    def _commands(self, live: Live) -> tuple[Command, ...]:
        return answer(
            live.type,
            live.history[0].payload,
            live.id,
            live.history,
            now=self.world.schedule.clock,
            coin=lambda: f"{self.name} {self.world.dice.random()}",
        )

    def _submit(self, live: Live, commands: tuple[Command, ...], *, holds: bool) -> None:
        keeps = holds or self.world.dice.random() < 0.85
        lease, over = claim_token(live.token), ends(commands)
        batch = SubmitCommands(live.id, self.name, commands, lease, keeps, holds, seen=live.fed)
        live.saying = True
        live.claimed = holds
        self._say(Said(batch, live.token, partial(self._said, live, keeps=keeps and not over)))

    def _said(self, live: Live, outcome: Outcome | AssayError, *, keeps: bool) -> None:
        live.saying = False
        current = self._live.get(live.no) is live
        if isinstance(outcome, Refusal) or not keeps:
            live.claimed = False
            if current:
                del self._live[live.no]
        elif current and live.claimed and live.must_say:
            self._answer(live)
        elif not current and live.claimed:
            live.claimed = False  # another claim has come in between: its own is over
        for no in [no for no, each in self._live.items() if not (each.claimed or each.saying)]:
            if len(self._live) > LIVES:
                del self._live[no]

    def _block(self, live: Live) -> None:
        del self._live[live.no]
        live.claimed = False
        report = ReportMismatch(live.id, self.name, "another name", claim_token(live.token))
        self._say(Said(report, live.token, lambda _: None))

    def _renew(self) -> None:
        held = [live.id for live in self._live.values() if live.claimed]
        held += [task.run.id for task in self._fetching.values() if task.run is not None]
        if held and self._stuck_until < self.world.schedule.now:
            renewal = (RenewLeases(self.name, tuple(held)),)
            self.world.network.call(self._machine, renewal, lambda _: None)
        self._after(SECOND, "renews", self._renew)

    # -- attempts --------------------------------------------------------------------------------

    def _attempt(self, task: Given) -> None:
        activity, dice, token = task.activity, self.world.dice, task.claim.token
        assert activity is not None
        if dice.random() < 0.03:
            self._say(Said(UndoActivityClaim(activity.no, token), token, lambda _: None))
            return
        self._attempts[token] = task
        if activity.name == "slow":
            self._beat(task, dice.randrange(2, 6))
            return
        pause = dice.randrange(MILLI, 200 * MILLI)
        self._after(pause, f"has worked on {activity.no}", partial(self._worked, task))

    def _beat(self, task: Given, beats: int) -> None:
        if not beats:
            self._worked(task)
            return
        token = task.claim.token
        beat = HeartbeatActivity(task.claim.no, str(beats), Fence(token=claim_token(token)))
        self._say(Said(beat, token, partial(self._heard, task, beats)))

    def _heard(self, task: Given, beats: int, outcome: Outcome | AssayError) -> None:
        if isinstance(outcome, Refusal):
            self._attempts.pop(task.claim.token, None)
            return
        stop = isinstance(outcome, Heard) and outcome.cancel_requested
        pause = self.world.dice.randrange(SECOND // 2, SECOND)
        left = 0 if stop else beats - 1
        self._after(pause, f"goes on with {task.claim.no}", partial(self._beat, task, left))

    def _worked(self, task: Given) -> None:
        token = task.claim.token
        self._reports += 1
        by = f"{self.name}/{self._reports}"
        fence = Fence(token=claim_token(token))
        assert task.activity is not None
        report = report_on(task.activity, task.input, self.world.healed, fence, by)
        self._attempts.pop(token, None)
        self._say(Said(report, token, lambda _: None))

    def _after(self, delay: int, label: str, action: Action) -> None:
        def act() -> None:
            if self.alive:
                action()

        self.world.schedule.after(delay, f"{self.name} {label}", act)


def is_same(one: object, other: object) -> bool:
    """An attempt at the same step."""
    return all(getattr(one, name) == getattr(other, name) for name in ("seq", "attempt"))
