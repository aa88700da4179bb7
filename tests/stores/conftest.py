"""The databases the conformance suite runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stores.places import KINDS, Place, sqlite_file


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty database of each kind."""
    return place_of(str(request.param), request, tmp_path)


@pytest.fixture(params=KINDS[1:])
def lasting_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty database of each kind that outlives its store."""
    return place_of(str(request.param), request, tmp_path)


@pytest.fixture
def shared_place(postgres_url: str) -> Place:
    """An empty database that several stores may have open at once."""
    return Place("postgres", postgres_url)


def place_of(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if kind == "postgres":
        return Place(kind, request.getfixturevalue("postgres_url"))
    return sqlite_file(tmp_path) if kind == "sqlite-file" else Place(kind, ":memory:")
