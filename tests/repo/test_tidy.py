"""The tree keeps the rules of STYLE.md, but for what allowances.toml still names."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.repo.rules import RULES, Rule
from tests.repo.rules.tree import Tree

ROOT = Path(__file__).parents[2]
ALLOWANCES = Path(__file__).with_name("allowances.toml")


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_tidy(rule: Rule, tree: Tree) -> None:
    allowed = set(tomllib.loads(ALLOWANCES.read_text()).get(rule.__name__, ()))
    found = {without_line(complaint): complaint for complaint in rule(tree)}
    assert not [found[key] for key in sorted(found.keys() - allowed)], "against STYLE.md"
    assert not allowed - found.keys(), "allowances.toml names what is mended: take it out"


def test_allowances_name_rules_that_exist() -> None:
    known = {rule.__name__ for rule in RULES}
    assert set(tomllib.loads(ALLOWANCES.read_text())) <= known


def without_line(complaint: str) -> str:
    """Leave the line number out: it changes with every edit above it."""
    return re.sub(r":\d+: ", ": ", complaint, count=1)
