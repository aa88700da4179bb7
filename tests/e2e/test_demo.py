"""`./dev demo` shows what it says, and ends with an error when something is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo import Delivery, complaints, main
from tests.support.server import clean_environment

ROOT = Path(__file__).parents[2]
SAID = ["asks the bank", "charges 42 EUR, at attempt 2", "packs it", "packs it", "has packed it"]
DELIVERY = Delivery("42 EUR", "teapot, packed at attempt 2")
LONGEST_SECS = 30.0  # it takes seven seconds where nothing else is done


def test_the_demonstration_succeeds_and_says_what_happens() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    for words in ("worker A packs the teapot", "kill -9", "worker B has packed", "is completed"):
        assert words in done.stdout
    assert "Ctrl-C" not in done.stdout, "nobody is there to press it"


def test_nothing_is_wrong_with_a_good_story() -> None:
    assert complaints(DELIVERY, SAID) == []


@pytest.mark.parametrize(
    ("delivery", "said", "complaint"),
    [
        (Delivery("42 EUR", "teapot, packed at attempt 1"), SAID, "the result is"),
        (DELIVERY, [*SAID, "charges 42 EUR, at attempt 1"], "'charges' was said 2 times"),
        (DELIVERY, SAID[:-2], "'packs' was said 1 times"),
    ],
)
def test_what_is_wrong_is_said(delivery: Delivery, said: list[str], complaint: str) -> None:
    assert complaint in " ".join(complaints(delivery, said))


def test_what_is_wrong_makes_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    async def goes_wrong(_: str) -> list[str]:
        return ["the teapot is broken"]

    monkeypatch.setattr("tests.demo.see_through", goes_wrong)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert main() == 1
