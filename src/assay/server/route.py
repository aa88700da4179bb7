"""A route as the table names it: method and path, what is read, who answers, what is said of it.

What is said is for the description of the interface alone (`server/openapi/`). It stands beside the
handler that it is true of, and is looked at once, at the start.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypedDict, TypeVar, Unpack, overload

from assay.server.answer import Answer
from assay.server.call import Call

Request = TypeVar("Request")
Asked = TypeVar("Asked")
Read_co = TypeVar("Read_co", covariant=True)

Answering = Awaitable[Answer]

_HOLE = re.compile(r"\{(\w+)(:int)?\}")


class ReadsBody(Protocol[Read_co]):
    """How a body becomes a request (see `wire/codec.py`)."""

    @property
    def kind(self) -> type:
        """The definition it is read by."""

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""

    def read(self, data: bytes) -> Read_co:
        """The request, or a refusal."""


class ReadsQuery(Protocol[Read_co]):
    """How a query becomes what is asked for (see `wire/parameters.py`)."""

    @property
    def kind(self) -> type:
        """The definition it is read by."""

    def read(self, query: Mapping[str, list[str]]) -> Read_co:
        """What is asked for, or a refusal."""


class Media(NamedTuple):
    """An answer that is no JSON: its media type, and what it is made of."""

    type: str
    shape: object = str


class Unsaid:
    """Nobody has said yet what a route answers; a test finds it."""


Gives = Mapping[int, object]
"""By status: a record, a list or union of them, `Media`, or None where there is no body."""


class Said(TypedDict, total=False):
    """What else may be said of a route."""

    errors: tuple[int, ...]  # those that not every route has
    heeds: Mapping[str, type]  # the headers that its handler reads, with what they hold


class Route(NamedTuple):
    """One method of one path. `takes` is None where no body is read, `asks` where no query is."""

    method: str
    path: str
    holes: Mapping[str, type]
    handler: Callable[..., Answering]
    answer: Callable[[Call, bytes], Answering]
    takes: ReadsBody[object] | None
    asks: ReadsQuery[object] | None
    gives: Gives
    errors: tuple[int, ...] = ()
    heeds: Mapping[str, type] = MappingProxyType({})


class Resource(NamedTuple):
    """Routes about one thing, under one heading."""

    name: str
    about: str
    routes: tuple[Route, ...]


class Bodiless:
    """Makes routes that read no body."""

    def __init__(self, method: str) -> None:
        self._method = method

    @overload
    def __call__(
        self,
        path: str,
        handler: Callable[[Call], Answering],
        gives: object = Unsaid,
        **said: Unpack[Said],
    ) -> Route: ...

    @overload
    def __call__(
        self,
        path: str,
        handler: Callable[[Call, Asked], Answering],
        gives: object = Unsaid,
        *,
        asks: ReadsQuery[Asked],
        **said: Unpack[Said],
    ) -> Route: ...

    def __call__(
        self,
        path: str,
        handler: Callable[..., Answering],
        gives: object = Unsaid,
        *,
        asks: ReadsQuery[object] | None = None,
        **said: Unpack[Said],
    ) -> Route:
        """What it gives with 200, or by status."""

        def answer(call: Call, _: bytes) -> Answering:
            return handler(call)

        def answer_asked(call: Call, _: bytes) -> Answering:
            assert asks is not None
            return handler(call, asks.read(call.query()))

        plain, holes = _taken_apart(path)
        return Route(
            method=self._method,
            path=plain,
            holes=holes,
            handler=handler,
            answer=answer if asks is None else answer_asked,
            takes=None,
            asks=asks,
            gives=_by_status(gives),
            **said,
        )


class Bodied:
    """Makes routes whose body is read before their handler is called."""

    def __init__(self, method: str) -> None:
        self._method = method

    @overload
    def __call__(
        self,
        path: str,
        handler: Callable[[Call, Request], Answering],
        takes: ReadsBody[Request],
        gives: object = Unsaid,
        **said: Unpack[Said],
    ) -> Route: ...

    @overload
    def __call__(
        self,
        path: str,
        handler: Callable[[Call, Request, Asked], Answering],
        takes: ReadsBody[Request],
        gives: object = Unsaid,
        *,
        asks: ReadsQuery[Asked],
        **said: Unpack[Said],
    ) -> Route: ...

    def __call__(
        self,
        path: str,
        handler: Callable[..., Answering],
        takes: ReadsBody[object],
        gives: object = Unsaid,
        *,
        asks: ReadsQuery[object] | None = None,
        **said: Unpack[Said],
    ) -> Route:
        """The query, where there is one, is read after the body: shapes come before values."""

        def answer(call: Call, data: bytes) -> Answering:
            return handler(call, takes.read(data))

        def answer_asked(call: Call, data: bytes) -> Answering:
            assert asks is not None
            return handler(call, takes.read(data), asks.read(call.query()))

        plain, holes = _taken_apart(path)
        return Route(
            method=self._method,
            path=plain,
            holes=holes,
            handler=handler,
            answer=answer if asks is None else answer_asked,
            takes=takes,
            asks=asks,
            gives=_by_status(gives),
            **said,
        )


get = Bodiless("GET")
delete = Bodiless("DELETE")
post = Bodied("POST")
patch = Bodied("PATCH")


def _taken_apart(path: str) -> tuple[str, Mapping[str, type]]:
    """The path without the types of its holes, and these."""
    holes = {name: int if number else str for name, number in _HOLE.findall(path)}
    return _HOLE.sub(r"{\1}", path), holes


def _by_status(gives: object) -> Gives:
    return gives if isinstance(gives, dict) else {200: gives}
