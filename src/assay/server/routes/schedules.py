"""Schedules: create, list, describe, patch, pause, resume, delete."""

from assay.errors import NotFound
from assay.model.operations import (
    DeleteSchedule,
    Operation,
    PauseSchedule,
    Planned,
    ResumeSchedule,
)
from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire import values
from assay.wire.queries import Scope
from assay.wire.records import schedule_record
from assay.wire.requests import CreateSchedule, NoFields, PatchSchedule


async def create(call: Call, body: CreateSchedule) -> Answer:
    """Create a schedule."""
    return await _planned(call, body.operation(), 201)


async def list_all(call: Call, asked: Scope) -> Answer:
    """List the schedules of a namespace.

    By name.
    """
    schedules = await call.catalogue.schedules(asked.namespace)
    return answer([schedule_record(schedule) for schedule in schedules])


async def describe(call: Call, asked: Scope) -> Answer:
    """Describe a schedule."""
    namespace, name = _named(call, asked)
    schedule = await call.catalogue.schedule(namespace, name)
    if schedule is None:
        raise NotFound(f"not found: schedule {name}")
    return answer(schedule_record(schedule))


async def patch(call: Call, body: PatchSchedule, asked: Scope) -> Answer:
    """Change a schedule.

    What is absent stays; a new expression or time zone counts from now.
    """
    return await _planned(call, body.operation(asked.namespace, call.path[1]))


async def pause(call: Call, _: NoFields, asked: Scope) -> Answer:
    """Pause a schedule.

    It starts nothing until it is resumed.
    """
    return await _planned(call, PauseSchedule(*_named(call, asked)))


async def resume(call: Call, _: NoFields, asked: Scope) -> Answer:
    """Resume a schedule.

    It goes on from now; what it has missed stays missed.
    """
    return await _planned(call, ResumeSchedule(*_named(call, asked)))


async def delete(call: Call, asked: Scope) -> Answer:
    """Delete a schedule.

    Its runs go on.
    """
    await call.perform(DeleteSchedule(*_named(call, asked)))
    return EMPTY


async def _planned(call: Call, operation: Operation, status: int = 200) -> Answer:
    outcome = await call.perform(operation)
    assert isinstance(outcome, Planned)
    return answer(schedule_record(outcome.schedule), status)


def _named(call: Call, asked: Scope) -> tuple[str, str]:
    return asked.namespace, values.identifier("schedule name", call.path[1])
