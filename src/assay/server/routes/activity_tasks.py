"""Activity tasks: poll, complete, fail, heartbeat."""

from functools import partial

from assay.engine.wants import Grant
from assay.errors import NotFound
from assay.model.activity import Activity
from assay.model.ids import claim_token
from assay.model.operations import CompleteActivity, FailActivity, Heard, Reported
from assay.model.task import TaskKind
from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.store.port import Reads
from assay.wire import answers
from assay.wire.records import activity_record, encode
from assay.wire.requests import CompleteTask, FailTask, HeartbeatTask, Poll
from assay.wire.tasks import NO_ACTIVITY_TASK

NO_TASK = Answer(200, NO_ACTIVITY_TASK)


async def poll(call: Call, body: Poll) -> Answer:
    """Claim the next activity of a queue.

    Held for up to `wait_secs`; `{"task": null}` when there is none.
    """
    grant = await call.poll(TaskKind.ACTIVITY, body)
    if grant is None:
        return NO_TASK
    return await call.hand_over(grant, partial(_task, call.reading))


async def complete(call: Call, body: CompleteTask) -> Answer:
    """Report that an attempt succeeded."""
    return await _reported(call, body.operation(call.path[1]))


async def fail(call: Call, body: FailTask) -> Answer:
    """Report that an attempt failed.

    It is tried again if attempts are left.
    """
    return await _reported(call, body.operation(call.path[1]))


async def heartbeat(call: Call, body: HeartbeatTask) -> Answer:
    """Report that an attempt is alive.

    The answer says whether it is still wanted.
    """
    outcome = await call.perform(body.operation(call.path[1]))
    assert isinstance(outcome, Heard)
    await call.seen(outcome.by)
    return answer(answers.Heard(outcome.cancel_requested))


async def _reported(call: Call, operation: CompleteActivity | FailActivity) -> Answer:
    """Whose attempt it was is alive, also when the report has no fence."""
    outcome = await call.perform(operation)
    assert isinstance(outcome, Reported)
    await call.seen(outcome.by)
    return EMPTY


async def _task(reading: Reads, grant: Grant) -> bytes:
    """The record as it stands after the claim; only its input has to be looked up."""
    activity = grant.row
    assert isinstance(activity, Activity)
    view = grant.view
    if view is None:
        views = await reading.activity_views([activity.no])
        if not views:
            raise NotFound(f"not found: activity {activity.no} not found")
        [view] = views
    token = claim_token(grant.claim.token)
    return encode(
        activity_record(activity, view.workflow_id, input=view.input, result=None, token=token)
    )
