"""What a worker asks and reports: polls of both kinds, outcomes of activity tasks."""

from typing import Annotated

from msgspec import Raw, Struct

from assay.model.operations import CompleteActivity, FailActivity, Fence, HeartbeatActivity
from assay.wire import values
from assay.wire.codec import NULL, check_failure, failure_text, payload_text
from assay.wire.fields import Failure, HoldSecs, Name, Seconds, Whole, said


class Poll(Struct):
    """Ask for a task."""

    queue: Name
    worker_id: Name
    wait_secs: HoldSecs | None = None

    def check(self) -> float:
        """How long to hold it, once every value is found good."""
        values.name("queue", self.queue)
        values.name("worker_id", self.worker_id)
        return values.hold_secs(self.wait_secs)


class Fenced(Struct, kw_only=True):
    """What a reporter may prove of its claim."""

    worker_id: str | None = None
    attempt: Whole | None = None
    token: str | None = None

    def __post_init__(self) -> None:
        if self.attempt is not None:
            self.attempt = values.whole("attempt", self.attempt)

    def fence(self) -> Fence:
        """The values that were given."""
        worker_id, attempt, token = self.worker_id, self.attempt, self.token
        return Fence(
            None if worker_id is None else values.identifier("worker_id", worker_id),
            None if attempt is None else values.integer("attempt", attempt),
            None if token is None else values.identifier("token", token),
        )


class CompleteTask(Fenced, kw_only=True):
    """An attempt succeeded."""

    result: Raw = NULL

    def operation(self, id: str) -> CompleteActivity:
        """Of the activity in the path."""
        no = values.activity_no(id)
        return CompleteActivity(no, payload_text(self.result), self.fence())


class FailTask(Fenced, kw_only=True):
    """An attempt failed; perhaps for good, or to be tried again after a time of its own."""

    error: str
    failure: Failure = NULL
    retryable: Annotated[bool, said(default=True)] | None = None
    retry_after_secs: Seconds | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_failure(self.failure)

    def operation(self, id: str) -> FailActivity:
        """Of the activity in the path."""
        after = self.retry_after_secs
        return FailActivity(
            values.activity_no(id),
            values.text(self.error),
            self.fence(),
            failure=failure_text(self.failure),
            retryable=self.retryable is not False,
            retry_after_secs=None if after is None else values.delay("retry_after_secs", after),
        )


class HeartbeatTask(Fenced, kw_only=True):
    """An attempt is alive."""

    details: Raw = NULL

    def operation(self, id: str) -> HeartbeatActivity:
        """Of the activity in the path."""
        no = values.activity_no(id)
        return HeartbeatActivity(no, payload_text(self.details), self.fence())
