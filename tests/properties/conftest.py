"""The databases that properties of a whole server are tried on."""

import pytest

from tests.support.inside import IN_MEMORY


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return IN_MEMORY
    return str(request.getfixturevalue("postgres_url"))
