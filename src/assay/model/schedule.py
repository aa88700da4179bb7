"""A schedule: starts a run whenever its cron expression comes due."""

from enum import StrEnum

from msgspec import Struct


class OverlapPolicy(StrEnum):
    """What happens when it comes due while its last run is still going on."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL_OLD = "cancel_old"
    ALLOW_ALL = "allow_all"


class Schedule(Struct, frozen=True, gc=False):
    """One schedule of a namespace.

    `last_run_no` is the run it last started, or that run's latest successor; `queued_start` the
    instant of a start that waits for the end of that run.
    """

    no: int
    namespace: str
    name: str
    type: str
    cron: str
    timezone: str
    input: str | None
    queue: str
    overlap: OverlapPolicy
    paused: bool
    created_at: int
    ver: int = 0
    next_run_at: int | None = None
    last_run_at: int | None = None
    last_run_no: int | None = None
    last_workflow_id: str | None = None
    queued_start: int | None = None
