"""Fixtures for pytest. The plugin is found by itself; an engine is loaded when a test asks for one.

assay_run            run(story, workflows=[...], activities=[...]): a coroutine function with an
                     environment, from a test that is a plain function
assay_environment    the environment itself, for tests that are coroutines: async with
                     assay_environment(workflows=[...]) as env
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from assay.testing import Environment


@pytest.fixture
def assay_run() -> "Callable[..., Any]":
    """Run a coroutine function with an environment: `assay_run(story, workflows=[...])`."""
    from assay.testing import run

    return run


@pytest.fixture
def assay_environment() -> "Callable[..., AbstractAsyncContextManager[Environment]]":
    """Make an environment: `async with assay_environment(workflows=[...]) as env`."""
    from assay.testing import environment

    return environment
