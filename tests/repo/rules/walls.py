"""Walls: what may be spoken of only in certain folders."""

import ast
import re
from collections.abc import Iterator

from tests.repo.rules.tree import Tree, imported, strings

STORE = "src/assay/store/"

QUERY = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT\s+(OR \w+\s+)?INTO|UPDATE\b.+\bSET|DELETE\s+FROM"
    r"|(CREATE|ALTER|DROP)\s+(UNIQUE )?(TABLE|INDEX)|BEGIN IMMEDIATE|PRAGMA \w)\b",
    re.DOTALL,
)

DIALECT = re.compile(r"sqlite|postgres", re.IGNORECASE)
MAY_NAME_A_DIALECT = (
    STORE,
    "src/assay/cli/",
    "src/assay/server/settings.py",
    "src/assay/server/serve.py",
)

DRIVERS: dict[str, tuple[str, ...]] = {
    "apsw": ("src/assay/store/sqlite/",),
    "asyncpg": ("src/assay/store/postgres/",),
    "click": ("src/assay/cli/",),
    "httptools": ("src/assay/server/", "src/assay/sdk/http"),  # both ends of a connection
    "sqlite3": ("nowhere",),
    "uvicorn": ("src/assay/server/",),
    "uvloop": ("src/assay/server/",),
}

PURE = ("src/assay/core/", "src/assay/model/")
HAND = ("src/assay/engine/",)
SEAMS = ("src/assay/engine/clock.py", "src/assay/engine/runner.py", "src/assay/engine/seeds.py")
NOT_WHEN_PURE = {"asyncio", "logging", "os", "socket", "threading"}
NOT_BELOW_THE_SEAMS = {"random", "secrets", "time", "uuid"}
NAMING_FIELDS = ("id", "attr", "arg", "name", "asname", "module")  # of the classes in `ast`
CLOCK_READINGS = {"now", "utcnow", "today"}


def queries_stay_in_the_store(tree: Tree) -> Iterator[str]:
    for file in tree.product:
        if not file.path.startswith(STORE):
            for text, line in strings(file.syntax):
                if QUERY.search(text):
                    yield f"{file.path}:{line}: a query outside of the store"


def dialects_stay_in_the_store(tree: Tree) -> Iterator[str]:
    for file in tree.product:
        if file.path.startswith(MAY_NAME_A_DIALECT):
            continue
        for node in ast.walk(file.syntax):
            for name in names(node):
                if DIALECT.search(name):
                    yield f"{file.path}:{getattr(node, 'lineno', 1)}: {name!r} names a database"
        for text, line in strings(file.syntax):
            if DIALECT.search(text):
                yield f"{file.path}:{line}: {text!r} names a database"


def names(node: ast.AST) -> list[str]:
    """Give the names that a piece of syntax says or introduces."""
    said = (getattr(node, field, None) for field in NAMING_FIELDS)
    return [name for name in said if isinstance(name, str)]


def drivers_stay_in_their_folders(tree: Tree) -> Iterator[str]:
    for file in tree.product:
        for name, line in imported(file.syntax):
            homes = DRIVERS.get(name.split(".")[0])
            if homes is not None and not file.path.startswith(homes):
                yield f"{file.path}:{line}: {name} may be imported in {' and '.join(homes)} only"


def clocks_and_dice_stay_in_their_seams(tree: Tree) -> Iterator[str]:
    for file in tree.product:
        if not file.path.startswith(PURE + HAND) or file.path in SEAMS:
            continue
        banned = NOT_BELOW_THE_SEAMS | (NOT_WHEN_PURE if file.path.startswith(PURE) else set())
        for name, line in imported(file.syntax):
            if name.split(".")[0] in banned:
                yield f"{file.path}:{line}: {name}: time, chance and ids are arguments here"
        for node in ast.walk(file.syntax):
            if isinstance(node, ast.Attribute) and node.attr in CLOCK_READINGS:
                if {"date", "datetime"}.intersection(names(node.value)):
                    yield f"{file.path}:{node.lineno}: {node.attr}: time is an argument here"
