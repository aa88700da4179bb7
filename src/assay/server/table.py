"""The route table: what a path and a method lead to.

Even segments of a path are literals; an odd one holds an id unless the whole path is literal. So a
look-up is one or two dictionary reads, and a run called `poll` is reached like any other. Keys are
segments, never joined: a `/` or a `{}` that a segment holds once it is decoded belongs to an id.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Literal
from urllib.parse import unquote_to_bytes

from assay.server.problems import unknown_route, wrong_method
from assay.server.route import Resource, Route

PREFIXES = ("/api/v1/engine/workflow/", "/api/v1/")  # the longer one first


class Hole(Enum):
    """The place of an id in a key; no segment of any path equals it."""

    HOLE = 0


Key = tuple[str | Literal[Hole.HOLE], ...]


class Table:
    """Routes by path and method."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self.resources = tuple(resources)
        self.routes = tuple(route for resource in self.resources for route in resource.routes)
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
