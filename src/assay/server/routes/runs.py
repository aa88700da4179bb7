"""Runs: start, list, look at, signal, cancel, terminate, retry, continue, delete."""

from functools import partial

from assay.errors import NotFound
from assay.model.operations import Continued, DeleteRun, Retried, Started
from assay.model.snapshot import Snapshot
from assay.server.answer import EMPTY, NO_CONTENT, Answer, answer
from assay.server.call import Call
from assay.store.listing import Listing
from assay.wire import answers, values
from assay.wire.describing import described_run
from assay.wire.queries import Hold, Page, RunFilter
from assay.wire.records import activity_record, continued_record, event_record, run_record
from assay.wire.requests import (
    ContinueWorkflow,
    EndWorkflow,
    RetryWorkflow,
    SendSignal,
    StartWorkflow,
)
from assay.wire.snapshots import query_value, run_state


async def start(call: Call, body: StartWorkflow) -> Answer:
    """Start a run.

    With `if_exists: use`, an id that a run of this type has in this namespace answers 200 with that
    run.
    """
    outcome = await call.perform(body.operation())
    assert isinstance(outcome, Started)
    run = outcome.run
    return answer(answers.Started(run.id, run.run_id, run.status), 200 if outcome.existing else 201)


async def list_all(call: Call, asked: RunFilter) -> Answer:
    """List runs.

    Newest first, those that were created at the same moment by id.
    """
    listing = Listing(
        asked.namespace,
        asked.status,
        asked.type,
        asked.claimed_by,
        limit=asked.limit,
        offset=asked.offset,
    )
    views = await call.questions.runs(listing, asked.attributes())
    return answer([run_record(view.run, view.input, view.result) for view in views])


async def describe(call: Call) -> Answer:
    """Describe a run."""
    id = values.identifier("workflow id", call.path[1])
    found = await call.questions.describe(id)
    if found is None:
        raise NotFound(f"not found: workflow {id}")
    view = found.view
    return answer(described_run(view.run, view.input, view.result, found.waiting_for))


async def result(call: Call, asked: Hold) -> Answer:
    """Wait for the result of a run.

    Runs that it continued as are followed. 200 with the last of them once it has ended; 202 with
    it as it stands when the time is up.
    """
    id = values.identifier("workflow id", call.path[1])
    look, door = partial(call.door.runner.result, id), call.door
    view = None
    if asked.wait_secs > 0 and not door.stopping:
        view = await call.hold(partial(look, asked.wait_secs))
    if view is None and (asked.wait_secs == 0 or door.stopping):
        view = await look(0)
    if view is None:
        raise NotFound(f"not found: workflow {id}")
    return answer(run_record(view.run, view.input, view.result), 202 if view.run.is_open else 200)


async def events(call: Call, asked: Page) -> Answer:
    """Read the history of a run.

    All of it without parameters, else a page.
    """
    id = values.identifier("workflow id", call.path[1])
    lines = await call.reading.events(
        id, cursor=asked.cursor, limit=asked.size, descending=asked.descending
    )
    return answer([event_record(line, id) for line in lines])


async def children(call: Call) -> Answer:
    """List the children of a run.

    Oldest first, those included that continued as new.
    """
    views = await call.catalogue.children(values.identifier("workflow id", call.path[1]))
    return answer([run_record(view.run, view.input, view.result) for view in views])


async def state(call: Call) -> Answer:
    """Get what the queries of a run answer.

    As of its newest snapshot.
    """
    return answer(run_state(await _snapshot(call)))


async def state_of(call: Call) -> Answer:
    """Get what one query of a run answers.

    As of its newest snapshot.
    """
    name = call.path[3]
    values.unicode("query name", name)
    found = query_value(await _snapshot(call), name)
    if found is None:
        raise NotFound(f"not found: query '{name}' for workflow {call.path[1]}")
    return answer(found)


async def signal(call: Call, body: SendSignal) -> Answer:
    """Send a signal to a run."""
    await call.perform(body.operation(call.path[1], call.path[3]))
    return EMPTY


async def cancel(call: Call, body: EndWorkflow) -> Answer:
    """Ask a run to stop.

    Its code may clean up first; its children are asked too.
    """
    await call.perform(body.cancel(call.path[1]))
    return EMPTY


async def terminate(call: Call, body: EndWorkflow) -> Answer:
    """Stop a run at once.

    It fails without a chance to clean up; its children go on.
    """
    await call.perform(body.terminate(call.path[1]))
    return EMPTY


async def retry(call: Call, body: RetryWorkflow) -> Answer:
    """Retry a failed run from its last failed activity."""
    outcome = await call.perform(body.operation(call.path[1]))
    assert isinstance(outcome, Retried)
    run, activity = outcome.run, outcome.activity
    [view] = await call.reading.activity_views([activity.no])
    record = activity_record(activity, run.id, input=view.input, result=None)
    return answer(answers.Retried(run.id, run.status, record, outcome.invalidated))


async def continue_as_new(call: Call, body: ContinueWorkflow) -> Answer:
    """Continue a run as a new one.

    The successor has the same type, namespace, queue and search attributes, and a fresh history.
    """
    outcome = await call.perform(body.operation(call.path[1]))
    assert isinstance(outcome, Continued)
    return answer(continued_record(outcome.run, outcome.input), 201)


async def delete(call: Call) -> Answer:
    """Delete a run that has ended."""
    await call.perform(DeleteRun(values.identifier("workflow id", call.path[1])))
    return NO_CONTENT


async def _snapshot(call: Call) -> Snapshot:
    id = values.identifier("workflow id", call.path[1])
    snapshot = await call.catalogue.snapshot(id)
    if snapshot is None:
        raise NotFound(f"not found: state for workflow {id}")
    return snapshot
