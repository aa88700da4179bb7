"""The PostgreSQL that the other tests stand on does what they rely on."""

import asyncio
import os
from pathlib import Path

import asyncpg
import pytest

from tests.support.postgres import PostgresCluster, execute, fresh_database, shared_url


async def fetch(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@pytest.mark.parametrize("visit", [1, 2])
def test_every_test_has_an_empty_database(postgres_url: str, visit: int) -> None:
    execute(postgres_url, "CREATE TABLE mark (visit integer)")
    assert asyncio.run(fetch(postgres_url, "SELECT count(*) FROM mark")) == 0


def test_a_database_goes_with_its_open_sessions(postgres_server_url: str) -> None:
    async def leave_a_session_open(url: str) -> None:
        await asyncpg.connect(url)

    with fresh_database(postgres_server_url) as url:
        name = url.rsplit("/", 1)[1]
    query = f"SELECT count(*) FROM pg_database WHERE datname = '{name}'"
    assert asyncio.run(fetch(postgres_server_url, query)) == 0


def test_there_is_one_server_for_the_whole_run(postgres_server_url: str) -> None:
    directory = Path(os.environ["ASSAY_TEST_POSTGRES_DIRECTORY"])
    assert shared_url(directory) == postgres_server_url


def test_another_server_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_TEST_POSTGRES_URL", "postgresql://elsewhere/postgres")
    assert shared_url(tmp_path) == "postgresql://elsewhere/postgres"


def test_a_killed_server_comes_back_with_its_data(postgres_cluster: PostgresCluster) -> None:
    url = postgres_cluster.url()
    execute(url, "CREATE TABLE kept AS SELECT 7 AS seven")
    postgres_cluster.kill()
    with pytest.raises(OSError, match="Connect call failed"):
        execute(url, "SELECT 1")
    postgres_cluster.start()
    assert postgres_cluster.url() == url
    assert asyncio.run(fetch(url, "SELECT seven FROM kept")) == 7
    postgres_cluster.stop(immediate=False)
    assert not postgres_cluster.running()
