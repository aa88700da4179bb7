"""Frames of the event stream as Server-Sent Events."""

import msgspec
from msgspec import Struct

from assay.model.frame import Frame
from assay.model.time import seconds

KEEP_ALIVE = b": keep-alive\n\n"
HELLO = b": assay\n\n"
SUBSYSTEM = "workflow"

_encode = msgspec.json.Encoder().encode


class EventFrame(Struct, frozen=True, gc=False):
    """The data of one event; `event_type` is its kind, under the name that older clients read."""

    id: int
    ts: float
    namespace: str
    subsystem: str
    kind: str
    event_type: str
    workflow_id: str
    payload: dict[str, str | int | None]


def event_text(number: int, at: int, frame: Frame) -> bytes:
    """A frame with its number and its moment."""
    kind, namespace = frame.kind, frame.namespace
    payload = {"namespace": namespace, **frame.details}
    data = _encode(
        EventFrame(
            number, seconds(at), namespace, SUBSYSTEM, kind, kind, frame.workflow_id, payload
        )
    )
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (number, kind.encode(), data)
