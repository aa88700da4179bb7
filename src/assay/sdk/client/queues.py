"""Queues: counted."""

from assay.sdk.client.calls import Calls, at
from assay.sdk.records import QueueStats


class Queues:
    """Where activities wait."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def stats(self, *, namespace: str | None = None) -> list[QueueStats]:
        """Each queue of a namespace by name: what waits and runs on it, and who polls it."""
        path = at("queues", namespace=self._calls.scope(namespace))
        return await self._calls.get(list[QueueStats], path)
