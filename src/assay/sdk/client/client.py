"""The client: a connection to an engine, and the groups of calls that go over it."""

from types import TracebackType
from typing import Self

from assay.sdk.client.api_keys import ApiKeys
from assay.sdk.client.calls import OK, Calls
from assay.sdk.client.namespaces import Namespaces
from assay.sdk.client.queues import Queues
from assay.sdk.client.schedules import Schedules
from assay.sdk.client.serving import Serving
from assay.sdk.client.workers import Workers
from assay.sdk.client.workflows import Workflows
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.faults import refusal
from assay.sdk.http import HttpTransport
from assay.sdk.retrying import Retrying
from assay.sdk.transport import Transport

GREETING_PATIENCE_SECS = 2.0
GREETING_SECS = 10.0


class Client(Serving):
    """An engine as its users see it. Close it, or use it with `async with`."""

    def __init__(
        self, transport: Transport, *, namespace: str = "main", codec: Codec = DEFAULT
    ) -> None:
        calls = Calls(transport, namespace, codec)
        super().__init__(calls)
        self.workflows = Workflows(calls)
        self.schedules = Schedules(calls)
        self.namespaces = Namespaces(calls)
        self.workers = Workers(calls)
        self.queues = Queues(calls)
        self.api_keys = ApiKeys(calls)

    @property
    def transport(self) -> Transport:
        """The way to the engine."""
        return self._calls.transport

    @property
    def namespace(self) -> str:
        """The namespace of calls that name none."""
        return self._calls.namespace

    @property
    def codec(self) -> Codec:
        """What writes and reads the values of users."""
        return self._calls.codec

    async def close(self) -> None:
        """End it. Its workers hand back what they have, calls under way fail, nothing is left."""
        await self._end_workers()
        await self._calls.exchanging.close()
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def connect(
    url: str, token: str | None = None, namespace: str = "main", *, codec: Codec = DEFAULT
) -> Client:
    """A client of the engine at a URL, which must answer that it is well.

    One slash at the end of the URL is left out. The engine is asked once: whoever waits for one to
    come up repeats this call.
    """
    transport = HttpTransport(url, token)
    try:
        await _greet(transport)
    except BaseException:
        await transport.close()
        raise
    return Client(transport, namespace=namespace, codec=codec)


async def _greet(transport: Transport) -> None:
    """An engine that was started a moment ago is waited for."""
    patient = Retrying(transport, patience_secs=GREETING_PATIENCE_SECS)
    reply = await patient.request("GET", "/health", secs=GREETING_SECS)
    if reply.status != OK:
        raise refusal(reply.status, reply.body)
