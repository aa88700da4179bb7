"""What a client's callers say and wait for at the same time shares requests, as a worker's does.

Behind a balancer requests of one client may reach several instances. Then nobody knows which of
them hears whom: ends of runs are waited for one by one, by the plain route. An engine that has no
exchange is spoken to by the plain routes alone.
"""

import asyncio
import secrets

import msgspec

from assay.errors import BadValue
from assay.sdk.exchange.plainly import ask_plainly
from assay.sdk.exchange.pump import Pump
from assay.sdk.faults import ClientFault, RequestRefused, refusal
from assay.sdk.retrying import PATIENCE_SECS
from assay.sdk.transport import Transport
from assay.wire import values
from assay.wire.exchange.answer import Ending, ExchangeAnswer
from assay.wire.exchange.operations import Operations, Outcome
from assay.wire.exchange.request import Taking

REFUSED = 400
UNKNOWN_ROUTE = frozenset({404, 405})


class Scattered(Exception):
    """The engine's instances take turns in answering: ends are to be asked for one by one."""


class Exchanging:
    """One client's session, begun when it is first needed."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._pump: Pump | None = None
        self._instance: int | None = None
        self._is_scattered = False
        self._has_no_exchange = False
        self._fault: ClientFault | None = None
        self._waiting: dict[str, list[asyncio.Future[Ending]]] = {}

    async def perform(self, operation: Operations) -> Outcome:
        """Have it done; a refusal is raised as its own route's answer would be."""
        outcome = await self._outcome(operation)
        if outcome.status >= REFUSED:
            error = outcome.error if isinstance(outcome.error, str) else ""
            raise refusal(outcome.status, _error_body(error))
        return outcome

    async def _outcome(self, operation: Operations) -> Outcome:
        if not self._has_no_exchange:
            try:
                return await self._begun().say(operation)
            except RequestRefused as fault:
                if not _is_unknown_route(fault):
                    raise
                self._has_no_exchange = True
        reply = await ask_plainly(self._transport, operation)
        assert reply is not None, "whatever a client says has a route of its own"
        return reply

    async def ended(self, id: str, timeout: float | None) -> Ending:
        """How a run ended; raises TimeoutError when it has not by then."""
        if self._is_scattered or self._has_no_exchange:
            raise Scattered
        try:
            values.identifier("workflow id", id)
        except BadValue as bad:  # it would spoil a request for all that share it
            raise refusal(REFUSED, _error_body(str(bad))) from None
        pump = self._begun()
        future: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(id, []).append(future)
        pump.await_end(id)
        try:
            async with asyncio.timeout(timeout):
                return await future
        finally:
            self._forget(id, future)

    async def close(self) -> None:
        """Nothing is said or waited for any more."""
        self._fault = fault = ClientFault("the client is closed")
        if self._pump is not None:
            await self._pump.close(fault)
        self._release(fault)

    # -- the pump's partner ----------------------------------------------------------------------

    takes_tasks = False

    def takings(self) -> list[Taking]:
        """A client takes no tasks."""
        return []

    def held(self) -> list[str]:
        """Nor has it any."""
        return []

    def receive(self, answer: ExchangeAnswer) -> None:
        """Ends of runs have come."""
        for ending in answer.endings:
            for future in self._waiting.pop(ending.id, ()):
                if not future.done():
                    future.set_result(ending)
        if self._instance not in (None, answer.instance):
            self._is_scattered = not answer.fresh or self._is_scattered
        self._instance = answer.instance
        if self._is_scattered:
            self._release(Scattered())

    def despair(self, fault: Exception) -> None:
        """The engine has not answered for too long, or speaks nothing but the plain routes."""
        if isinstance(fault, RequestRefused) and _is_unknown_route(fault):
            self._has_no_exchange = True
            self._release(Scattered())
        else:
            self._release(fault)

    def _begun(self) -> Pump:
        if self._fault is not None:
            raise self._fault
        if self._pump is None:
            session = f"client-{secrets.token_hex(8)}"
            self._pump = Pump(self._transport, session, self, patience_secs=PATIENCE_SECS)
        return self._pump

    def _forget(self, id: str, future: "asyncio.Future[Ending]") -> None:
        futures = self._waiting.get(id, [])
        if future in futures:
            futures.remove(future)
        if not futures:
            self._waiting.pop(id, None)
            if self._pump is not None:
                self._pump.waiting_for.pop(id, None)

    def _release(self, why: BaseException) -> None:
        waiting, self._waiting = self._waiting, {}
        for id, futures in waiting.items():
            if self._pump is not None:
                self._pump.waiting_for.pop(id, None)
            for future in futures:
                if not future.done():
                    future.set_exception(why)


def _is_unknown_route(fault: RequestRefused) -> bool:
    """As an engine answers that has no exchange; what an exchange refuses it refuses otherwise."""
    return fault.status in UNKNOWN_ROUTE


def _error_body(error: str) -> bytes:
    return msgspec.json.encode({"error": error})
