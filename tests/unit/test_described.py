"""The check of answers against the description notices what is not as described."""

from __future__ import annotations

import pytest
from jsonschema import ValidationError

from tests.support.described import Description
from tests.support.http import Answer

DOCUMENT = {
    "paths": {
        "/things/{id}": {
            "get": {
                "operationId": "things_describe",
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}
                        }
                    },
                    "204": {},
                    "404": {"$ref": "#/components/responses/NotFound"},
                },
            }
        },
    },
    "components": {
        "schemas": {"Thing": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "responses": {"NotFound": {"content": {"application/json": {"schema": {}}}}},
    },
}
JSON = {"content-type": "application/json; charset=utf-8"}


def test_what_is_as_described_is_remembered() -> None:
    description = Description(DOCUMENT)
    description.check("GET", "/things/1", Answer(200, JSON, b'{"a":1}'))
    description.check("GET", "/things/1", Answer(404, JSON, b'{"error":"none"}'))
    assert description.seen == {("things_describe", 200), ("things_describe", 404)}
    assert description.promised() == {("things_describe", 200), ("things_describe", 204)}


@pytest.mark.parametrize(
    ("method", "path", "answer", "error"),
    [
        ("GET", "/things", Answer(200, JSON, b"{}"), AssertionError),
        ("PUT", "/things/1", Answer(200, JSON, b"{}"), AssertionError),
        ("GET", "/things/1", Answer(201, JSON, b"{}"), AssertionError),
        ("GET", "/things/1", Answer(200, {}, b""), AssertionError),
        ("GET", "/things/1", Answer(204, JSON, b"{}"), AssertionError),
        ("GET", "/things/1", Answer(200, {"content-type": "text/html"}, b"{}"), AssertionError),
        ("GET", "/things/1", Answer(200, JSON, b'{"a":"1"}'), ValidationError),
        ("GET", "/things/1", Answer(200, JSON, b'{"a":1,"b":2}'), ValidationError),
        ("GET", "/things/1", Answer(200, JSON, b"null"), ValidationError),
    ],
)
def test_what_is_not_as_described_is_noticed(
    method: str, path: str, answer: Answer, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Description(DOCUMENT).check(method, path, answer)
