"""Each rule finds what it is for: one planted violation, and a twin that is fine."""

from pathlib import Path

import pytest

from tests.repo.rules import RULES, Rule, sizes, texts, walls
from tests.repo.rules.tree import Tree

SAYS = '"""A module."""\n'
LONG = SAYS + "x = 1\n" * 320
BODY = SAYS + "def long():\n" + "    x = 1\n" * 51
SHORT = SAYS + "def short():\n" + "    x = 1\n" * 50
MANY = SAYS + "def ask(a, b, c, d, e, f, g): ...\n"
FIXED = SAYS + "def ask(  # the contract's signature\n    a, b, c, d, e, f, g\n): ...\n"
FEW = SAYS + "class Ask:\n    def ask(self, a, b, c, d, e, f, *, g): ...\n"
QUERY = SAYS + 'text = f"SELECT {1} FROM run"\n'
REMARK = SAYS + 'def f():\n    """SELECT 1 FROM run is not a query here."""\n'
UNFINISHED = "-- " + "TO" + "DO: later\n"
LOCK = "click==8.5.1\n"
ENGINE, CORE, SERVER = "src/assay/engine", "src/assay/core", "src/assay/server"
SDK = "src/assay/sdk"
STORE, SQLITE = "src/assay/store", "src/assay/store/sqlite"

# rule, planted path and text, fine path and text
CASES: list[tuple[Rule, str, str, str, str]] = [
    (sizes.files_are_short, f"{CORE}/a.py", LONG, f"{ENGINE}/a.py", LONG),
    (sizes.functions_are_short, "src/assay/a.py", BODY, "src/assay/a.py", SHORT),
    (sizes.parameters_are_few, "tests/a.py", MANY, "tests/a.py", FEW),
    (sizes.parameters_are_few, "tests/a.py", MANY, "tests/a.py", FIXED),
    (texts.files_are_named_for_what_they_hold, "src/utils.py", SAYS, "src/words.py", SAYS),
    (texts.modules_say_what_they_hold, "src/a.py", "x = 1\n", "src/a.py", SAYS),
    (texts.markdown_has_one_title, "a.md", "# a\n# b\n", "a.md", "# a\n```\n# b\n```\n"),
    (texts.nothing_is_left_for_later, "a.sql", UNFINISHED, "a.sql", "-- done\n"),
    (
        *(texts.limits_have_reasons, f"{ENGINE}/limits.py", SAYS + "PAGE = 1\n"),
        *(f"{ENGINE}/limits.py", SAYS + "PAGE = 1  # one is enough\n"),
    ),
    (
        *(texts.migrations_come_in_pairs, f"{SQLITE}/migrations/0001_a.sql", ""),
        *(f"{SQLITE}/other/0001_a.sql", ""),
    ),
    (
        *(texts.locks_name_no_place, "constraints.txt", LOCK + "--index-url x\n"),
        *("constraints.txt", LOCK),
    ),
    (texts.locks_name_no_place, "package-lock.json", '"resolved": ""', "package-lock.json", "{}"),
    (walls.queries_stay_in_the_store, f"{ENGINE}/a.py", QUERY, f"{STORE}/a.py", QUERY),
    (walls.queries_stay_in_the_store, f"{SERVER}/a.py", QUERY, f"{SERVER}/a.py", REMARK),
    (
        *(walls.dialects_stay_in_the_store, f"{ENGINE}/a.py", SAYS + "is_sqlite = 1\n"),
        *(f"{ENGINE}/a.py", '"""Not for sqlite alone."""\n# nor postgres\n'),
    ),
    (
        *(walls.dialects_stay_in_the_store, f"{ENGINE}/a.py", SAYS + 'x = "Postgres"\n'),
        *(f"{SERVER}/serve.py", SAYS + 'x = "Postgres"\n'),
    ),
    (
        *(walls.drivers_stay_in_their_folders, f"{STORE}/a.py", SAYS + "import apsw\n"),
        *(f"{SQLITE}/a.py", SAYS + "from apsw import Connection\n"),
    ),
    (
        *(walls.drivers_stay_in_their_folders, f"{SDK}/a.py", SAYS + "import httptools\n"),
        *(f"{SDK}/http_connection.py", SAYS + "import httptools\n"),
    ),
    (
        *(walls.clocks_and_dice_stay_in_their_seams, f"{ENGINE}/a.py", SAYS + "import time\n"),
        *(f"{ENGINE}/clock.py", SAYS + "import time\n"),
    ),
    (
        *(walls.clocks_and_dice_stay_in_their_seams, f"{CORE}/a.py", SAYS + "import asyncio\n"),
        *(f"{ENGINE}/a.py", SAYS + "import asyncio\n"),
    ),
    (
        *(walls.clocks_and_dice_stay_in_their_seams, f"{CORE}/a.py"),
        SAYS + "import datetime\nx = datetime.datetime.now(datetime.UTC)\n",
        *(f"{CORE}/a.py", SAYS + "now = 1\n"),
    ),
]


def complaints(rule: Rule, root: Path, path: str, text: str) -> list[str]:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return list(rule(Tree(root)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_a_rule_finds_what_is_planted_and_nothing_else(
    case: tuple[Rule, str, str, str, str], tmp_path: Path
) -> None:
    rule, bad_path, bad, good_path, good = case
    assert len(complaints(rule, tmp_path / "bad", bad_path, bad)) == 1
    assert complaints(rule, tmp_path / "good", good_path, good) == []


def test_every_rule_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(RULES)
