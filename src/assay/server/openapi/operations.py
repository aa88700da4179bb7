"""One route as an operation: what it is called, what it reads, what it answers."""

import inspect
from collections.abc import Mapping
from http import HTTPStatus

from assay.server.openapi.errors import errors_of
from assay.server.openapi.schemas import Schema, Schemas
from assay.server.route import Media, Resource, Route, Unsaid

JSON = "application/json"


def operation(resource: Resource, route: Route, schemas: Schemas) -> Schema:
    """The operation of a route; its handler's docstring is what is said of it."""
    summary, _, description = (inspect.getdoc(route.handler) or "").partition("\n\n")
    parameters: list[Schema] = [
        {"name": name, "in": "path", "required": True, "schema": schemas.of(kind)}
        for name, kind in route.holes.items()
    ]
    if route.asks is not None:
        parameters += schemas.parameters(route.asks.kind)
    parameters += [
        {"name": name, "in": "header", "schema": schemas.of(kind)}
        for name, kind in route.heeds.items()
    ]
    described: dict[str, object] = {
        "tags": [resource.name],
        "operationId": operation_id(resource, route),
        "summary": " ".join(summary.split()).removesuffix("."),
        "description": " ".join(description.split()),
        "parameters": parameters,
        "requestBody": _body(route, schemas),
    }
    responses = {**_answers(route.gives, schemas), **errors_of(route)}
    return {name: value for name, value in described.items() if value} | {"responses": responses}


def operation_id(resource: Resource, route: Route) -> str:
    """The resource and the handler, which nobody else has together."""
    return f"{resource.name}_{route.handler.__name__}".replace("-", "_").rstrip("_")


def _body(route: Route, schemas: Schemas) -> Schema | None:
    if route.takes is None:
        return None
    schema = schemas.of(route.takes.kind)
    return {"required": not route.takes.optional, "content": {JSON: {"schema": schema}}}


def _answers(gives: Mapping[int, object], schemas: Schemas) -> dict[str, Schema]:
    return {str(status): _answer(status, shape, schemas) for status, shape in gives.items()}


def _answer(status: int, shape: object, schemas: Schemas) -> Schema:
    described: Schema = {"description": HTTPStatus(status).phrase}
    if shape is None or shape is Unsaid:
        return described
    media = shape if isinstance(shape, Media) else Media(JSON, shape)
    return described | {"content": {media.type: {"schema": schemas.of(media.shape)}}}
