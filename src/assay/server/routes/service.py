"""Whether the server lives, what it is, and whether it takes work."""

import assay
from assay.errors import EngineStopped
from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire.answers import Health, Version

STARTING = "the engine is starting"
HEALTHY = answer(Health("ok", "assay-workflow"))


async def health(_: Call) -> Answer:
    """Tell that the process answers."""
    return HEALTHY


async def version(call: Call) -> Answer:
    """Tell which code runs."""
    return answer(Version(assay.__version__, call.door.settings.build_profile))


async def ready(call: Call) -> Answer:
    """Tell whether work is taken and the database answers."""
    runner = call.door.runner
    if call.door.stopping:
        raise EngineStopped
    if not runner.ready:
        raise EngineStopped(STARTING)
    if not await runner.store.is_alive():
        raise EngineStopped("the database does not answer")
    return EMPTY
