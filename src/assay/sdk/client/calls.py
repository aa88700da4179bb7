"""What all groups of calls share: how a request is written, and what becomes of its answer."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

import msgspec

from assay.errors import UsageFault
from assay.sdk.client.exchanging import Exchanging
from assay.sdk.convert import Codec
from assay.sdk.faults import ClientFault, NotFound, refusal
from assay.sdk.retrying import Retrying
from assay.sdk.transport import ANSWER_SECS, Reply, Transport

OK, CREATED, NO_CONTENT, ACCEPTED = 200, 201, 204, 202
NOTHING: Mapping[str, object] = {}

Record = TypeVar("Record")


class Calls:
    """Requests of one client. The kind of a record is what its type is called, and not checked."""

    def __init__(self, transport: Transport, namespace: str, codec: Codec) -> None:
        self.transport = transport
        self.namespace = namespace
        self.codec = codec
        self.exchanging = Exchanging(transport)
        self._retrying = Retrying(transport)

    async def get(self, kind: type[Record], path: str) -> Record:
        """The record at a path."""
        return cast("Record", parsed(await self.ask("GET", path, expect=(OK,))))

    async def find(self, kind: type[Record], path: str) -> Record | None:
        """The record at a path, or None if there is none."""
        try:
            return await self.get(kind, path)
        except NotFound:
            return None

    async def send(
        self,
        kind: type[Record],
        path: str,
        fields: Mapping[str, object] = NOTHING,
        *,
        method: str = "POST",
        expect: tuple[int, ...] = (OK,),
        repeatable: bool = False,
    ) -> Record:
        """Change something; the record that the engine answers with."""
        reply = await self.ask(method, path, fields, expect=expect, repeatable=repeatable)
        return cast("Record", parsed(reply))

    async def ask(
        self,
        method: str,
        path: str,
        fields: Mapping[str, object] = NOTHING,
        *,
        expect: tuple[int, ...],
        repeatable: bool = False,
        secs: float = ANSWER_SECS,
    ) -> Reply:
        """An answer with one of the statuses expected; fields that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        body = msgspec.json.encode(given) if given else None
        reply = await self._retrying.request(method, path, body, secs=secs, repeatable=repeatable)
        if reply.status not in expect:
            raise refusal(reply.status, reply.body)
        return reply

    def payload(self, value: object) -> msgspec.Raw | None:
        """A value of the user's as it goes into a body."""
        return None if value is None else msgspec.Raw(self.codec.encode(value))

    def scope(self, namespace: str | None) -> str:
        """The namespace meant."""
        return self.namespace if namespace is None else namespace


def at(*parts: str, **query: object) -> str:
    """A path with its query, percent-encoded; parameters that are None are left out."""
    path = "/" + "/".join([quote(part, safe="") for part in parts])
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given, quote_via=quote, safe='')}" if given else path


def type_name(workflow_type: str | Callable[..., object]) -> str:
    """The name of a workflow: itself, or the one that its function was decorated with."""
    name = getattr(workflow_type, "__assay_name__", workflow_type)
    if not isinstance(name, str):
        raise UsageFault(f"a workflow is a name or a decorated function, not {workflow_type!r}")
    return name


def parsed(reply: Reply) -> Any:
    """The JSON of an answer."""
    try:
        return msgspec.json.decode(reply.body)
    except msgspec.DecodeError as error:
        raise ClientFault(f"the answer is not JSON: {error}") from error
