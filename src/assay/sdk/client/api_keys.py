"""API keys: made, listed, revoked."""

from assay.sdk.client.calls import CREATED, NO_CONTENT, OK, Calls, at
from assay.sdk.faults import NotFound
from assay.sdk.records import KeyRecord, NewKey


class ApiKeys:
    """The keys that open an engine."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def generate(self, label: str | None = None, idempotent: bool = False) -> NewKey:  # noqa: FBT001, FBT002 - the contract's signature
        """Make a key; `plaintext` in the answer is shown this one time only.

        With `idempotent`, a label that has a key already makes none: its record is the answer,
        without the plaintext. Never sent again after a lost answer, which would lose the key.
        """
        fields = {"label": label, "idempotent": True if idempotent else None}
        return await self._calls.send(NewKey, at("api-keys"), fields, expect=(OK, CREATED))

    async def list(self) -> list[KeyRecord]:
        """All keys, the newest first."""
        return await self._calls.get(list[KeyRecord], at("api-keys"))

    async def delete(self, prefix: str) -> bool:
        """Revoke every key with that prefix, its three dots included; False if there is none."""
        try:
            await self._calls.ask("DELETE", at("api-keys", prefix), expect=(NO_CONTENT,))
        except NotFound:
            return False
        return True
