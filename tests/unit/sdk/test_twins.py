"""The blocking client says the same as the awaited one, to programs and to type checkers."""

from __future__ import annotations

import inspect
from typing import Any, assert_type

import pytest

from assay.sdk import blocking, client
from assay.sdk.blocking.client import Client
from assay.sdk.blocking.handle import WorkflowHandle
from assay.sdk.records import DescribedRun, NamespaceRecord, NewKey, QueryValue, ScheduleRecord

GROUPS = ("workflows", "schedules", "namespaces", "workers", "queues", "api_keys")
ONLY_AWAITED = {"worker"}  # which is something to await


class Nowhere:
    """A transport that is never asked."""


def public(thing: object) -> dict[str, inspect.Signature]:
    names = (name for name in dir(thing) if not name.startswith("_"))
    members = ((name, inspect.getattr_static(type(thing), name, None)) for name in names)
    return {name: inspect.signature(found) for name, found in members if inspect.isfunction(found)}


def kept(signatures: dict[str, inspect.Signature]) -> dict[str, Any]:
    return {
        name: (list(signature.parameters.values()), str(signature.return_annotation))
        for name, signature in signatures.items()
        if name not in ONLY_AWAITED
    }


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_calls_have_the_same_signatures(group: str) -> None:
    awaited: Any = client.Client(Nowhere())  # type: ignore[arg-type] # signatures are all we want
    plain: Any = blocking.Client(None, awaited)  # type: ignore[arg-type] # no portal either
    if group:
        awaited, plain = getattr(awaited, group), getattr(plain, group)
    assert public(plain)
    wanted, found = kept(public(awaited)), kept(public(plain))
    assert {name: parts[0] for name, parts in found.items()} == {
        name: parts[0] for name, parts in wanted.items()
    }
    for name, (_, returned) in found.items():
        assert returned.replace(".blocking.", ".client.") == wanted[name][1], name


def types(it: Client) -> None:
    """Never called: what is right here is for mypy to say."""
    assert_type(it.workflows.describe("a"), DescribedRun | None)
    assert_type(it.workflows.start("A"), WorkflowHandle[Any])
    assert_type(it.workflows.result("a", kind=int), int)
    assert_type(it.workflows.get_state("a", "b"), QueryValue | None)
    assert_type(it.schedules.list(), list[ScheduleRecord])
    assert_type(it.namespaces.list(), list[NamespaceRecord])
    assert_type(it.api_keys.generate(), NewKey)
    assert_type(it.api_keys.delete("a"), bool)
