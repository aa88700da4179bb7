"""The whole description: one document per prefix, written once and kept as bytes."""

from functools import cache

import msgspec

import assay
from assay.server.openapi.errors import error_responses
from assay.server.openapi.operations import operation
from assay.server.openapi.schemas import Schema, Schemas
from assay.server.table import PREFIXES, Table

TITLE = "assay-workflow API"
ABOUT = """\
A durable workflow engine over HTTP.

Times are Unix seconds in UTC. Optional fields may be null or left out. Strings of the media type
`application/json` hold JSON as text. Every error has the body `{"error": "…"}`."""


@cache
def documents(table: Table) -> dict[str, bytes]:
    """The documents by prefix; they differ in nothing but their paths."""
    schemas = Schemas()
    paths: dict[str, Schema] = {}
    for resource in table.resources:
        for route in resource.routes:
            methods = paths.setdefault(route.path, {})
            methods[route.method.lower()] = operation(resource, route, schemas)
    errors = error_responses(schemas)
    components = {"schemas": dict(sorted(schemas.components.items())), "responses": errors}
    frame: Schema = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": assay.__version__, "description": ABOUT},
        "servers": [{"url": "/"}],
        "tags": [{"name": each.name, "description": each.about} for each in table.resources],
    }
    return {
        prefix: msgspec.json.encode(
            {
                **frame,
                "paths": {prefix.rstrip("/") + path: methods for path, methods in paths.items()},
                "components": components,
            }
        )
        for prefix in PREFIXES
    }
