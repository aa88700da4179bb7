"""An activity: one piece of real work with retries and time-outs; its row is its task too."""

from msgspec import Struct

from assay.model.retry import RetryPolicy
from assay.model.states import LIVE_ACTIVITY, ActivityStatus


class Activity(Struct, frozen=True, gc=False):
    """One activity of a run. The fields from `queue` on are its task (see `task.py`).

    `scheduled_seq` is the event that holds its input; `wanted_seq` the latest one that asked for
    it: that event, or an operator retry. A cancel request after it means nobody wants it any more.
    `late_outcome` is the result, or the failure, that came when the run had ended.
    """

    no: int
    run_no: int
    seq: int
    name: str
    status: ActivityStatus
    policy: RetryPolicy
    scheduled_seq: int
    wanted_seq: int
    scheduled_at: int
    ver: int = 0
    outcome_seq: int | None = None
    late_outcome: str | None = None
    error: str | None = None
    started_at: int | None = None
    completed_at: int | None = None
    last_heartbeat: int | None = None
    details: str | None = None
    queue: str = "default"
    namespace: str = "main"
    priority: int = 0
    ready_at: int | None = None
    attempt: int = 1
    claim_token: int | None = None
    claimed_by: str | None = None
    claim_until: int | None = None

    @property
    def is_live(self) -> bool:
        """Pending or running."""
        return self.status in LIVE_ACTIVITY
