"""A run: one execution of a workflow type, and on the same row its workflow task."""

from msgspec import Struct

from assay.model.states import OPEN_RUN, RunStatus


class Run(Struct, frozen=True, gc=False):
    """One execution. The fields from `queue` on are its task (see `task.py`).

    `top_*` are the highest numbers its replays have used of each kind: what is above is new.
    `successor_no` is the run it continued as. `lost_children` counts ids of children that may be
    free again: of children that were deleted, and of other runs that had the id.
    `cancel_seq` is the first cancel request, `last_cancel_seq` the latest one; `asked_by` is the
    run whose request was the last to come down to it (see `core/cancel.py`).
    `kept_token` is the claim under which its worker has seen the history up to `claim_seq` and
    keeps the run alive. While that claim is still open, its holder has more to send under it.
    `claimed_before` is who had claimed it before, for a claim that is undone.
    """

    no: int
    id: str
    run_id: str
    namespace: str
    type: str
    status: RunStatus
    created_at: int
    updated_at: int
    start_at: int
    ver: int = 0
    last_seq: int = 0
    top_activity: int = 0
    top_timer: int = 0
    top_side_effect: int = 0
    top_step: int = 0
    top_upsert: int = 0
    patches: int = 0
    lost_children: int = 0
    parent_no: int | None = None
    parent_id: str | None = None
    child_id: str | None = None
    successor_no: int | None = None
    search_attributes: str | None = None
    error: str | None = None
    result_seq: int | None = None
    completed_at: int | None = None
    timeout_secs: float | None = None
    timeout_at: int | None = None
    cancel_seq: int | None = None
    last_cancel_seq: int | None = None
    asked_by: int | None = None
    cascade: str | None = None
    waits: str | None = None
    archived_at: int | None = None
    archive_uri: str | None = None
    queue: str = "default"
    priority: int = 0
    ready_at: int | None = None
    attempt: int = 0
    blocked: str | None = None
    claim_token: int | None = None
    claimed_by: str | None = None
    claim_until: int | None = None
    claim_seq: int = 0
    claimed_ready_at: int | None = None
    expired_claimers: str | None = None
    kept_token: int | None = None
    claimed_before: str | None = None

    @property
    def is_open(self) -> bool:
        """Not terminal."""
        return self.status in OPEN_RUN

    @property
    def keeper(self) -> str | None:
        """The worker that keeps the run alive and can go on from what it has seen."""
        return None if self.kept_token is None else self.claimed_by
