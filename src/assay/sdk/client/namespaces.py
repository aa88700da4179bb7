"""Namespaces: made, listed, counted, deleted."""

from assay.sdk.client.calls import CREATED, OK, Calls, at
from assay.sdk.records import NamespaceRecord, NamespaceStats


class Namespaces:
    """The tenants of an engine."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create(self, name: str) -> None:
        """Make a namespace; `Conflict` if there is one of that name."""
        await self._calls.ask("POST", at("namespaces"), {"name": name}, expect=(CREATED,))

    async def list(self) -> list[NamespaceRecord]:
        """All namespaces by name, `main` included."""
        return await self._calls.get(list[NamespaceRecord], at("namespaces"))

    async def stats(self, name: str) -> NamespaceStats | None:
        """How much a namespace has; None if there is none of that name."""
        return await self._calls.find(NamespaceStats, at("namespaces", name))

    async def describe(self, name: str) -> NamespaceStats | None:
        """The same as `stats`."""
        return await self.stats(name)

    async def delete(self, name: str) -> None:
        """Delete a namespace, and nothing that is in it: its runs go on."""
        await self._calls.ask("DELETE", at("namespaces", name), expect=(OK,))
