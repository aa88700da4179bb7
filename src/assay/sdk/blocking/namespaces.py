"""The blocking twin of `assay.sdk.client.namespaces`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from assay.sdk.client import namespaces as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import NamespaceRecord, NamespaceStats


class Namespaces:
    """The tenants of an engine."""

    def __init__(self, portal: Portal, twin: awaited.Namespaces) -> None:
        self._portal = portal
        self._twin = twin

    def create(self, name: str) -> None:
        """Make a namespace; `Conflict` if there is one of that name."""
        self._portal.call(self._twin.create(name))

    def list(self) -> list[NamespaceRecord]:
        """All namespaces by name, `main` included."""
        return self._portal.call(self._twin.list())

    def stats(self, name: str) -> NamespaceStats | None:
        """How much a namespace has; None if there is none of that name."""
        return self._portal.call(self._twin.stats(name))

    def describe(self, name: str) -> NamespaceStats | None:
        """The same as `stats`."""
        return self._portal.call(self._twin.describe(name))

    def delete(self, name: str) -> None:
        """Delete a namespace, and nothing that is in it: its runs go on."""
        self._portal.call(self._twin.delete(name))
