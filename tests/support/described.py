"""Requests whose answers are held against the description of the interface."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator

from tests.support.http import ANSWER_SECS, NOTHING, Answer, Http, Json

JSON_TYPE = "application/json"


class Description:
    """An OpenAPI document, and which of its answers have been seen."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.seen: set[tuple[str, int]] = set()

    def check(self, method: str, path: str, answer: Answer) -> None:
        """Hold an answer against what is said of it; what is said of no answer fails."""
        operation = self._operation(method, path)
        name, status = operation["operationId"], answer.status
        assert str(status) in operation["responses"], f"{name} does not describe status {status}"
        self.seen.add((name, status))
        content = self._resolved(operation["responses"][str(status)]).get("content", {})
        declared = answer.headers.get("content-type", "").partition(";")[0]
        assert (declared or None) == next(iter(content), None), f"{name} {status} is {declared!r}"
        if declared == JSON_TYPE:
            self.validate(content[JSON_TYPE]["schema"], answer.json())

    def validate(self, schema: Json, value: Json) -> None:
        """Refuse what does not fit, and fields that nothing is said of."""
        Draft202012Validator({**schema, "components": self._exact}).validate(value)

    def promised(self) -> set[tuple[str, int]]:
        """Every answer that is no error."""
        return {
            (operation["operationId"], int(status))
            for methods in self.document["paths"].values()
            for operation in methods.values()
            for status in operation["responses"]
            if int(status) < 400
        }

    @cached_property
    def _exact(self) -> Json:
        components = deepcopy(self.document["components"])
        for schema in components["schemas"].values():
            if "properties" in schema:
                schema["additionalProperties"] = False
        return components

    @cached_property
    def _paths(self) -> list[tuple[re.Pattern[str], Json]]:
        """The literal ones first: `/workflow-tasks/poll` is no id."""
        paths = sorted(self.document["paths"].items(), key=lambda item: item[0].count("{"))
        return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), each) for path, each in paths]

    def _operation(self, method: str, path: str) -> Any:
        for pattern, methods in self._paths:
            if pattern.fullmatch(path) and method.lower() in methods:
                return methods[method.lower()]
        raise AssertionError(f"{method} {path} is not described")

    def _resolved(self, node: Json) -> Json:
        """What a reference leads to."""
        if "$ref" not in node:
            return node
        found = self.document
        for key in node["$ref"].split("/")[1:]:
            found = found[key]
        return found


class CheckedHttp(Http):
    """A client that holds every answer against the description."""

    def __init__(self, host: str, port: int, description: Description) -> None:
        super().__init__(host, port)
        self._description = description

    async def request(
        self,
        method: str,
        path: str,
        body: object = NOTHING,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = ANSWER_SECS,
    ) -> Answer:
        answer = await super().request(method, path, body, headers=headers, timeout=timeout)
        self._description.check(method, path.partition("?")[0], answer)
        return answer
