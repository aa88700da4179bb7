"""Namespaces: the tenants."""

from assay.errors import NotFound
from assay.model.operations import DeleteNamespace
from assay.model.states import RunStatus
from assay.model.time import seconds
from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire import values
from assay.wire.requests import CreateNamespace
from assay.wire.tenancy import NamespaceRecord, NamespaceStats

CREATED = Answer(201, b"")


async def create(call: Call, body: CreateNamespace) -> Answer:
    """Create a namespace."""
    await call.perform(body.operation())
    return CREATED


async def list_all(call: Call) -> Answer:
    """List the namespaces.

    By name.
    """
    views = await call.catalogue.namespaces()
    return answer([NamespaceRecord(view.name, seconds(view.created_at)) for view in views])


async def stats(call: Call) -> Answer:
    """Count what a namespace has."""
    name = values.identifier("namespace", call.path[1])
    found = await call.questions.namespace(name)
    if found is None:
        raise NotFound(f"not found: namespace {name}")
    runs = found.runs
    return answer(
        NamespaceStats(
            namespace=name,
            total_workflows=sum(runs.values()),
            running=runs.get(RunStatus.RUNNING, 0),
            pending=runs.get(RunStatus.PENDING, 0),
            completed=runs.get(RunStatus.COMPLETED, 0),
            failed=runs.get(RunStatus.FAILED, 0),
            schedules=found.others.schedules,
            workers=found.others.workers,
        )
    )


async def delete(call: Call) -> Answer:
    """Delete a namespace.

    What is in it stays, and its runs go on; nothing new can be started in it.
    """
    await call.perform(DeleteNamespace(values.identifier("namespace", call.path[1])))
    return EMPTY
