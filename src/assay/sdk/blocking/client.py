"""The blocking twin of `assay.sdk.client.client`.

Generated: change that file, then run scripts/generate_blocking.py.
"""

from types import TracebackType
from typing import Self

from assay.sdk.blocking.api_keys import ApiKeys
from assay.sdk.blocking.namespaces import Namespaces
from assay.sdk.blocking.queues import Queues
from assay.sdk.blocking.schedules import Schedules
from assay.sdk.blocking.serving import Serving
from assay.sdk.blocking.workers import Workers
from assay.sdk.blocking.workflows import Workflows
from assay.sdk.client import client as awaited
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.portal import Portal
from assay.sdk.transport import Transport


class Client(Serving):
    """An engine as its users see it. Close it, or use it with `with`."""

    _twin: awaited.Client

    def __init__(self, portal: Portal, twin: awaited.Client) -> None:
        super().__init__(portal, twin)
        self.workflows = Workflows(portal, twin.workflows)
        self.schedules = Schedules(portal, twin.schedules)
        self.namespaces = Namespaces(portal, twin.namespaces)
        self.workers = Workers(portal, twin.workers)
        self.queues = Queues(portal, twin.queues)
        self.api_keys = ApiKeys(portal, twin.api_keys)

    @property
    def transport(self) -> Transport:
        """The way to the engine."""
        return self._twin.transport

    @property
    def namespace(self) -> str:
        """The namespace of calls that name none."""
        return self._twin.namespace

    @property
    def codec(self) -> Codec:
        """What writes and reads the values of users."""
        return self._twin.codec

    def close(self) -> None:
        """End it. Its workers hand back what they have, calls under way fail, nothing is left."""
        self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    url: str, token: str | None = None, namespace: str = "main", *, codec: Codec = DEFAULT
) -> Client:
    """A client of the engine at a URL, which must answer that it is well.

    One slash at the end of the URL is left out. The engine is asked once: whoever waits for one to
    come up repeats this call.
    """
    portal = Portal()
    return Client(portal, portal.open(lambda: awaited.connect(url, token, namespace, codec=codec)))
