"""Operations on their way out, each with the call that waits for its outcome."""

import asyncio
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Raw

from assay.wire.exchange.operations import (
    Complete,
    Fail,
    Heartbeat,
    Operations,
    Outcome,
    SignalRun,
    StartRun,
)

LARGE = 1_500_000  # bytes; beyond that an operation goes alone
_encode = msgspec.json.encode


class Message:
    """An operation, as it is written, and since when it has been failing."""

    __slots__ = ("failing_since", "future", "operation", "text")

    def __init__(
        self, text: bytes, operation: Operations, future: "asyncio.Future[Outcome]"
    ) -> None:
        self.text = text
        self.operation = operation
        self.future = future
        self.failing_since: float | None = None

    @property
    def is_large(self) -> bool:
        """Too large to share a request."""
        return len(self.text) > LARGE

    @property
    def may_repeat(self) -> bool:
        """Whether doing it twice is the same as doing it once.

        Reports of workers have their fences, a signal its `request_id`; a start that takes whatever
        run there is has its id.
        """
        operation = self.operation
        if isinstance(operation, StartRun):
            return bool(operation.workflow_id) and operation.if_exists == "use"
        return not isinstance(operation, SignalRun) or bool(operation.request_id)


class Plain(NamedTuple):
    """The same as a request of its own route."""

    path: str
    body: bytes


def message(operation: Operations) -> Message:
    """An operation with a future for its outcome."""
    future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    return Message(_encode(operation), operation, future)


def plain(operation: Operations) -> Plain | None:
    """The route of an operation that an exchange has no room for; None: it has none."""
    fields = msgspec.json.decode(_encode(operation), type=dict[str, Raw])
    fields.pop("op", None)
    match operation:
        case StartRun():
            path = "/workflows"
        case SignalRun(id=id, name=name):
            path = f"/workflows/{quote(id, safe='')}/signal/{quote(name, safe='')}"
        case Complete(no=no):
            path = f"/tasks/{no}/complete"
        case Fail(no=no):
            path = f"/tasks/{no}/fail"
        case Heartbeat(no=no):
            path = f"/tasks/{no}/heartbeat"
        case _:
            return None
    return Plain(path, _encode(fields))
