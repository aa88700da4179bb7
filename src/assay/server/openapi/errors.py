"""Which errors a route may answer, and what each of them means (contract §2.3)."""

from typing import NamedTuple

from assay.server.openapi.schemas import Schema, Schemas
from assay.server.route import Route
from assay.wire.answers import Error

_RESPONSES = "#/components/responses/"


class Meaning(NamedTuple):
    """What a status says, under a name."""

    name: str
    text: str


ERRORS = {
    400: Meaning("BadRequest", "A value is not admissible, or the body is not JSON."),
    404: Meaning("NotFound", "There is no such thing."),
    409: Meaning("Conflict", "It is taken, or its state does not allow this."),
    410: Meaning("Gone", "What follows this cursor is not kept any more."),
    413: Meaning("TooLarge", "The body is larger than 2 MiB."),
    415: Meaning("WrongMediaType", "The body is not declared as JSON."),
    422: Meaning("WrongShape", "The JSON has not the fields, or not the types, that are wanted."),
    500: Meaning("Fault", "The engine or its database failed."),
    503: Meaning("Unavailable", "The server is starting or stopping."),
}
ANYWHERE = (500, 503)
WITH_VALUES = (400,)
WITH_A_BODY = (413, 415, 422)


def errors_of(route: Route) -> dict[str, Schema]:
    """Those a route declares, and those that come with what it reads, by status."""
    statuses = {*ANYWHERE, *route.errors}
    if route.takes or route.asks or route.holes or route.heeds:
        statuses.update(WITH_VALUES)
    if route.takes:
        statuses.update(WITH_A_BODY)
    return {str(status): {"$ref": _RESPONSES + ERRORS[status].name} for status in sorted(statuses)}


def error_responses(schemas: Schemas) -> dict[str, Schema]:
    """All of them, by name; every body has the same shape."""
    content = {"application/json": {"schema": schemas.of(Error)}}
    return {
        meaning.name: {"description": meaning.text, "content": content}
        for meaning in ERRORS.values()
    }
