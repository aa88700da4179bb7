"""The description says of every route what it reads and what it answers, as generators need it."""

import ast
import inspect
import json
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from assay.server import routes
from assay.server.openapi.document import TITLE, documents
from assay.server.openapi.errors import ERRORS
from assay.server.openapi.operations import operation_id
from assay.server.problems import STATUSES
from assay.server.route import Resource, Route, Unsaid
from assay.server.routes.table import ROUTES
from assay.server.table import PREFIXES

TABLE = "server/routes/table.py"
EVERY_ROUTE = pytest.mark.parametrize(
    ("resource", "route"),
    [
        pytest.param(resource, route, id=f"{route.method} {route.path}")
        for resource in ROUTES.resources
        for route in resource.routes
    ],
)


CONTRACT = """
GET /health /ready /version /openapi.json /docs /events/stream
GET /workflows /workflows/{id} /workflows/{id}/events /workflows/{id}/children
GET /workflows/{id}/state /workflows/{id}/state/{name} /workflows/{id}/result
GET /activities/{id} /schedules /schedules/{name} /namespaces /namespaces/{name} /workers /queues
POST /workflows /workflows/{id}/signal/{name} /workflows/{id}/cancel /workflows/{id}/terminate
POST /workflows/{id}/continue-as-new /workflows/{id}/retry /workflows/{id}/activities
POST /tasks/poll /tasks/{id}/complete /tasks/{id}/fail /tasks/{id}/heartbeat
POST /workflow-tasks/poll /workflow-tasks/{workflow_id}/commands
POST /schedules /schedules/{name}/pause /schedules/{name}/resume /namespaces
POST /workers/register /workers/heartbeat
PATCH /schedules/{name}
DELETE /workflows/{id} /schedules/{name} /namespaces/{name}
"""


@cache
def document(prefix: str = PREFIXES[0]) -> Any:
    return json.loads(documents(ROUTES)[prefix])


