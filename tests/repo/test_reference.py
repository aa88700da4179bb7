"""`docs/reference/sdk.md` has a line for every public name of the SDK, and for nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
import assay.blocking
from assay.sdk import faults
from assay.sdk.client import Client
from assay.sdk.client.api_keys import ApiKeys
from assay.sdk.client.namespaces import Namespaces
from assay.sdk.client.queues import Queues
from assay.sdk.client.schedules import Schedules
from assay.sdk.client.workers import Workers
from assay.sdk.client.workflows import Workflows
from assay.sdk.options import ActivityOptions, StartOptions, StepOptions

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "sdk.md"
SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`(?:\w+\.)?(\w+)")


def members(kind: type) -> set[str]:
    """What users may call of it; a handle is a dictionary too, which is another matter."""
    names = {*dir(kind)} - ({*dir(dict)} if issubclass(kind, dict) else set())
    return {name for name in names if not name.startswith("_")}


def parameters(function: Callable[..., object]) -> set[str]:
    return {*inspect.signature(function).parameters} - {"self"}


def attributes(kind: type) -> set[str]:
    """What its `__init__` gives every object of it."""
    text = inspect.getsource(kind.__init__)  # type: ignore[misc] # of that very class
    return set(re.findall(r"self\.([a-z]\w*)", text))


WANTED: dict[str, set[str]] = {
    "assay": {*assay.__all__},
    "assay.open": parameters(assay.open),
    "assay.connect": parameters(assay.connect),
    "ctx of a workflow": members(assay.WorkflowContext),
    "Options of an activity": {*ActivityOptions.__optional_keys__},
    "Options of a step": {*StepOptions.__optional_keys__},
    "ctx of an activity": members(assay.ActivityContext),
    "client": members(assay.App) | attributes(Client) | {"registry", "runner"},
    "Options of a worker": parameters(Client.listen),
    "client.workflows": members(Workflows),
    "Options of a start": {*StartOptions.__optional_keys__},
    "A handle": members(assay.WorkflowHandle),
    "client.schedules": members(Schedules),
    "client.namespaces": members(Namespaces),
    "client.workers": members(Workers),
    "client.queues": members(Queues),
    "client.api_keys": members(ApiKeys),
    "assay.blocking": {*assay.blocking.__all__},
    "Errors": {
        name
        for name, kind in inspect.getmembers(faults, inspect.isclass)
        if issubclass(kind, assay.AssayError)
    },
}


def described(text: str) -> dict[str, set[str]]:
    """The names in the first column of each section's table."""
    return {
        title: {
            name
            for line in body.splitlines()
            if line.startswith("| `")
            for name in NAME.findall(line.split(" | ")[0])
        }
        for title, body in SECTION.findall(text)
    }


@pytest.mark.parametrize("title", WANTED)
def test_every_name_has_its_line(title: str) -> None:
    found = described(REFERENCE.read_text(encoding="utf-8"))[title]
    assert found == WANTED[title]


def test_every_section_is_looked_at() -> None:
    assert [*described(REFERENCE.read_text(encoding="utf-8"))] == [*WANTED]


def test_names_that_are_not_of_assay_are_marked() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    marked = set(re.findall(r"^\| `(\w+)`\*", text, re.MULTILINE))
    assert marked == WANTED["Errors"] - {*assay.__all__}


def test_a_table_is_read_by_its_first_column() -> None:
    planted = "## Things\n\n| A | B |\n| --- | --- |\n| `it.go(far)`, `stay` | `not` |\n\n## None\n"
    assert described(planted) == {"Things": {"go", "stay"}, "None": set()}
