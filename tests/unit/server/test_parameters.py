"""What the description says of parameters is how they are read."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from assay.server.openapi.document import documents
from assay.server.route import Route
from assay.server.routes.table import ROUTES
from tests.unit.server.ear import ask, bodies

PREFIX = "/api/v1"


DOCUMENT: Any = json.loads(documents(ROUTES)[f"{PREFIX}/"])


def parameters(route: Route) -> list[Any]:
    operation = DOCUMENT["paths"][PREFIX + route.path][route.method.lower()]
    return list(operation.get("parameters", []))


def status_of(route: Route, hole: str = "", text: str = "1", query: str = "") -> int:
    """What a route answers where one hole of its path holds that text."""
    path = route.path.replace(hole, text) if hole else route.path
    path = re.sub(r"\{\w+\}", "1", path) + query
    takes = route.takes
    body = {} if takes is None or takes.optional else next(bodies(takes.kind))
    return asyncio.run(ask(path, json.dumps(body).encode(), route.method))[0]


def wrong_texts(schema: Any) -> Iterator[str]:
    if "enum" in schema:
        yield "nonsense"
    if schema.get("type") in ("integer", "number"):
        yield "abc"
        if "minimum" in schema:
            yield str(schema["minimum"] - 1)
        if "maximum" in schema:
            yield str(schema["maximum"] + 1)


def right_texts(schema: Any) -> Iterator[str]:
    yield from schema.get("enum", ())
    if schema.get("type") in ("integer", "number"):
        yield from (f"{schema[bound]}.0" for bound in ("minimum", "maximum") if bound in schema)
        yield str(schema.get("default", schema.get("minimum", 12)))


@pytest.mark.parametrize("route", ROUTES.routes, ids=lambda route: f"{route.method} {route.path}")
def test_parameters_are_read_as_described(route: Route) -> None:
    for parameter in parameters(route):
        name, schema = parameter["name"], parameter["schema"]
        if parameter["in"] == "path":
            number = schema["type"] == "integer"
            assert (status_of(route, f"{{{name}}}", "abc") == 400) == number, name
            assert status_of(route, f"{{{name}}}", "12.0") != 400, name
        elif parameter["in"] == "query":
            for text in wrong_texts(schema):
                assert status_of(route, query=f"?{name}={text}") == 400, (name, text)
            for text in right_texts(schema):
                assert status_of(route, query=f"?{name}={text}") != 400, (name, text)
