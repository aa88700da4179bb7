"""Queues: where activities wait."""

from assay.server.answer import Answer, answer
from assay.server.call import Call
from assay.wire.queries import Scope
from assay.wire.tenancy import QueueStats


async def list_all(call: Call, asked: Scope) -> Answer:
    """List the queues of a namespace.

    By name: every queue that an activity of its runs names or a living worker polls.
    """
    views = await call.questions.queues(asked.namespace)
    return answer(
        [QueueStats(view.queue, view.pending, view.running, view.workers) for view in views]
    )
