"""Random workflows ask the same commands live, replayed from scratch, and after a crash anywhere.

What is invented, played and checked is in `workflows/`; `python -m tests.properties.workflows COUNT
[FIRST]` tells more of it. A failure names its seed and shows the smallest program that fails alike.
"""

import pytest

from tests.properties.workflows.telling import report

SEEDS, AT_ONCE = 300, 20


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_a_workflow_is_told_the_same_however_its_history_comes(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        wrong = report(seed)
        assert wrong is None, wrong
