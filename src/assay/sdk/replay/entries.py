"""Events of history as a replay reads them: one shape for all payloads, decoded once."""

import msgspec
from msgspec import Raw, Struct

from assay.model.events import EventType
from assay.wire.exchange.answer import Entry

NULL = Raw(b"null")


class Said(Struct, gc=False):
    """Every field of every payload that a replay looks at."""

    activity_seq: int = 0
    timer_seq: int | None = None
    side_effect_seq: int = 0
    step_seq: int = 0
    upsert_seq: int | None = None
    patch_id: str = ""
    child_workflow_id: str = ""
    workflow_type: str = ""
    name: str = ""
    added: bool = False
    signal: str = ""
    payload: Raw = NULL
    result: Raw = NULL
    value: Raw = NULL
    error: str | None = None
    attempt: int = 1
    final_attempt: int = 1
    retry_in_secs: float = 0.0
    reason: str | None = None
    failure: Raw = NULL


NOTHING = Said()
# The payload of a start is the input itself, that of a completion the result.
_PLAIN = frozenset({EventType.WORKFLOW_STARTED, EventType.WORKFLOW_COMPLETED})
_decode = msgspec.json.Decoder(Said).decode


def said_of(entry: Entry) -> Said:
    """What an event says."""
    if entry.type in _PLAIN or entry.payload == NULL:
        return NOTHING
    return _decode(entry.payload)
