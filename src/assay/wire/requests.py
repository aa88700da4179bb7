"""Request bodies and queries, one definition each; reading and documenting derive from it.

A field's type is its shape (422), the method that makes the operation checks the values (400).
`null` for an optional field equals its absence, so every default is None.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from assay.errors import BadValue
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    Fence,
    HeartbeatActivity,
    Retry,
    Signal,
    Start,
    Terminate,
)
from assay.model.worker import Introduction
from assay.wire import values
from assay.wire.codec import NULL, payload_text
from assay.wire.values import Whole

MAIN = "main"
DEFAULT_QUEUE = "default"
MOST_WORKFLOWS = 10
MOST_ACTIVITIES = 20
PAGE = 50
LONGEST_PAGE = 1_000


class Nothing(Struct, forbid_unknown_fields=True):
    """An empty object: how some clients write an empty list."""


class StartWorkflow(Struct):
    """Begin a run."""

    workflow_type: str
    workflow_id: str | None = None
    namespace: str | None = None
    input: Raw = NULL
    task_queue: str | None = None

    def operation(self) -> Start:
        """With blank ids counted as absent."""
        id, queue = self.workflow_id, self.task_queue
        return Start(
            type=values.name("workflow_type", self.workflow_type),
            id=None if id is None or not id.strip() else values.name("workflow_id", id),
            namespace=_namespace(self.namespace),
            input=payload_text(self.input),
            queue=DEFAULT_QUEUE if queue is None else values.name("task_queue", queue),
        )


class SendSignal(Struct):
    """Tell a run something."""

    payload: Raw = NULL

    def operation(self, id: str, name: str) -> Signal:
        """Both names come from the path."""
        values.identifier("workflow id", id)
        return Signal(id, values.name("signal name", name), payload_text(self.payload))


class EndWorkflow(Struct):
    """Ask a run to stop, or make it."""

    reason: str | None = None

    def cancel(self, id: str) -> Cancel:
        """Ask."""
        return Cancel(values.identifier("workflow id", id), _text(self.reason))

    def terminate(self, id: str) -> Terminate:
        """Make."""
        return Terminate(values.identifier("workflow id", id), _text(self.reason))


class RetryWorkflow(Struct):
    """Try the last failed activity of a failed run anew."""

    requested_by: str
    reason: str

    def operation(self, id: str) -> Retry:
        """Who asks and why goes into the history."""
        return Retry(
            values.identifier("workflow id", id),
            values.filled("requested_by", self.requested_by),
            values.filled("reason", self.reason),
        )


class Poll(Struct):
    """Ask for a task."""

    queue: str
    worker_id: str
    wait_secs: float | None = None

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
        no = activity_no(id)
        return CompleteActivity(no, payload_text(self.result), self.fence())


class FailTask(Fenced, kw_only=True):
    """An attempt failed."""

    error: str

    def operation(self, id: str) -> FailActivity:
        """Of the activity in the path."""
        return FailActivity(activity_no(id), values.text(self.error), self.fence())


class HeartbeatTask(Fenced, kw_only=True):
    """An attempt is alive."""

    details: Raw = NULL

    def operation(self, id: str) -> HeartbeatActivity:
        """Of the activity in the path."""
        no = activity_no(id)
        return HeartbeatActivity(no, payload_text(self.details), self.fence())


class RegisterWorker(Struct):
    """A worker introduces itself."""

    identity: str
    queue: str
    namespace: str | None = None
    workflows: list[str] | Nothing | None = None
    activities: list[str] | Nothing | None = None
    max_concurrent_workflows: Whole | None = None
    max_concurrent_activities: Whole | None = None

    def __post_init__(self) -> None:
        for field in ("max_concurrent_workflows", "max_concurrent_activities"):
            if (value := getattr(self, field)) is not None:
                setattr(self, field, values.whole(field, value))

    def introduction(self) -> Introduction:
        """What is kept of it, once every value is found good."""
        workflows, activities = self.max_concurrent_workflows, self.max_concurrent_activities
        return Introduction(
            namespace=_namespace(self.namespace),
            identity=values.name("identity", self.identity),
            queue=values.name("queue", self.queue),
            workflows=_names("workflows", self.workflows),
            activities=_names("activities", self.activities),
            max_workflows=MOST_WORKFLOWS
            if workflows is None
            else values.integer("max_concurrent_workflows", workflows),
            max_activities=MOST_ACTIVITIES
            if activities is None
            else values.integer("max_concurrent_activities", activities),
        )


class HeartbeatWorker(Struct):
    """A worker is alive, and names the runs it works on."""

    worker_id: str
    workflow_ids: list[str] | None = None

    def held_runs(self) -> tuple[str, ...]:
        """The runs, once every value is found good."""
        values.name("worker_id", self.worker_id)
        return tuple(values.identifier("workflow_ids", id) for id in self.workflow_ids or ())


class Page(Struct, frozen=True):
    """Which part of a history is asked for. Without a limit: all of it."""

    cursor: int | None = None
    limit: int | None = None
    descending: bool = False


def page(query: Mapping[str, str]) -> Page:
    """The page a query asks for; without any of its parameters, the whole history."""
    limit, cursor, order = query.get("limit"), query.get("cursor"), query.get("order")
    if limit is None and cursor is None and order is None:
        return Page()
    if order not in (None, "asc", "desc"):
        raise BadValue(f"order must be asc or desc, not {order!r}")
    size = PAGE if limit is None else values.integer_text("limit", limit, 1)
    after = None if cursor is None else values.integer_text("cursor", cursor)
    return Page(after, min(size, LONGEST_PAGE), order == "desc")


def activity_no(text: str) -> int:
    """The number of an activity in a path."""
    return values.integer_text("activity id", text)


def _text(value: str | None) -> str | None:
    return None if value is None else values.text(value)


def _namespace(value: str | None) -> str:
    return MAIN if value is None else values.identifier("namespace", value)


def _names(field: str, given: list[str] | Nothing | None) -> str | None:
    if given is None:
        return None
    names = given if isinstance(given, list) else []
    return msgspec.json.encode([values.name(field, name) for name in names]).decode()
