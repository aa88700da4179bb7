"""Tests of workflows: a whole engine in the test's process, on virtual time; replays of histories.

    environment, run     an engine, a client and a worker whose clock is skipped ahead
    survive              the same with a crash at every commit in turn
    Replayer, History    recorded histories against the code of today
    NothingDue           what a test is told that would wait for ever
    NotSurvived          what a crash has changed

Names are loaded when they are first used: the plugin of pytest is loaded with every test run.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.testing.crashing import survive
    from assay.testing.environments import Environment, environment
    from assay.testing.faults import NothingDue, NotSurvived
    from assay.testing.history import History
    from assay.testing.replayer import Replayed, Replayer
    from assay.testing.running import run

_HOMES = {
    "Environment": "assay.testing.environments",
    "History": "assay.testing.history",
    "NotSurvived": "assay.testing.faults",
    "NothingDue": "assay.testing.faults",
    "Replayed": "assay.testing.replayer",
    "Replayer": "assay.testing.replayer",
    "environment": "assay.testing.environments",
    "run": "assay.testing.running",
    "survive": "assay.testing.crashing",
}

__all__ = [
    "Environment",
    "History",
    "NotSurvived",
    "NothingDue",
    "Replayed",
    "Replayer",
    "environment",
    "run",
    "survive",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"assay.testing has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
