"""The blocking twin of `assay.sdk.client.workers`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from assay.sdk.client import workers as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import WorkerRecord


class Workers:
    """Who polls."""

    def __init__(self, portal: Portal, twin: awaited.Workers) -> None:
        self._portal = portal
        self._twin = twin

    def list(self, *, namespace: str | None = None) -> list[WorkerRecord]:
        """The living workers of a namespace, in the order in which they registered."""
        return self._portal.call(self._twin.list(namespace=namespace))
