"""Workflow tasks: poll, and the commands that come back."""

import contextlib
from functools import partial

from assay.engine.wants import Grant
from assay.errors import Refusal
from assay.model.run import Run
from assay.model.task import TaskKind
from assay.server.answer import EMPTY, Answer
from assay.server.call import Call
from assay.store.port import Reads
from assay.wire.batches import CommandBatch, UnreadBatch
from assay.wire.requests import Poll
from assay.wire.tasks import NO_WORKFLOW_TASK, workflow_task

NO_TASK = Answer(200, NO_WORKFLOW_TASK)


async def poll(call: Call, body: Poll) -> Answer:
    """Claim the next run of a queue that has news.

    Held for up to `wait_secs`; `null` when there is none.
    """
    grant = await call.poll(TaskKind.WORKFLOW, body)
    if grant is None:
        return NO_TASK
    return await call.hand_over(grant, partial(_task, call.reading))


async def submit(call: Call, body: CommandBatch | UnreadBatch) -> Answer:
    """Submit the commands of a replay.

    All of them are applied in order and the claim is released, or none. A batch that is refused for
    its content shows in the run as `blocked`.
    """
    sender = body.sender(call.path[1])
    await call.seen(sender.worker_id)
    try:
        commands = body.checked()
    except Refusal as refusal:
        with contextlib.suppress(Refusal):
            await call.perform(sender.rejection(refusal))
        raise
    await call.perform(sender.submission(commands, body.places()))
    return EMPTY


async def _task(reading: Reads, grant: Grant) -> bytes:
    run = grant.row
    assert isinstance(run, Run)
    lines = await reading.histories([run.no])
    # What has come since the claim comes with the next one: a batch answers what was claimed.
    history = [line for line in lines if line.seq <= run.last_seq]
    return workflow_task(run, grant.claim.token, history)
