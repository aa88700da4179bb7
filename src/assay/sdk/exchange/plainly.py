"""Operations that an exchange has no room for, or an engine no exchange: by routes of their own."""

from typing import NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Raw

from assay.sdk.faults import refusal
from assay.sdk.transport import Reply, Transport
from assay.wire.exchange.operations import (
    Complete,
    Fail,
    Heartbeat,
    Operations,
    Outcome,
    SignalRun,
    StartRun,
)

FAILED = 500
_encode = msgspec.json.encode


class Plain(NamedTuple):
    """The same as a request of its own route."""

    path: str
    body: bytes


async def ask_plainly(transport: Transport, operation: Operations) -> Outcome | None:
    """Have it done by its own route; None: it has none."""
    request = plain(operation)
    if request is None:
        return None
    reply = await transport.request("POST", request.path, request.body)
    if reply.status >= FAILED:
        raise refusal(reply.status, reply.body)
    return _outcome_of(reply)


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


def _outcome_of(reply: Reply) -> Outcome:
    """What the plain route answered."""
    fields: dict[str, Raw] = {}
    if reply.body[:1] == b"{":
        fields = msgspec.json.decode(reply.body, type=dict[str, Raw])
    outcome = Outcome(reply.status)
    for theirs, ours in _FIELDS.items():
        if theirs in fields:
            setattr(outcome, ours, msgspec.json.decode(fields[theirs]))
    return outcome


_FIELDS = {
    "error": "error",
    "workflow_id": "workflow_id",
    "run_id": "run_id",
    "status": "state",
    "cancel_requested": "cancel_requested",
}
