"""The application: find the route, read the body, call the handler, write its answer.

A raw ASGI 3 application: what stands between the parser and the engine is on every request's bill.
"""

import asyncio
import contextlib
import logging

from assay.engine.runner import Runner
from assay.errors import AssayError, EngineStopped, StoreFault
from assay.server.answer import Answer
from assay.server.asgi import Receive, Scope, Send
from assay.server.body import HungUp, discard, read_body
from assay.server.call import Call, Door
from assay.server.openapi.document import documents
from assay.server.problems import FAULT, Turned, answer_to, problem
from assay.server.routes.service import STARTING
from assay.server.routes.table import DOCS, ROUTES, SERVICE
from assay.server.settings import Settings

log = logging.getLogger("assay.server")

START, BODY = "http.response.start", "http.response.body"


class App:
    """The door to one running engine."""

    def __init__(self, door: Door) -> None:
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except HungUp:
            return
        except Turned as turned:
            answer = turned.answer
            if turned.unread:
                await _part(answer, receive, send)
                return
        except AssayError as error:
            if isinstance(error, StoreFault):
                log.warning("%s failed: %s", scope["raw_path"].decode("latin-1"), error)
            answer = answer_to(error)
        except asyncio.CancelledError:
            if not self.door.stopping:
                raise
            # It has had its time to finish, and perhaps it has: 503 would say that it has not.
            answer = problem(FAULT, "the engine stops; this may have been done or not")
        except Exception:
            log.exception("%s failed", scope["raw_path"].decode("latin-1"))
            answer = problem(FAULT, "the engine failed at this request; its log says why")
        await self._write(answer, scope, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        if not self.door.runner.ready:
            _check_needs_no_engine(scope)
        route, path = ROUTES.find(scope["method"], scope["raw_path"])
        data = b""
        if route.takes is not None:
            data = await read_body(scope, receive, required=not route.takes.optional)
        return await route.answer(Call(self.door, path, scope, receive), data)

    async def _write(self, answer: Answer, scope: Scope, send: Send) -> None:
        """Write it; what was claimed for an answer that does not get out is given back."""
        unwritten = answer.unwritten
        if unwritten is not None and _has_hung_up(scope):
            unwritten()
            return
        try:
            await send({"type": START, "status": answer.status, "headers": answer.head()})
            if answer.flow is not None:
                await answer.flow.write(send)
                return
            await send({"type": BODY, "body": answer.body})
        except BaseException as error:
            if unwritten is not None:
                unwritten()
            # At a stop a client has its time to read, and then it has had it.
            if not (isinstance(error, asyncio.CancelledError) and self.door.stopping):
                raise


async def _part(answer: Answer, receive: Receive, send: Send) -> None:
    """Answer, and then listen on: a connection closed on unread bytes is reset, answer and all."""
    await send({"type": START, "status": answer.status, "headers": answer.head()})
    await send({"type": BODY, "body": answer.body, "more_body": True})
    with contextlib.suppress(HungUp):
        await discard(receive)
    await send({"type": BODY, "body": b""})


def create_app(runner: Runner, settings: Settings) -> App:
    """The HTTP interface of a running engine."""
    return App(Door(runner, settings, documents(ROUTES)))


def _check_needs_no_engine(scope: Scope) -> None:
    """While the engine starts there is nothing to ask it for."""
    route, _ = ROUTES.find(scope["method"], scope["raw_path"])
    if route not in SERVICE.routes and route not in DOCS.routes:
        raise EngineStopped(STARTING)


def _has_hung_up(scope: Scope) -> bool:
    ask = scope.get("assay.gone")
    return ask is not None and ask()
