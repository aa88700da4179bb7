"""Workers: listed."""

from assay.sdk.client.calls import Calls, at
from assay.sdk.records import WorkerRecord


class Workers:
    """Who polls."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self, *, namespace: str | None = None) -> list[WorkerRecord]:
        """The living workers of a namespace, in the order in which they registered."""
        path = at("workers", namespace=self._calls.scope(namespace))
        return await self._calls.get(list[WorkerRecord], path)
