"""Histories recorded by earlier versions, as runs that were in flight then meet today's code."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay.testing import History, Replayer
from tests.testing.stories import HISTORIES, STORIES, WORKFLOWS, play

RECORDED = sorted(HISTORIES.glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_histories_are_replayed(path: Path) -> None:
    history = History.load(path)
    assert Replayer(WORKFLOWS).replay(history).ending == history.types[-1]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_beginning_of_a_history_is_replayed(path: Path) -> None:
    """A run may be in flight anywhere in it."""
    history = History.load(path)
    for length in range(1, len(history)):
        beginning = History(history.workflow_id, history.workflow_type, history.events[:length])
        Replayer(WORKFLOWS).replay(beginning)


@pytest.mark.parametrize("name", STORIES)
def test_the_stories_of_today_take_the_course_that_was_recorded(name: str) -> None:
    history = asyncio.run(play(STORIES[name]))
    assert history.types == History.load(HISTORIES / f"{name}.json").types


def test_every_story_is_recorded() -> None:
    assert {path.stem for path in RECORDED} == set(STORIES)
