"""Whether the server lives, what it is, and whether it takes work."""

import assay
from assay.errors import EngineStopped
from assay.server.answer import EMPTY, Answer, answer
from assay.server.call import Call
from assay.wire.answers import Health, Version

HEALTHY = answer(Health())


async def health(_: Call) -> Answer:
    """The process answers."""
    return HEALTHY


async def version(call: Call) -> Answer:
    """Which code runs."""
    return answer(Version(assay.__version__, call.door.settings.build_profile))


async def ready(call: Call) -> Answer:
    """It takes work, and its database answers."""
    runner = call.door.runner
    if not runner.ready or call.door.stopping:
        raise EngineStopped
    if not await runner.store.is_alive():
        raise EngineStopped("the database does not answer")
    return EMPTY
