"""Workers: register, heartbeat."""

from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire import answers
from assay.wire.requests import HeartbeatWorker, RegisterWorker


async def register(call: Call, body: RegisterWorker) -> Answer:
    """A worker introduces itself and gets an id, new each time."""
    return answer(answers.Registered(await call.door.runner.register(body.introduction())))


async def heartbeat(call: Call, body: HeartbeatWorker) -> Answer:
    """A worker is alive; the leases of the runs it names are renewed."""
    held_runs = body.held_runs()
    await call.door.runner.heartbeat(body.worker_id, held_runs)
    return EMPTY
