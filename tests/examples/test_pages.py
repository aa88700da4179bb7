"""What the tutorial, the how-tos and the README show is what happens when it is typed in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.examples.pages import Command, Page, page, run
from tests.examples.running import ROOT
from tests.typing.test_checkers import basedpyright

RUN_ELSEWHERE = {"testing.md"}  # tests/testing
PAGES = [
    path
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
        *sorted((ROOT / "docs" / "howto").glob("*.md")),
    )
    if path.name not in RUN_ELSEWHERE
]

PLANTED = """
```python run
print("one")
```
```python
raise RuntimeError("this is not run")
```
```python run two.py
import planted
print("two", 8080)
```
```console run
$ python two.py    # which says two things
one
two …
$ python planted.py
```
"""


def read(path: Path) -> Page:
    return page(path.read_text(encoding="utf-8"), path.stem.replace("-", "_"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_shows_happens(path: Path, tmp_path: Path) -> None:
    found = read(path)
    assert found.files
    run(found, tmp_path)


def test_the_code_of_all_pages_is_typed(tmp_path: Path) -> None:
    for path in PAGES:
        folder = tmp_path / path.stem
        folder.mkdir()
        for name, body in read(path).files.items():
            (folder / name).write_text(body, encoding="utf-8")
    each = [{"root": path.stem, "extraPaths": [str(ROOT / "src")]} for path in PAGES]
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(json.dumps({"typeCheckingMode": "strict", "executionEnvironments": each}))
    done = basedpyright("--project", settings)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_is_read_as_it_is_written(tmp_path: Path) -> None:
    found = page(PLANTED, "planted")
    assert [*found.files] == ["planted.py", "two.py"]
    assert found.commands == [
        Command("python two.py", ["one", "two …"]),
        Command("python planted.py"),
    ]
    run(found, tmp_path)
    assert "8080" not in (tmp_path / "two.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("true", "wrong"),
    [("one\ntwo", "one\nthree"), ('print("one")', "raise SystemExit(1)"), ("two …", "two")],
)
def test_a_page_that_is_wrong_is_found(true: str, wrong: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run(page(PLANTED.replace(true, wrong), "planted"), tmp_path)