def operations(described: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def operation_of(route: Route) -> Any:
    return document()["paths"][PREFIXES[0] + route.path[1:]][route.method.lower()]


def strings(node: Any, key: str) -> Iterator[str]:
    """Every string under that key, however deep."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key and isinstance(value, str):
                yield value
            else:
                yield from strings(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value, key)


def test_it_is_valid() -> None:
    validate(document())


@pytest.mark.parametrize("prefix", PREFIXES)
def test_it_holds_every_route_and_no_other(prefix: str) -> None:
    described = {(method, path) for method, path, _ in operations(document(prefix))}
    assert described == {(route.method, prefix + route.path[1:]) for route in ROUTES.routes}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_it_holds_what_the_contract_names(prefix: str) -> None:
    described = {(method, path) for method, path, _ in operations(document(prefix))}
    named = {
        (method, prefix + path[1:])
        for method, *paths in map(str.split, CONTRACT.strip().splitlines())
        for path in paths
    }
    assert named <= described


def test_the_documents_differ_in_their_paths_alone() -> None:
    ours, theirs = (document(prefix) for prefix in PREFIXES)
    assert list(ours["paths"].values()) == list(theirs["paths"].values())
    assert ours | {"paths": {}} == theirs | {"paths": {}}
    assert (ours["info"]["title"], ours["servers"]) == (TITLE, [{"url": "/"}])


@EVERY_ROUTE
def test_every_route_says_what_it_answers(resource: Resource, route: Route) -> None:
    assert Unsaid not in route.gives.values(), (
        f"{route.method} {route.path} does not say in {TABLE} what it answers: a record, a list or "
        "union of them, Media, None for no body, or several of these by status"
    )
    assert all(status < 400 for status in route.gives), "errors stand under `errors`"
    unknown = set(route.errors) - ERRORS.keys()
    assert not unknown, f"server/openapi/errors.py has no words for {unknown}"


@EVERY_ROUTE
def test_every_handler_says_in_a_line_what_it_does(resource: Resource, route: Route) -> None:
    operation = operation_of(route)
    docstring = inspect.getdoc(route.handler)
    assert docstring, f"{operation_id(resource, route)} has no docstring: its first line is shown"
    assert 0 < len(operation["summary"]) <= 60, operation["summary"]
    assert "\n" not in docstring.partition("\n\n")[0], "the first line is the summary"


@EVERY_ROUTE
def test_every_hole_is_a_parameter(resource: Resource, route: Route) -> None:
    described = [each for each in operation_of(route).get("parameters", []) if each["in"] == "path"]
    assert [each["name"] for each in described] == re.findall(r"\{(\w+)\}", route.path)
    for each in described:
        number = route.path.startswith(("/tasks/{id}", "/activities/{id}"))
        assert each["schema"]["type"] == ("integer" if number else "string")
        assert each["required"]


@EVERY_ROUTE
def test_a_body_is_required_unless_it_may_be_left_out(resource: Resource, route: Route) -> None:
    body = operation_of(route).get("requestBody")
    assert (body is None) == (route.takes is None)
    if route.takes is not None:
        assert body["required"] == (not route.takes.optional)
        [reference] = strings(body, "$ref")
        assert reference.endswith("/" + route.takes.kind.__name__)


@EVERY_ROUTE
def test_every_error_has_the_one_shape(resource: Resource, route: Route) -> None:
    described = document()
    answers = operation_of(route)["responses"]
    assert {int(status) for status in answers} >= {500, 503, *route.errors, *route.gives}
    assert ("422" in answers) == (route.takes is not None)
    for status, answer in answers.items():
        if int(status) >= 400:
            named = described["components"]["responses"][answer["$ref"].rpartition("/")[2]]
            assert list(strings(named, "$ref")) == ["#/components/schemas/Error"]


def test_every_status_that_a_refusal_can_have_is_described() -> None:
    assert set(STATUSES.values()) <= ERRORS.keys()


def test_names_are_fit_for_generated_code() -> None:
    described = document()
    ids = [operation["operationId"] for _, _, operation in operations(described)]
    assert len({id.lower() for id in ids}) == len(ids)
    schemas = list(described["components"]["schemas"])
    assert len({name.lower() for name in schemas}) == len(schemas)
    for name in (*ids, *schemas):
        assert name.isidentifier(), name
        assert not keyword.iskeyword(name), name


def test_tags_are_the_resources() -> None:
    described = document()
    named = [tag["name"] for tag in described["tags"]]
    assert all(tag["description"] for tag in described["tags"])
    used = [tuple(operation["tags"]) for _, _, operation in operations(described)]
    assert set(used) == {(name,) for name in named}


def test_references_lead_somewhere_and_every_component_is_used() -> None:
    described = document()
    references = set(strings(described, "$ref"))
    kinds = described["components"].items()
    there = {f"#/components/{kind}/{name}" for kind, parts in kinds for name in parts}
    assert references <= there
    unused = {name for name in there - references if "/responses/" not in name}
    assert not unused, "nothing refers to them"


def test_json_in_a_string_is_a_string() -> None:
    record = document()["components"]["schemas"]["RunRecord"]
    for field in ("input", "result", "search_attributes"):
        text = {"type": ["string", "null"], "contentMediaType": "application/json"}
        assert record["properties"][field] == text
    assert set(record["required"]) == set(record["properties"]), "every field is always there"


def test_commands_are_told_apart_by_their_type() -> None:
    commands = document()["components"]["schemas"]["CommandBatch"]["properties"]["commands"]
    told = commands["items"]["discriminator"]
    assert told["propertyName"] == "type"
    assert {f"#/components/schemas/{kind}" for kind in told["mapping"]} == set(
        told["mapping"].values()
    )
    assert len(told["mapping"]) == len(commands["items"]["oneOf"]) == 14


def test_queries_are_read_by_their_definitions_alone() -> None:
    """A handler that reads the query by itself has parameters that nobody describes."""
    folder = Path(inspect.getfile(routes)).parent
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            reads = isinstance(node, ast.Attribute) and node.attr == "query"
            assert not reads, f"{file.name}: name a definition under `asks` in {TABLE} instead"
