"""Snapshots: what the queries of a run answered. Real JSON, put through as it was sent."""

import msgspec
from msgspec import Raw, Struct

from assay.model.snapshot import Snapshot
from assay.model.time import seconds
from assay.wire.fields import Object, Time


class RunState(Struct, frozen=True):
    """The answers of all queries, as of that many events."""

    state: Object
    event_seq: int
    created_at: Time


class QueryValue(Struct, frozen=True):
    """The answer of one query, as of that many events."""

    value: Raw
    event_seq: int
    created_at: Time


_members = msgspec.json.Decoder(dict[str, Raw])


def run_state(snapshot: Snapshot) -> RunState:
    """All of a snapshot."""
    state = Raw(snapshot.state.encode())
    return RunState(state, snapshot.event_seq, seconds(snapshot.created_at))


def query_value(snapshot: Snapshot, name: str) -> QueryValue | None:
    """What stands under a name, taken literally; None if nothing does, not even null."""
    value = _members.decode(snapshot.state).get(name)
    if value is None:
        return None
    return QueryValue(value, snapshot.event_seq, seconds(snapshot.created_at))
