"""The page on testing: its examples are tests, and they pass."""

from __future__ import annotations

import re
from pathlib import Path

from tests.testing.test_pytest_plugin import pytest_on

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "testing.md"


def test_the_examples_of_the_page_pass(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert "4 passed" in pytest_on(tmp_path, "\n".join(examples))
