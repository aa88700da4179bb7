"""What every test may ask for: a real PostgreSQL, shared or its own."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.support.postgres import (
    PostgresCluster,
    cluster_directory,
    fresh_database,
    own_cluster,
    shared_url,
)

# The ordinary suite plays the same examples every time; ASSAY_EXAMPLES asks for new and more ones.
hypothesis.settings.register_profile("ordinary", derandomize="ASSAY_EXAMPLES" not in os.environ)
hypothesis.settings.load_profile("ordinary")

# The first process of a run makes the directory; xdist's workers inherit the variable.
DIRECTORY_VARIABLE = "ASSAY_TEST_POSTGRES_DIRECTORY"
RUN = contextlib.ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    if DIRECTORY_VARIABLE not in os.environ:
        directory = RUN.enter_context(cluster_directory())
        os.environ[DIRECTORY_VARIABLE] = str(directory)
        RUN.callback(os.environ.pop, DIRECTORY_VARIABLE)


def pytest_unconfigure(config: pytest.Config) -> None:
    RUN.close()


@pytest.fixture(scope="session")
def postgres_server_url() -> str:
    """The run's PostgreSQL; take `postgres_url` unless you need to see its other databases."""
    return shared_url(Path(os.environ[DIRECTORY_VARIABLE]))


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """An empty database of this test's own, dropped afterwards."""
    with fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture
def postgres_cluster() -> Iterator[PostgresCluster]:
    """A PostgreSQL of this test's own, to stop, kill and start again (about a second)."""
    with own_cluster() as cluster:
        yield cluster
