# ruff: noqa: FBT001, FBT002 - the contract's signature
"""The blocking twin of `assay.sdk.client.api_keys`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from assay.sdk.client import api_keys as awaited
from assay.sdk.portal import Portal
from assay.sdk.records import KeyRecord, NewKey


class ApiKeys:
    """The keys that open an engine."""

    def __init__(self, portal: Portal, twin: awaited.ApiKeys) -> None:
        self._portal = portal
        self._twin = twin

    def generate(self, label: str | None = None, idempotent: bool = False) -> NewKey:
        """Make a key; `plaintext` in the answer is shown this one time only.

        With `idempotent`, a label that has a key already makes none: its record is the answer,
        without the plaintext. Never sent again after a lost answer, which would lose the key.
        """
        return self._portal.call(self._twin.generate(label, idempotent))

    def list(self) -> list[KeyRecord]:
        """All keys, the newest first."""
        return self._portal.call(self._twin.list())

    def delete(self, prefix: str) -> bool:
        """Revoke every key with that prefix, its three dots included; False if there is none."""
        return self._portal.call(self._twin.delete(prefix))
