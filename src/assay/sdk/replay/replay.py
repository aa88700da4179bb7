"""One run's code, brought to where its history leads, and what it asks for from there.

Events are fed one by one, and after each everything goes on until it is blocked: so calls get their
numbers, and branches their turns, in the same order live and in every replay (contract §20.4). The
answer to a call counts once its event has been fed, not before.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw

from assay.model.events import EventType
from assay.sdk import arguments
from assay.sdk import failure as failures
from assay.sdk.convert import Codec
from assay.sdk.definition import WorkflowDefinition
from assay.sdk.faults import (
    ActivityFailed,
    CallFailed,
    ChildFailed,
    Mismatch,
    PayloadError,
    SideEffectFailed,
    StepFailed,
    WorkflowMisuse,
)
from assay.sdk.replay.asked import Asked, Child, Key, Kind, Place, Wait, place_text
from assay.sdk.replay.entries import Said, said_of
from assay.sdk.replay.loop import RunFuture, RunLoop, RunTask, RunTimer
from assay.sdk.replay.misuse import misuse_of
from assay.wire.commands import CommandBody
from assay.wire.commands.recorded import RecordPatch, UpsertSearchAttributes
from assay.wire.commands.waiting import CancelTimer, ScheduleTimer, WaitForSignal
from assay.wire.exchange.answer import Entry

Signal = tuple[int, Raw]
_CALLS = frozenset(
    {
        EventType.ACTIVITY_SCHEDULED,
        EventType.TIMER_SCHEDULED,
        EventType.SIDE_EFFECT_RECORDED,
        EventType.STEP_COMPLETED,
        EventType.STEP_FAILED,
        EventType.STEP_ATTEMPT_FAILED,
        EventType.CHILD_WORKFLOW_STARTED,
    }
)


class Replay:
    """The live run: its branches, what they wait for, and what is still to be said of it."""

    def __init__(self, workflow: WorkflowDefinition, workflow_id: str, codec: Codec) -> None:
        self.workflow = workflow
        self.workflow_id = workflow_id
        self.codec = codec
        self.ctx: object = None
        self.loop = RunLoop(self)  # type: ignore[abstract] # what it has not got, it has not got
        self.main: RunTask[Any] | None = None
        self.last_seq = 0
        self.given = 0
        self.events_left = 0
        self.started_at = 0.0
        self.pending: dict[Key, Asked] = {}
        self.upserts: list[UpsertSearchAttributes] = []
        self.asides: list[RecordPatch | CancelTimer] = []
        self.waits_asked: list[Wait] = []
        self.queries: dict[str, Callable[[], object]] = {}
        self.is_cancelled = False
        self.cancel_reason: str | None = None
        self.end: CommandBody | None = None
        self.fault: WorkflowMisuse | None = None
        self._counts: dict[str, int] = {}
        self._signals: dict[str, deque[Signal]] = {}
        self._waits: dict[str, deque[Wait]] = {}
        self._timed: dict[int, Wait] = {}
        self._early: dict[Key, tuple[EventType, Said]] = {}
        self._unclaimed: dict[Key, tuple[str, int]] = {}
        self._outcomes_of_children: dict[str, tuple[EventType, Said]] = {}
        self._ahead: set[tuple[str, int | str]] = set()
        self._coming: set[int] = set()
        self._cancel_ahead: Said | None = None
        self._children_asked: set[str] = set()
        self._dropped: set[int] = set()
        self._announced: set[tuple[str, int | None]] = set()
        self._to_cancel: list[asyncio.Future[Any]] = []
        self._patches: dict[str, bool] = {}

    @property
    def is_over(self) -> bool:
        """The code has returned, raised, or ended its run itself."""
        return self.end is not None or (self.main is not None and self.main.done())

    # -- history comes in ------------------------------------------------------------------------

    def advance(self, entries: Sequence[Entry]) -> None:
        """Feed what is new of the history; code that has ended hears no more."""
        if self.is_over:
            return
        told = [(entry, said_of(entry)) for entry in entries]
        if entries:
            self.given = entries[-1].seq
        self._ahead.clear()
        for entry, said in told:
            self._look_ahead(entry, said)
        self.events_left = len(told)
        for entry, said in told:
            if self.fault is None:
                self._hear(entry, said)
        self.fault = self.fault or misuse_of(self) or self._left_over()

    def _hear(self, entry: Entry, said: Said) -> None:
        """One event, and all that can go on then; code that has ended has made all its calls."""
        is_over = self.is_over
        if is_over and entry.type not in _CALLS:
            return
        self.events_left -= 1
        self.last_seq = entry.seq
        self._coming.discard(entry.seq)
        self.loop.now = max(self.loop.now, entry.at)
        try:
            self._feed(entry, said)
        except WorkflowMisuse as misuse:
            self.fault = misuse
            return
        if not is_over:
            self.loop.run_until_blocked()
            self._cancel_the_rest()

    def let_go(self) -> None:
        """This copy is not needed any more; what its branches do while they end has no effect."""
        self.loop.let_go()

    def _look_ahead(self, entry: Entry, said: Said) -> None:
        match entry.type:
            case EventType.SEARCH_ATTRIBUTES_UPSERTED if said.upsert_seq is not None:
                self._ahead.add(("upsert", said.upsert_seq))
            case EventType.PATCH_RECORDED:
                self._ahead.add(("patch", said.patch_id))
            case EventType.TIMER_CANCELLED | EventType.TIMER_FIRED:
                self._ahead.add(("timer over", said.timer_seq or 0))
            case EventType.TIMER_SCHEDULED:
                self._ahead.add(("timer set", said.timer_seq or 0))
            case EventType.SIGNAL_RECEIVED:
                self._coming.add(entry.seq)
            case EventType.WORKFLOW_CANCEL_REQUESTED:
                self._cancel_ahead = self._cancel_ahead or said

    def _feed(self, entry: Entry, said: Said) -> None:  # noqa: C901, PLR0912 - one line per event
        match entry.type:
            case EventType.WORKFLOW_STARTED:
                self._begin(entry)
            case EventType.ACTIVITY_SCHEDULED:
                if not said.added:
                    self._recorded((Kind.ACTIVITY, said.activity_seq), said.name)
            case EventType.ACTIVITY_COMPLETED | EventType.ACTIVITY_FAILED:
                self._answer((Kind.ACTIVITY, said.activity_seq), entry, said)
            case EventType.TIMER_SCHEDULED:
                self._recorded((Kind.TIMER, said.timer_seq or 0), "")
                self._cancel_dropped(said.timer_seq or 0)
            case EventType.TIMER_FIRED:
                self._fire(said.timer_seq or 0, entry, said)
            case EventType.SIGNAL_RECEIVED:
                self._receive(said.signal, (entry.seq, said.payload))
            case EventType.WORKFLOW_AWAITING_SIGNAL:
                self._hold_wait(said)
            case EventType.SIDE_EFFECT_RECORDED:
                self._recorded((Kind.SIDE_EFFECT, said.side_effect_seq), said.name)
                self._answer((Kind.SIDE_EFFECT, said.side_effect_seq), entry, said)
            case EventType.STEP_COMPLETED | EventType.STEP_FAILED:
                self._recorded((Kind.STEP, said.step_seq), said.name)
                self._answer((Kind.STEP, said.step_seq), entry, said)
            case EventType.STEP_ATTEMPT_FAILED:
                self._recorded((Kind.STEP, said.step_seq), said.name)
                self._try_again(said, entry.at)
            case EventType.CHILD_WORKFLOW_STARTED:
                self._recorded((Kind.CHILD, said.child_workflow_id), said.workflow_type)
            case EventType.CHILD_WORKFLOW_COMPLETED | EventType.CHILD_WORKFLOW_FAILED:
                outcome = EventType(entry.type), said
                self._outcomes_of_children[said.child_workflow_id] = outcome
                self._answer((Kind.CHILD, said.child_workflow_id), entry, said)
            case EventType.WORKFLOW_CANCEL_REQUESTED:
                self._cancel(said.reason)

    def _begin(self, entry: Entry) -> None:
        self.started_at = entry.at
        try:
            given = self.workflow.read(self.codec, entry.payload)
        except PayloadError as error:
            what = f"the input of workflow {self.workflow.name!r} is not what it takes"
            raise WorkflowMisuse(f"{what}{self.workflow.place}: {error}") from None
        self.main = self.loop.create_task(self.workflow.call(self.ctx, given), name="main")

    def _recorded(self, key: Key, name: str) -> None:
        """History holds a call; what the code has asked under its number must be the same."""
        asked = self.pending.get(key)
        if asked is not None:
            self._compare(asked, name)
            asked.recorded = True
        elif key not in self._unclaimed and not self.has_been_asked(key):
            self._unclaimed[key] = name, self.last_seq

    def _answer(self, key: Key, entry: Entry, said: Said) -> None:
        asked = self.pending.pop(key, None)
        if asked is not None:
            self._resolve(asked, EventType(entry.type), said)
        elif not self.has_been_asked(key):
            self._early[key] = EventType(entry.type), said

    def _resolve(self, asked: Asked, type: EventType, said: Said) -> None:
        future = asked.future
        if future is None or future.done():
            return
        error = _error_of(asked, type, said)
        if error is not None:
            future.set_exception(error)
            return
        raw = said.value if type is EventType.SIDE_EFFECT_RECORDED else said.result
        try:
            future.set_result(self.codec.decode(raw, asked.kind))
        except PayloadError as misfit:
            future.set_exception(PayloadError(f"result of {asked.key[0]} {asked.name!r}: {misfit}"))

    def _fire(self, number: int, entry: Entry, said: Said) -> None:
        wait = self._timed.pop(number, None)
        if wait is not None:
            self.pending.pop((Kind.TIMER, number), None)
            if not wait.done():
                wait.set_result(None)
            return
        asked = self.pending.get((Kind.TIMER, number))
        if asked is not None and asked.timer is not None:
            del self.pending[asked.key]
            self.loop.fire(asked.timer)
            return
        self._answer((Kind.TIMER, number), entry, said)

    def _try_again(self, said: Said, at: float) -> None:
        asked = self.pending.get((Kind.STEP, said.step_seq))
        if asked is not None and asked.work is not None:
            asked.work.attempt = said.attempt + 1
            asked.work.retry_at = at + said.retry_in_secs
            asked.work.is_running = False
            asked.recorded = False  # its outcome is still to come

    def _receive(self, name: str, signal: Signal) -> None:
        waits = self._waits.get(name)
        self._announced = {each for each in self._announced if each[0] != name}
        while waits:
            wait = waits.popleft()
            if not wait.done():
                self._hand_over(wait, signal)
                for other in waits:
                    other.held = False  # the engine forgets all waits of that name
                return
        self._signals.setdefault(name, deque()).append(signal)

    def _hand_over(self, wait: Wait, signal: Signal) -> None:
        if wait.timer_seq is not None:
            self._timed.pop(wait.timer_seq, None)
        try:
            wait.set_result(self.codec.decode(signal[1], wait.kind))
        except PayloadError as misfit:
            wait.set_exception(PayloadError(f"signal {wait.asked_for!r}: {misfit}"))

    def _hold_wait(self, said: Said) -> None:
        self._announced.add((said.signal, said.timer_seq))
        for wait in self.waits_asked:
            if (wait.asked_for, wait.timer_seq) == (said.signal, said.timer_seq):
                wait.held = True

    def _cancel(self, reason: str | None) -> None:
        """Whatever is under way ends, each in its own branch; once (contract §20.4 rule 9).

        From the main branch on, as anywhere in asyncio; what that does not reach ends afterwards.
        In one go a branch would be ended by its call, and by its group again in its cleanup.
        """
        if self.is_cancelled:
            return
        self.is_cancelled = True
        self.cancel_reason = reason
        if self.main is not None and self.main is not asyncio.current_task(self.loop):
            self.main.cancel()
        under_way: list[asyncio.Future[Any]] = []
        for asked in self.pending.values():
            if asked.future is not None:
                under_way.append(asked.future)
            if asked.timer is not None:
                under_way += asked.timer.ended_futures()
        for waits in self._waits.values():
            under_way += waits
        self.pending.clear()
        self._waits.clear()
        self._timed.clear()
        awaited = self.loop.awaited()
        for future in under_way:
            if future in awaited:
                self._to_cancel.append(future)
            else:
                future.cancel()  # shielded, or not awaited yet: nobody's cleanup is cut short

    def _cancel_the_rest(self) -> None:
        if self._to_cancel:
            rest, self._to_cancel = self._to_cancel, []
            for future in rest:
                future.cancel()
            self.loop.run_until_blocked()

    # -- the code asks ---------------------------------------------------------------------------

    def next_number(self, counter: str) -> int:
        """The next number of that counter; they go on whatever becomes of a call."""
        number = self._counts.get(counter, 0) + 1
        self._counts[counter] = number
        return number

    def ask(self, asked: Asked) -> None:
        """A call: answered by what was fed already, or under way from now on."""
        if asked.key[0] is Kind.CHILD:
            self._children_asked.add(str(asked.key[1]))
        known = self._unclaimed.pop(asked.key, None)
        if known is not None:
            self._compare(asked, known[0])
            asked.recorded = True
        early = self._early.pop(asked.key, None)
        if early is None and asked.key[0] is Kind.CHILD:
            early = self._outcomes_of_children.get(str(asked.key[1]))
        if early is not None:
            if asked.timer is not None:
                self.loop.fire(asked.timer)
            else:
                self._resolve(asked, *early)
            return
        given_up = self.pending.pop(asked.key, None)
        if given_up is not None:  # a child nobody waited for any more, and now somebody does
            asked.recorded, asked.sent = given_up.recorded, given_up.sent
        self.pending[asked.key] = asked

    def wait_for(self, name: str, kind: Any, timeout: float | None, place: Place) -> Wait:
        """The next signal of that name that nobody has had; None if its time is up before."""
        number = None if timeout is None else self.next_number(Kind.TIMER)
        wait = Wait(self.loop, name, kind, number, place)
        signals = self._signals.get(name)
        if signals:
            self._hand_over(wait, signals.popleft())
            return wait
        wait.held = (name, number) in self._announced
        self._waits.setdefault(name, deque()).append(wait)
        if number is not None and timeout is not None:
            self._timed[number] = wait
            command = ScheduleTimer(seq=number, duration_secs=timeout)
            key = (Kind.TIMER, number)
            self.ask(Asked(key, "", since=self.last_seq, place=place, future=wait, command=command))
        self.waits_asked.append(wait)
        return wait

    def sleep(self, secs: float, place: Place) -> RunFuture[None]:
        """A durable timer that is waited for."""
        number = self.next_number(Kind.TIMER)
        future: RunFuture[None] = RunFuture(loop=self.loop)
        command = ScheduleTimer(seq=number, duration_secs=secs)
        key = (Kind.TIMER, number)
        self.ask(Asked(key, "", since=self.last_seq, place=place, future=future, command=command))
        return future

    def unconsumed(self) -> list[int]:
        """The events of signals nobody has had, those that are not fed yet included."""
        left = [seq for signals in self._signals.values() for seq, _ in signals]
        return sorted([*left, *self._coming])

    def patched(self, id: str) -> bool:
        """Whether this run takes the new branch; the first answer holds (contract §20.5)."""
        known = self._patches.get(id)
        if known is None:
            if ("patch", id) in self._ahead:
                known = True
            elif self.events_left:
                known = False
            else:
                known = True
                self.asides.append(RecordPatch(id=id))
            self._patches[id] = known
        return known

    def upsert(self, patch: Raw) -> None:
        """Sent with the next batch, unless history has it."""
        number = self.next_number("upsert")
        if ("upsert", number) not in self._ahead:
            self.upserts.append(UpsertSearchAttributes(patch=patch, seq=number))

    def child_of(self, workflow_id: str) -> Child[Any] | None:
        """The call for that child, if it is under way."""
        asked = self.pending.get((Kind.CHILD, workflow_id))
        if asked is None or not asked.is_wanted:
            return None
        return asked.future if isinstance(asked.future, Child) else None

    def finish(self, command: CommandBody) -> None:
        """The code ends its run itself; a cancel request that history holds by now comes first.

        Without the request it had ended here, so this is the call that raises it (contract §20.4).
        """
        if self._cancel_ahead is not None and not self.is_cancelled:
            self._cancel(self._cancel_ahead.reason)
            raise asyncio.CancelledError
        self.end = command
        self.loop.is_over = True

    # -- timers of the loop ----------------------------------------------------------------------

    def start_timer(self, secs: float, fire: RunTimer) -> int:
        """`asyncio.sleep`, time-outs and the like."""
        secs = arguments.seconds("what a timer takes", secs)
        number = self.next_number(Kind.TIMER)
        command = ScheduleTimer(seq=number, duration_secs=secs)
        key = (Kind.TIMER, number)
        self.ask(Asked(key, "", since=self.last_seq, timer=fire, command=command))
        return number

    def drop_timer(self, number: int) -> None:
        """Nobody waits for it any more; what has not gone out need not."""
        asked = self.pending.pop((Kind.TIMER, number), None)
        if asked is None:
            return
        if not (asked.recorded or asked.sent or ("timer set", number) in self._ahead):
            self._dropped.add(number)
        elif ("timer over", number) not in self._ahead:
            self.asides.append(CancelTimer(seq=number))

    def _cancel_dropped(self, number: int) -> None:
        """It had gone out all the same, from a copy that was dropped."""
        if number in self._dropped:
            self._dropped.discard(number)
            if ("timer over", number) not in self._ahead:
                self.asides.append(CancelTimer(seq=number))

    # -- history against code --------------------------------------------------------------------

    def has_been_asked(self, key: Key) -> bool:
        """Whether the call under that number is over: it was ended, or nobody waits for it."""
        kind, number = key
        if isinstance(number, str):
            return number in self._children_asked
        return number <= self._counts.get(kind, 0)

    def _compare(self, asked: Asked, name: str) -> None:
        kind, number = asked.key
        if asked.name == name or kind is Kind.SIDE_EFFECT:
            return
        raise Mismatch(
            f"event {self.last_seq}: history holds {kind} {number} as {name!r}, "
            f"the code asks for {asked.name!r}{place_text(asked.place)}"
        )

    def _left_over(self) -> Mismatch | None:
        """A call that history holds and the code has not made, though all of history is fed."""
        if not self._unclaimed:
            return None
        (kind, number), (name, seq) = min(self._unclaimed.items(), key=lambda item: item[1][1])
        held = f"event {seq}: history holds {kind} {number}" + (f" ({name!r})" if name else "")
        if self.is_over:
            return Mismatch(f"{held}, the code ends without it{self.workflow.place}")
        for asked in self.pending.values():
            if not (asked.recorded or asked.sent) and asked.is_wanted:
                kind, number = asked.key
                named = f" ({asked.name!r})" if asked.name else ""
                where = place_text(asked.place)
                return Mismatch(f"{held}, the code asks for {kind} {number}{named}{where} instead")
        waiting = next((wait for wait in self.waits_asked if not wait.done()), None)
        if waiting is None:
            return Mismatch(f"{held}, the code never asks for it{self.workflow.place}")
        place = place_text(waiting.place)
        return Mismatch(f"{held}, the code waits for signal {waiting.asked_for!r}{place} instead")


def _error_of(asked: Asked, type: EventType, said: Said) -> CallFailed | None:
    match type:
        case EventType.ACTIVITY_FAILED:
            return ActivityFailed(asked.name, said.error, failures.read(said.failure))
        case EventType.STEP_FAILED:
            return StepFailed(asked.name, said.error, failures.read(said.failure))
        case EventType.SIDE_EFFECT_RECORDED:
            raised = failures.of_value(said.value)
            if raised is None:
                return None
            return SideEffectFailed(asked.name, raised.message or raised.type, raised)
        case EventType.CHILD_WORKFLOW_FAILED:
            return ChildFailed(str(asked.key[1]), said.error, failures.read(said.failure))
        case _:
            return None


def wait_command(wait: Wait) -> WaitForSignal:
    """Says what a run waits for."""
    return WaitForSignal(name=wait.asked_for, timer_seq=wait.timer_seq)
