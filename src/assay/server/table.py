"""The route table: what a path and a method lead to.

Even segments of a path are literals; an odd one holds an id unless the whole path is literal. So a
look-up is one or two dictionary reads, and a run called `poll` is reached like any other. Keys are
segments, never joined: a `/` or a `{}` that a segment holds once it is decoded belongs to an id.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum
from typing import Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from assay.server.answer import Answer
from assay.server.call import Call
from assay.server.problems import unknown_route, wrong_method

PREFIXES = ("/api/v1/engine/workflow/", "/api/v1/")  # the longer one first


class Hole(Enum):
    """The place of an id in a key; no segment of any path equals it."""

    HOLE = 0


Key = tuple[str | Literal[Hole.HOLE], ...]
Request = TypeVar("Request")
Read_co = TypeVar("Read_co", covariant=True)


class Reads(Protocol[Read_co]):
    """How a body becomes a request (see `wire/codec.py`)."""

    @property
    def kind(self) -> type:
        """The definition it is read by."""

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""

    def read(self, data: bytes) -> Read_co:
        """The request, or a refusal."""


class Route(NamedTuple):
    """One method of one path. `takes` is None where no body is read."""

    method: str
    path: str
    takes: Reads[object] | None
    answer: Callable[[Call, bytes], Awaitable[Answer]]


def get(path: str, handler: Callable[[Call], Awaitable[Answer]]) -> Route:
    """A route that reads no body."""
    return Route("GET", path, None, lambda call, _: handler(call))


def post(
    path: str, handler: Callable[[Call, Request], Awaitable[Answer]], takes: Reads[Request]
) -> Route:
    """A route whose body is read before its handler is called."""
    return Route("POST", path, takes, lambda call, data: handler(call, takes.read(data)))


class Table:
    """Routes by path and method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._routes: dict[Key, dict[str, Route]] = {}
        for route in self.routes:
            segments = route.path.strip("/").split("/")
            key: Key = tuple(Hole.HOLE if segment[0] == "{" else segment for segment in segments)
            assert Hole.HOLE not in key[::2], route.path
            assert route.method not in self._routes.setdefault(key, {}), route.path
            self._routes[key][route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, list[str]]:
        """The route, and the segments of the path, decoded once each."""
        path = raw_path.decode("latin-1")
        for prefix in PREFIXES:
            if path.startswith(prefix):
                segments = path[len(prefix) :].split("/")
                break
        else:
            raise unknown_route(path)
        if "%" in path:
            segments = [_decoded(segment) for segment in segments]
        methods = self._methods(segments)
        if methods is None:
            raise unknown_route(path)
        route = methods.get(method)
        if route is None:
            raise wrong_method(method, methods)
        return route, segments

    def _methods(self, segments: list[str]) -> Mapping[str, Route] | None:
        literal = self._routes.get(tuple(segments))
        if literal is not None:
            return literal
        if "" in segments:
            return None
        key = list[str | Literal[Hole.HOLE]](segments)
        key[1::2] = [Hole.HOLE] * (len(segments) // 2)
        return self._routes.get(tuple(key))


def _decoded(segment: str) -> str:
    """Bytes that are no UTF-8 stay as surrogates, which `wire/values.py` refuses as a value."""
    return unquote_to_bytes(segment).decode("utf-8", "surrogateescape")
