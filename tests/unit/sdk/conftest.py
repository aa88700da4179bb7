"""The two event loops on which the client must work."""

from __future__ import annotations

import pytest

from tests.unit.sdk.scripted import Run, run_on_asyncio, run_on_uvloop


@pytest.fixture(params=[run_on_asyncio, run_on_uvloop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a coroutine on a loop of its own."""
    chosen: Run = request.param
    return chosen
