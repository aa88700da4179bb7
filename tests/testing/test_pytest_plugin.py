"""The fixtures, in a run of pytest of its own, and what it costs whoever does not use them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import asyncio
import assay

@assay.workflow
async def nap(ctx):
    await ctx.sleep(30 * 86400)
    return "rested"

def test_run(assay_run):
    async def story(env):
        handle = await env.workflows.start(nap)
        return await handle.result()

    assert assay_run(story, workflows=[nap]) == "rested"

def test_environment(assay_environment):
    async def test():
        async with assay_environment(workflows=[nap]) as env:
            handle = await env.workflows.start(nap)
            assert await handle.result() == "rested"

    asyncio.run(test())
"""
LOADED = """
import sys

def test_nothing_is_loaded_that_nobody_asks_for():
    loaded = [name for name in sys.modules if name.startswith("assay.")]
    assert loaded == ["assay.testing", "assay.testing.pytest_plugin"], loaded
    assert not {"asyncpg", "apsw", "msgspec", "uvicorn"} & set(sys.modules)
"""


def test_fixtures(tmp_path: Path) -> None:
    assert "2 passed" in pytest_on(tmp_path, TESTS)


def test_the_plugin_loads_nothing_by_itself(tmp_path: Path) -> None:
    assert "1 passed" in pytest_on(tmp_path, LOADED)


def test_pytest_finds_the_plugin_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"assay": "assay.testing.pytest_plugin"}


def pytest_on(folder: Path, text: str) -> str:
    """What pytest says of a file of tests, with no plugin but ours."""
    (folder / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "assay.testing.pytest_plugin"],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
