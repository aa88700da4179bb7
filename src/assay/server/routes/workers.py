"""Workers: register, heartbeat, list."""

from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire import answers
from assay.wire.queries import Scope
from assay.wire.requests import HeartbeatWorker, RegisterWorker
from assay.wire.tenancy import worker_record


async def register(call: Call, body: RegisterWorker) -> Answer:
    """Register a worker.

    The id is new each time.
    """
    return answer(answers.Registered(await call.door.runner.register(body.introduction())))


async def heartbeat(call: Call, body: HeartbeatWorker) -> Answer:
    """Report that a worker is alive.

    Its leases of the runs that it names are renewed.
    """
    held_runs = body.held_runs()
    await call.door.runner.heartbeat(body.worker_id, held_runs)
    return EMPTY


async def list_all(call: Call, asked: Scope) -> Answer:
    """List the living workers of a namespace.

    In the order in which they registered. Who was silent for 90 seconds is left out.
    """
    views = await call.questions.workers(asked.namespace)
    return answer([worker_record(view.worker, view.active_tasks) for view in views])
