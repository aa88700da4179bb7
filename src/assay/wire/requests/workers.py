"""Workers: how one introduces itself and shows that it is alive."""

from typing import Annotated

import msgspec
from msgspec import Struct

from assay.model.worker import Introduction
from assay.wire import values
from assay.wire.fields import Name, Namespace, Nothing, Whole, said

MOST_WORKFLOWS = 10
MOST_ACTIVITIES = 20


class RegisterWorker(Struct):
    """A worker introduces itself."""

    identity: Name
    queue: Name
    namespace: Namespace | None = None
    workflows: list[Name] | Nothing | None = None
    activities: list[Name] | Nothing | None = None
    max_concurrent_workflows: Annotated[Whole, said(default=MOST_WORKFLOWS)] | None = None
    max_concurrent_activities: Annotated[Whole, said(default=MOST_ACTIVITIES)] | None = None

    def __post_init__(self) -> None:
        for field in ("max_concurrent_workflows", "max_concurrent_activities"):
            if (value := getattr(self, field)) is not None:
                setattr(self, field, values.whole(field, value))

    def introduction(self) -> Introduction:
        """What is kept of it, once every value is found good."""
        workflows, activities = self.max_concurrent_workflows, self.max_concurrent_activities
        return Introduction(
            namespace=values.namespace(self.namespace),
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

    worker_id: Name
    workflow_ids: list[str] | None = None

    def held_runs(self) -> tuple[str, ...]:
        """The runs, once every value is found good."""
        values.name("worker_id", self.worker_id)
        return tuple(values.identifier("workflow_ids", id) for id in self.workflow_ids or ())


def _names(field: str, given: list[str] | Nothing | None) -> str | None:
    if given is None:
        return None
    names = given if isinstance(given, list) else []
    return msgspec.json.encode([values.name(field, name) for name in names]).decode()
