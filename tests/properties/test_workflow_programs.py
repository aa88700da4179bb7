"""Random workflows ask the same commands live, replayed from scratch, and after a crash anywhere.

What is invented, played and checked is in `workflows/`; `python -m tests.properties.workflows COUNT
[FIRST]` tells more of it. A failure names its seed and shows the smallest program that fails alike.
"""

import pytest

from tests.properties.workflows.programs import Node, Program, text
from tests.properties.workflows.telling import complaint, report

SEEDS, AT_ONCE = 300, 20
SEEDS_OF_KNOWN = 12


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_a_workflow_is_told_the_same_however_its_history_comes(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        wrong = report(seed)
        assert wrong is None, wrong


def does(kind: str, no: int, *parts: Node, secs: float = 0.0, name: str = "") -> Node:
    return Node(kind, no, parts, secs=secs, name=name, most=2)


def wait(no: int, secs: float = 0.0) -> Node:
    return does("timed" if secs else "signal", no, secs=secs, name="go")


KNOWN = {
    "a cleanup in a group within a group": [
        does("group", 1, does("group", 2, does("cleanup", 3, does("nap", 4, secs=2), wait(5))))
    ],
    "a child that goes on as new when its parent is cancelled": [does("child", 1, name="chain")],
    "a child that is given up and wanted again": [
        does("again", 1, does("first", 2, does("activity", 3), does("child", 4, name="works")))
    ],
    "a child that is begun in the last moment": [
        does("first", 1, wait(2, secs=0.5), does("child", 3, name="quick"))
    ],
    "two waits for one name": [does("gather", 1, wait(2), wait(3, secs=20), does("nap", 4))],
    "signals that come with the end": [wait(1, secs=0.5)],
    "a timer that is dropped before it is in history": [
        does("first", 1, does("side effect", 2), does("doze", 3, secs=2))
    ],
    "a step beside news": [
        does("group", 1, Node("step", 2, fails=2, most=3, secs=0.2), wait(3, secs=20), wait(4))
    ],
}


@pytest.mark.parametrize("known", KNOWN)
def test_what_once_went_wrong_goes_right(known: str) -> None:
    for seed in range(SEEDS_OF_KNOWN):
        program = Program(Node("sequence", parts=tuple(KNOWN[known])), rounds=1 + seed % 3)
        wrong = complaint(program, seed)
        assert wrong is None, f"seed {seed}: {wrong}\n{text(program)}"
