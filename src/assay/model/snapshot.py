"""What the queries of a run answered after its latest replay."""

from msgspec import Struct


class Snapshot(Struct, frozen=True, gc=False):
    """The newest snapshot of a run: a JSON object as text, as of that many events."""

    run_no: int
    event_seq: int
    state: str
    created_at: int
