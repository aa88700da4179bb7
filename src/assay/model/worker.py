"""A worker that registered: any HTTP client that polls."""

from msgspec import Struct


class Introduction(Struct, frozen=True, gc=False):
    """What a worker says of itself when it registers."""

    namespace: str
    identity: str
    queue: str
    workflows: str | None
    activities: str | None
    max_workflows: int
    max_activities: int


class Worker(Struct, frozen=True, gc=False):
    """What a worker said of itself, and when it was last heard of."""

    id: str
    namespace: str
    identity: str
    queue: str
    workflows: str | None
    activities: str | None
    max_workflows: int
    max_activities: int
    registered_at: int
    last_seen: int
