"""What a workflow task and an activity's attempt share.

Both rows carry the same columns: queue, priority, ready_at (null = nothing to hand out), attempt,
claim_token (a claim is open), claimed_by, claim_until (null on an open claim = it has expired).
"""

from enum import StrEnum

from msgspec import Struct


class TaskKind(StrEnum):
    """Which poll hands it out."""

    WORKFLOW = "workflow"
    ACTIVITY = "activity"


class Claim(Struct, frozen=True, gc=False):
    """A task handed to a worker: `no` is the run's or the activity's number."""

    kind: TaskKind
    no: int
    token: int
    worker_id: str
