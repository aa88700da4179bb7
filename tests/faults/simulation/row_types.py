"""What is compared of a row: the columns the checks look at, by table."""

from typing import NamedTuple

from assay.model.states import TERMINAL_RUN, RunStatus
from tests.support.runs import Event


class RunRow(NamedTuple):
    """What is compared of a run."""

    no: int
    id: str
    run_id: str
    namespace: str
    type: str
    queue: str
    status: str
    ver: int
    last_seq: int
    created_at: int
    start_at: int
    timeout_secs: float | None
    timeout_at: int | None
    completed_at: int | None
    ready_at: int | None
    blocked: str | None
    claim_token: int | None
    claimed_by: str | None
    claim_until: int | None
    claim_seq: int
    parent_no: int | None
    child_id: str | None
    successor_no: int | None
    cancel_seq: int | None
    asked_by: int | None
    cascade: str | None
    search_attributes: str | None
    kept_token: int | None

    @property
    def is_open(self) -> bool:
        """Not terminal."""
        return RunStatus(self.status) not in TERMINAL_RUN

    @property
    def is_scheduled(self) -> bool:
        """A schedule started it."""
        return self.run_id == f"run-{self.id}"


class ActivityRow(NamedTuple):
    """What is compared of an activity."""

    no: int
    run_no: int
    seq: int
    status: str
    ver: int
    ready_at: int | None
    attempt: int
    claim_token: int | None
    claimed_by: str | None
    claim_until: int | None


class TimerRow(NamedTuple):
    """What is compared of a timer; a negative seq is a waking for an attempt at a step."""

    no: int
    run_no: int
    seq: int
    state: str
    ver: int
    fire_at: int


class Grave(NamedTuple):
    """A run that was deleted, and what it had to tell."""

    run: RunRow
    history: list[Event]
    late_outcomes: list[str]
