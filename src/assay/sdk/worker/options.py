"""What a worker is told when it is made."""

from msgspec import Struct

DRAIN_SECS = 10.0
KEPT_RUNS = 10_000


class WorkerOptions(Struct, frozen=True):
    """Which queue, under what name, and how much at once. With a `seed`, jitter is repeatable."""

    queue: str = "default"
    identity: str = ""
    namespace: str = "main"
    max_concurrent_workflows: int = 10
    max_concurrent_activities: int = 20
    kept_runs: int = KEPT_RUNS
    drain_secs: float = DRAIN_SECS
    heeds_signals: bool = True
    fails_unknown: bool = True  # runs of types it does not know; else they are blocked
    seed: int | None = None
