"""The pump: what is to be said goes out in as few requests as possible, what comes is handed on.

Some requests carry operations and come back at once; one is held by the engine until it has
something. Under load requests batch by themselves: what comes up while they are under way makes up
the next one. A request that fails is made again, with everything it carried, until it succeeds; and
the engine is then asked for all that its lost answer may have held.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from assay.sdk.exchange.backoff import HURRIED_SECS, Backoff
from assay.sdk.exchange.messages import Message, message
from assay.sdk.exchange.plainly import ask_plainly
from assay.sdk.faults import BadRequest, ClientFault, EngineUnreachable, RequestRefused, refusal
from assay.sdk.faults import said as said_in
from assay.sdk.retrying import NOT_NOW
from assay.sdk.transport import Transport
from assay.wire.exchange.answer import ExchangeAnswer, History, read_answer
from assay.wire.exchange.operations import VERSION, Operations, Outcome
from assay.wire.exchange.request import Position, Taking

OPERATIONS_AT_ONCE = 500
BYTES_AT_ONCE = 1_500_000  # the body of a request has at most 2 MiB
NEWS_AT_ONCE = 200_000  # of these for ids whose ends are awaited
SENDERS = 2  # requests with operations under way at once: while one commits, another is on its way
HELD_SECS = 20.0
ANSWER_SECS = 30.0
SHORTLY_SECS = 0.05
OK = 200
FAILED = 500
TOO_LARGE = 413
LARGEST = 2_097_152  # bytes: the 2 MiB of contract §2.3
log = logging.getLogger("assay.sdk")


class Partner(Protocol):
    """Whose pump it is."""

    @property
    def takes_tasks(self) -> bool:
        """Whether there is anything that it takes, with or without room for it now."""

    def takings(self) -> Sequence[Taking]:
        """What it takes of which queues, as of now."""

    def held(self) -> list[str]:
        """The claims of all tasks it has."""

    def receive(self, answer: ExchangeAnswer) -> None:
        """Something has come."""

    def despair(self, fault: Exception) -> None:
        """The engine has not answered for longer than there is patience."""


class Pump:
    """One session's requests."""

    def __init__(
        self,
        transport: Transport,
        session: str,
        partner: Partner,
        *,
        patience_secs: float | None = None,
        may_have_missed: bool = False,
    ) -> None:
        """Never give up, or after so long. `may_have_missed`: this session has been here before."""
        self.session = session
        self._patience_secs = patience_secs
        self.waiting_for: dict[str, None] = {}  # whose ends are awaited
        self._transport = transport
        self._partner = partner
        self._session_text = msgspec.json.encode(session)
        self._out: deque[Message] = deque()
        self._news: dict[str, None] = {}  # of these the engine has not been told
        self._positions: list[tuple[Position, asyncio.Future[History]]] = []
        self._later: dict[Message, asyncio.TimerHandle] = {}  # to be said again after a pause
        self._senders = 0
        self._is_held = False
        self._is_going = False
        self._is_leaving = False
        self._let_go: Callable[[], object] | None = None  # of the request that is held
        self._has_changed = False
        self._may_have_missed = may_have_missed
        self._is_closed = False
        self._closed_by: ClientFault | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failing_since: float | None = None
        self._backoff = Backoff() if patience_secs is None else Backoff(HURRIED_SECS, 1.0)
        self._instance: int | None = None

    # -- for its partner -------------------------------------------------------------------------

    def tell(self, operation: Operations) -> None:
        """Have it done, whatever comes of it."""
        self.say(operation).add_done_callback(_unheard)

    def say(self, operation: Operations) -> "asyncio.Future[Outcome]":
        """Have it done; its outcome, whatever it takes to get it."""
        said = message(operation)
        self._out.append(said)
        if self._is_closed:
            self._end_all()
        else:
            self.go()
        return said.future

    def await_end(self, id: str) -> None:
        """Be told how that run ended."""
        if id not in self.waiting_for:
            self.waiting_for[id] = self._news[id] = None
            self.go()

    def history(self, no: int, after: int) -> "asyncio.Future[History]":
        """The history of a run whose task is in hand, from behind an event on."""
        future: asyncio.Future[History] = asyncio.get_running_loop().create_future()
        self._positions.append((Position(no, after), future))
        self.go()
        return future

    def announce(self) -> None:
        """What its partner takes is other than before: the engine hears so at once."""
        self._has_changed = True
        self.go()

    def go(self) -> None:
        """Something is to be said: a turn later, together with what else comes up by then."""
        if not self._is_going:
            self._is_going = True
            asyncio.get_running_loop().call_soon(self._go)

    async def close(self, fault: ClientFault | None = None) -> None:
        """Nothing goes out any more; whoever waits has this fault, or is cancelled."""
        self._is_closed = True
        self._closed_by = fault
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._end_all()

    async def leave(self) -> None:
        """Say the last, and hear of every task that is on its way here, so that it can go back."""
        if self._let_go is not None:
            self._let_go()
        self._is_leaving = self._may_have_missed = self._has_changed = True
        self._end_pauses()
        self._go()
        await self.flush()

    @property
    def is_busy(self) -> bool:
        """Something is on its way out."""
        return bool(self._out or self._later or self._senders)

    async def flush(self) -> None:
        """Until everything that is to be said has been."""
        while self.is_busy:
            self._go()  # at once: else there is only the held request to wait for
            waited: list[asyncio.Future[Outcome] | asyncio.Task[None]]
            waited = [*self._tasks, *(each.future for each in self._later)]
            secs = SHORTLY_SECS if self._later else None
            await asyncio.wait(waited, timeout=secs, return_when=asyncio.FIRST_COMPLETED)

    # -- requests --------------------------------------------------------------------------------

    def _go(self) -> None:
        self._is_going = False
        if self._is_closed:
            return
        if self._wants_more and not (self._is_held or self._is_leaving):
            self._is_held = True
            self._let_go = self._spawn(self._hold())
            if not (self._out or self._positions):
                return  # it says what is new
        while self._senders < SENDERS and self._has_to_say:
            self._senders += 1
            self._spawn(self._send())

    @property
    def _wants_more(self) -> bool:
        return bool(self.waiting_for) or self._partner.takes_tasks

    @property
    def _has_to_say(self) -> bool:
        return bool(self._out or self._news or self._positions or self._has_changed)

    def _spawn(self, coroutine: "asyncio._CoroutineLike[None]") -> Callable[[], object]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task.cancel

    async def _send(self) -> None:
        try:
            while self._has_to_say and not self._is_closed:
                if self._out and self._out[0].is_large:
                    await self._send_alone(self._out.popleft())
                else:
                    await self._send_together()
        finally:
            self._senders -= 1
        self._go()

    async def _hold(self) -> None:
        """The request that the engine keeps until there is something."""
        try:
            while not self._is_closed and self._wants_more:
                await self._exchange([], [], hold_secs=HELD_SECS)
        finally:
            self._is_held = False

    async def _send_together(self) -> None:
        said: list[Message] = []
        size = 0
        while self._out and len(said) < OPERATIONS_AT_ONCE and not self._out[0].is_large:
            size += len(self._out[0].text)
            if said and size > BYTES_AT_ONCE:
                break
            first = self._out.popleft()
            if not first.future.done():  # else its caller has gone
                said.append(first)
        positions, self._positions = self._positions, []
        await self._exchange(said, positions)

    async def _exchange(
        self,
        said: list[Message],
        positions: "list[tuple[Position, asyncio.Future[History]]]",
        hold_secs: float = 0.0,
    ) -> None:
        """One request, made until it succeeds or everybody has given it up."""
        missed = self._may_have_missed
        answer: ExchangeAnswer | None = None
        while answer is None:
            news = self._some_news()
            try:
                answer = await self._ask(self._body(said, positions, news, hold_secs), hold_secs)
            except ClientFault as fault:
                self._news = {**dict.fromkeys(news), **self._news}
                if said and isinstance(fault, BadRequest):
                    await self._tell_apart(said, positions)
                    return
                said = self._give_up(said, fault)
                missed = self._may_have_missed = True
                if not (said or positions or self._wants_more):
                    self._failing_since = None  # who comes next has patience of his own
                    return  # nobody waits for anything any more
                await self._pause(said, fault)
                hold_secs = min(hold_secs, SHORTLY_SECS)  # first hear what there is
            except asyncio.CancelledError:
                self._out.extendleft(reversed(said))
                raise
        if missed:
            self._may_have_missed = False
        self._works_again()
        self._distribute(answer, said, positions)

    def _some_news(self) -> list[str]:
        """Whose ends are awaited that the engine has not been told of, as far as there is room."""
        if self._may_have_missed:
            self._news = dict(self.waiting_for)
        news: list[str] = []
        size = 0
        for id in self._news:
            size += len(id.encode()) + 3
            if news and size > NEWS_AT_ONCE:
                break
            news.append(id)
        for id in news:
            del self._news[id]
        if self._news:
            self.go()  # the rest by another request: this one may be held
        return news

    def _works_again(self) -> None:
        self._failing_since = None
        self._backoff.reset()

    async def _tell_apart(
        self,
        said: list[Message],
        positions: "list[tuple[Position, asyncio.Future[History]]]",
    ) -> None:
        """One of them spoils it for all: each goes alone, and has its own answer."""
        self._positions += positions
        left = deque(said)
        try:
            while left:
                await self._send_alone(left.popleft())
        finally:
            self._out.extendleft(reversed(left))

    async def _pause(self, said: list[Message], fault: Exception) -> None:
        try:
            await self._backoff.pause(fault, hurried=bool(said))
        except asyncio.CancelledError:
            self._out.extendleft(reversed(said))
            raise

    def _end_all(self) -> None:
        """Nobody waits for what will not be said."""
        self._end_pauses()
        for _, history in self._positions:
            history.cancel()
        while self._out:
            future = self._out.popleft().future
            if self._closed_by is None:
                future.cancel()
            elif not future.done():
                future.set_exception(self._closed_by)

    async def _ask(self, body: bytes, hold_secs: float) -> ExchangeAnswer:
        secs = hold_secs + ANSWER_SECS
        reply = await self._transport.request("POST", "/exchange", body, secs=secs)
        if reply.status != OK:
            raise refusal(reply.status, reply.body)
        try:
            return read_answer(reply.body)
        except msgspec.MsgspecError as error:
            raise ClientFault(f"the answer cannot be read: {error}") from error

    def _body(
        self,
        said: list[Message],
        positions: "list[tuple[Position, asyncio.Future[History]]]",
        news: list[str],
        hold_secs: float,
    ) -> bytes:
        parts = [b'{"v":%d,"session":%s' % (VERSION, self._session_text)]
        takings = self._partner.takings()
        self._has_changed = False
        if takings:
            parts.append(b',"takings":%s' % msgspec.json.encode(takings))
        if self._may_have_missed:
            parts.append(b',"held":%s' % msgspec.json.encode(self._partner.held()))
        if news:
            parts.append(b',"awaited":%s' % msgspec.json.encode(news))
        if positions:
            asked = msgspec.json.encode([position for position, _ in positions])
            parts.append(b',"histories":%s' % asked)
        if said:
            texts = b",".join([each.text for each in said])
            parts.append(b',"operations":[%s]' % texts)
        if hold_secs:
            parts.append(b',"wait_secs":%s' % msgspec.json.encode(hold_secs))
        return b"".join([*parts, b"}"])

    def _give_up(self, said: list[Message], fault: Exception) -> list[Message]:
        """What may have been done and must not be done twice is its caller's to judge.

        So is what the engine turns down as a whole, and what a caller has no more patience for.
        """
        now = asyncio.get_running_loop().time()
        if self._failing_since is None:
            self._failing_since = now
        undone = _is_undone(fault)
        refused = isinstance(fault, RequestRefused) and fault.status < FAILED
        if self._is_hopeless(now - self._failing_since, refused=refused):
            self._partner.despair(fault)
        kept: list[Message] = []
        for each in said:
            hopeless = self._is_hopeless(each.failing_for(now), refused=refused)
            if not hopeless and (each.may_repeat or undone):
                kept.append(each)
            elif not each.future.done():
                each.future.set_exception(fault)
        return kept

    def _is_hopeless(self, secs: float, *, refused: bool = False) -> bool:
        """It is refused, or has failed for longer than callers are patient. Workers always are."""
        return self._patience_secs is not None and (refused or secs > self._patience_secs)

    def _distribute(
        self,
        answer: ExchangeAnswer,
        said: Sequence[Message],
        positions: "list[tuple[Position, asyncio.Future[History]]]",
    ) -> None:
        for each, outcome in zip(said, answer.outcomes, strict=True):
            self._settle(each, outcome)
        for (_, future), history in zip(positions, answer.histories, strict=True):
            if not future.done():
                future.set_result(history)
        self._hear(answer)

    def _settle(self, said: Message, outcome: Outcome) -> None:
        if said.future.done():
            return
        if outcome.status >= FAILED and self._is_to_be_tried_again(said, outcome):
            loop, secs = asyncio.get_running_loop(), self._backoff.next_secs()
            self._later[said] = loop.call_later(secs, self._say_again, said)
        else:
            said.future.set_result(outcome)

    def _is_to_be_tried_again(self, said: Message, outcome: Outcome) -> bool:
        """The engine or its database failed at it, and somebody may still have the patience."""
        secs = said.failing_for(asyncio.get_running_loop().time())
        return not self._is_hopeless(secs) and (said.may_repeat or outcome.status == NOT_NOW)

    def _hear(self, answer: ExchangeAnswer) -> None:
        if answer.fresh and self.waiting_for:
            self._news.update(self.waiting_for)
            self.go()
        for ending in answer.endings:
            self.waiting_for.pop(ending.id, None)
        self._partner.receive(answer)

    def _end_pauses(self) -> None:
        for said, pause in self._later.items():
            pause.cancel()
            self._out.append(said)
        self._later.clear()

    def _say_again(self, said: Message) -> None:
        del self._later[said]
        self._out.append(said)
        self._go()

    async def _send_alone(self, said: Message) -> None:
        """Too large to share a request, or such that it may spoil one."""
        outcome: Outcome | None = None
        while outcome is None and not said.future.done():
            try:
                outcome = await self._ask_alone(said)
            except BadRequest as fault:
                outcome = Outcome(fault.status, said_in(fault.body))
            except ClientFault as fault:
                if self._give_up([said], fault):
                    await self._pause([said], fault)
            except asyncio.CancelledError:
                self._out.appendleft(said)
                raise
        if outcome is not None:
            self._works_again()
            self._settle(said, outcome)

    async def _ask_alone(self, said: Message) -> Outcome:
        """In an exchange with nothing else; what hardly fits, as any client would say it."""
        body = b'{"v":%d,"session":%s,"operations":[%s]}'
        body = body % (VERSION, self._session_text, said.text)
        if len(body) <= LARGEST:
            answer = await self._ask(body, 0.0)
            self._hear(answer)
            return answer.outcomes[0]
        outcome = await ask_plainly(self._transport, said.operation)
        return outcome or Outcome(TOO_LARGE, "too large for one request")


def _is_undone(fault: Exception) -> bool:
    """Nothing can have come of the request: it never went out, or the engine is not there yet."""
    if isinstance(fault, EngineUnreachable):
        return not fault.sent
    return isinstance(fault, RequestRefused) and fault.status == NOT_NOW


def _unheard(done: "asyncio.Future[Outcome]") -> None:
    """Nobody waits for it: an error it ended with is no surprise."""
    if not done.cancelled():
        done.exception()
