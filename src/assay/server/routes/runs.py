"""Runs: start, describe, events, signal, cancel, terminate, operator retry."""

from assay.errors import NotFound
from assay.model.operations import Retried, Started
from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire import answers, values
from assay.wire.records import activity_record, event_record, run_record
from assay.wire.requests import EndWorkflow, RetryWorkflow, SendSignal, StartWorkflow, page


async def start(call: Call, body: StartWorkflow) -> Answer:
    """A new run."""
    outcome = await call.perform(body.operation())
    assert isinstance(outcome, Started)
    run = outcome.run
    return answer(answers.Started(run.id, run.run_id, run.status), 201)


async def describe(call: Call) -> Answer:
    """One run."""
    id = values.identifier("workflow id", call.path[1])
    views = await call.reading.run_views([id])
    if not views:
        raise NotFound(f"not found: workflow {id}")
    return answer(run_record(views[0].run, views[0].input, views[0].result))


async def events(call: Call) -> Answer:
    """The history of a run, or a page of it."""
    id = values.identifier("workflow id", call.path[1])
    asked = page(call.query())
    lines = await call.reading.events(
        id, cursor=asked.cursor, limit=asked.limit, descending=asked.descending
    )
    return answer([event_record(line, id) for line in lines])


async def signal(call: Call, body: SendSignal) -> Answer:
    """A run is told something."""
    await call.perform(body.operation(call.path[1], call.path[3]))
    return EMPTY


async def cancel(call: Call, body: EndWorkflow) -> Answer:
    """A run is asked to stop."""
    await call.perform(body.cancel(call.path[1]))
    return EMPTY


async def terminate(call: Call, body: EndWorkflow) -> Answer:
    """A run is stopped."""
    await call.perform(body.terminate(call.path[1]))
    return EMPTY


async def retry(call: Call, body: RetryWorkflow) -> Answer:
    """A failed run is set going again."""
    outcome = await call.perform(body.operation(call.path[1]))
    assert isinstance(outcome, Retried)
    run, activity = outcome.run, outcome.activity
    [view] = await call.reading.activity_views([activity.no])
    record = activity_record(activity, run.id, input=view.input, result=None)
    return answer(answers.Retried(run.id, run.status, record, outcome.invalidated))
