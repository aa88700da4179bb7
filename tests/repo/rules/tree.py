"""A tree of files as the rules see it: paths with slashes, text, parsed Python."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LEAVE = {".git", ".venv", ".cache", "node_modules", "dist", "__pycache__"}
FOLDERS_OF_PYTHON = ("src", "tests", "benchmarks")


@dataclass(frozen=True)
class File:
    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, *suffixes: str) -> Iterator[File]:
        for path in sorted(self.root.rglob("*")):
            relative = path.relative_to(self.root)
            if (
                path.suffix in suffixes
                and path.is_file()
                and not LEAVE.intersection(relative.parts)
            ):
                yield File(relative.as_posix(), path.read_text(encoding="utf-8"))

    @cached_property
    def python(self) -> list[File]:
        starts = tuple(f"{folder}/" for folder in FOLDERS_OF_PYTHON)
        return [file for file in self.files(".py") if file.path.startswith(starts)]

    @cached_property
    def product(self) -> list[File]:
        return [file for file in self.python if file.path.startswith("src/assay/")]


def strings(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the strings that are values, with their lines: f-strings whole, docstrings never."""
    seen = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if id(node) in seen:
            continue
        if isinstance(node, ast.JoinedStr):
            seen.update(id(part) for part in node.values)
            said = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(map(str, said)), node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def imported(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the full name of everything imported, with its line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno
