"""Activities as records, and scheduling them from outside of a run's code."""

from assay.errors import NotFound
from assay.model.operations import Added
from assay.server.answer import Answer, answer
from assay.server.call import Call
from assay.wire import values
from assay.wire.records import activity_record, attempt_record
from assay.wire.requests import AddActivity


async def describe(call: Call) -> Answer:
    """Describe an activity."""
    return await _record(call, values.activity_no(call.path[1]))


async def attempts(call: Call) -> Answer:
    """List the failed attempts at an activity.

    In their order, each with its error and, if it came with one, the failure that says more.
    """
    no = values.activity_no(call.path[1])
    found = await call.catalogue.attempts(no)
    if found is None:
        raise NotFound(f"not found: activity {no} not found")
    return answer([attempt_record(attempt) for attempt in found])


async def schedule(call: Call, body: AddActivity) -> Answer:
    """Schedule an activity of a run.

    A seq that the run has already used answers with the activity that has it.
    """
    outcome = await call.perform(body.operation(call.path[1]))
    assert isinstance(outcome, Added)
    return await _record(call, outcome.activity.no, 201)


async def _record(call: Call, no: int, status: int = 200) -> Answer:
    views = await call.reading.activity_views([no])
    if not views:
        raise NotFound(f"not found: activity {no} not found")
    [view] = views
    record = activity_record(view.activity, view.workflow_id, input=view.input, result=view.result)
    return answer(record, status)
