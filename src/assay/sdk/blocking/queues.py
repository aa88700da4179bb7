"""The blocking twin of `assay.sdk.client.queues`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from assay.sdk.client import queues as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import QueueStats


class Queues:
    """Where activities wait."""

    def __init__(self, portal: Portal, twin: awaited.Queues) -> None:
        self._portal = portal
        self._twin = twin

    def stats(self, *, namespace: str | None = None) -> list[QueueStats]:
        """Each queue of a namespace by name: what waits and runs on it, and who polls it."""
        return self._portal.call(self._twin.stats(namespace=namespace))
