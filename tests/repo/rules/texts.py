"""Words: what files are called, what they say of themselves, and what may not stand in them."""

import ast
import itertools
import re
from collections.abc import Iterator

from tests.repo.rules.tree import File, Tree

EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
LATER = re.compile("|".join(rf"\b{word}\b" for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X")))
FENCE = ("```", "~~~")
DIALECTS = ("sqlite", "postgres")
PLACE = re.compile(r"://|@ |--\S*(?:index|find-links)|\b[\w-]+\.(?:org|com|net|io|dev)\b")


def files_are_named_for_what_they_hold(tree: Tree) -> Iterator[str]:
    for file in tree.python:
        for part in file.path.removesuffix(".py").split("/"):
            if part.strip("_") in EMPTY_NAMES:
                yield f"{file.path}:1: {part!r} names nothing: which noun lives here?"


def modules_say_what_they_hold(tree: Tree) -> Iterator[str]:
    for file in tree.python:
        if not ast.get_docstring(file.syntax):
            yield f"{file.path}:1: the first statement must be a docstring"


def markdown_has_one_title(tree: Tree) -> Iterator[str]:
    for file in tree.files(".md"):
        titles = [line for line in prose(file) if line.startswith("# ")]
        if len(titles) != 1:
            yield f"{file.path}:1: {len(titles)} titles where one is wanted"


def prose(file: File) -> Iterator[str]:
    """Yield the lines outside fenced code."""
    fenced = False
    for line in file.lines:
        if line.lstrip().startswith(FENCE):
            fenced = not fenced
        elif not fenced:
            yield line


def nothing_is_left_for_later(tree: Tree) -> Iterator[str]:
    for file in tree.files(".py", ".sql", ".md", ".toml", ".ts", ".tsx", ".css"):
        for number, line in enumerate(file.lines, 1):
            if found := LATER.search(line):
                yield f"{file.path}:{number}: {found[0]}: do it, or say it where plans are kept"


def limits_have_reasons(tree: Tree) -> Iterator[str]:
    for file in tree.product:
        if file.path.endswith("engine/limits.py"):
            for node in file.syntax.body:
                if isinstance(node, ast.Assign | ast.AnnAssign) and not explained(file, node):
                    yield f"{file.path}:{node.lineno}: a limit needs its reason beside it"


def explained(file: File, node: ast.stmt) -> bool:
    """Look for a remark on the statement's lines, right below it, or above its group of lines."""
    last = node.end_lineno or node.lineno
    beside = any("# " in line for line in file.lines[node.lineno - 1 : last])
    below = "".join(file.lines[last : last + 1])
    group = itertools.takewhile(str.strip, reversed(file.lines[: node.lineno - 1]))
    above = any(line.startswith("#") for line in group)
    return beside or above or below.startswith(("#", '"""'))


def migrations_come_in_pairs(tree: Tree) -> Iterator[str]:
    numbers = {
        dialect: {
            file.name.split("_")[0]
            for file in tree.files(".sql")
            if file.folder.endswith(f"store/{dialect}/migrations")
        }
        for dialect in DIALECTS
    }
    for dialect in DIALECTS:
        for number in sorted(set().union(*numbers.values()) - numbers[dialect]):
            yield f"src/assay/store/{dialect}/migrations:1: number {number} is missing"


def locks_name_no_place(tree: Tree) -> Iterator[str]:
    for file in tree.files(".txt", ".lock", ".json"):
        if file.name == "package-lock.json":
            pattern = re.compile('"resolved"')
        elif file.name.startswith(("constraints", "requirements")) or file.name.endswith(".lock"):
            pattern = PLACE
        else:
            continue
        for number, line in enumerate(file.lines, 1):
            if pattern.search(line):
                yield f"{file.path}:{number}: names a place to download from"
