"""What a client registers goes by the name that it was registered under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import assay
from assay.sdk.client.calls import Calls, type_name
from assay.sdk.client.serving import Serving
from assay.sdk.convert import DEFAULT
from assay.sdk.definition import name_of
from assay.sdk.http import HttpTransport

Register = Callable[[Serving, Any], Any]


class Teller:
    async def tell(self, ctx: assay.WorkflowContext) -> None:
        """A workflow that takes no marks."""


def serving() -> Serving:
    return Serving(Calls(HttpTransport("http://nobody.invalid"), "main", DEFAULT))


@pytest.mark.parametrize(
    ("register", "name"),
    [
        (lambda serving, function: serving.define(function), "fresh"),
        (lambda serving, function: serving.define("tale", function), "tale"),
        (lambda serving, function: serving.define("tale")(function), "tale"),
        (lambda serving, function: serving.define(assay.workflow("own")(function)), "own"),
    ],
)
def test_a_registered_workflow_is_started_by_its_function(register: Register, name: str) -> None:
    async def fresh(ctx: assay.WorkflowContext) -> None: ...

    here = serving()
    assert register(here, fresh) is fresh
    assert list(here.registry.workflows) == [name]
    assert type_name(fresh) == name


def test_a_registered_activity_is_called_by_its_function() -> None:
    async def fresh(ctx: assay.ActivityContext) -> None: ...

    here = serving()
    here.activity("mail.send", fresh)
    assert list(here.registry.activities) == [name_of(fresh)] == ["mail.send"]


def test_a_method_is_registered_and_goes_by_its_name() -> None:
    here = serving()
    here.define("tale", Teller().tell)
    assert list(here.registry.workflows) == ["tale"]
