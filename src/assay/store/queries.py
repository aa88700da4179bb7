"""Loads the named queries of `sql/*.sql` and speaks them in a store's dialect. Holds no SQL itself.

A query is shared by both stores. What differs are a few words: `@ints(n)` and `@texts(n)` (any of
the list in parameter n), `@run`, `@activity`, `@timer` (the columns of a row, in the order of the
model). A store may lay an overlay file over it: same names, same parameters, other text.
"""

import re
from collections.abc import Callable
from importlib.resources import files

from assay.store.rows import ACTIVITY_COLUMNS, RUN_COLUMNS, TIMER_COLUMNS

Speak = Callable[[str], str]
_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_WORDS = {
    "@run": ", ".join(f"run.{name}" for name in RUN_COLUMNS),
    "@activity": ", ".join(f"activity.{name}" for name in ACTIVITY_COLUMNS),
    "@timer": ", ".join(f"timer.{name}" for name in TIMER_COLUMNS),
}
_WORD = re.compile(r"@(?:run|activity|timer)\b")
_PARAMETER = re.compile(r"\$(\d)|@(?:ints|texts)\((\d)\)")


def load_queries(speak: Speak, overlay: str | None = None) -> dict[str, str]:
    """All named queries in one dialect."""
    shared: dict[str, str] = {}
    for file in sorted((files("assay.store") / "sql").iterdir(), key=lambda path: path.name):
        for name, text in _parse(file.read_text()).items():
            if name in shared:
                raise AssertionError(f"two queries are named {name}")
            shared[name] = text
    for name, text in _parse(overlay or "").items():
        if _parameters(shared[name]) != _parameters(text):
            raise AssertionError(f"the overlay of {name} takes other parameters")
        shared[name] = text
    return {name: speak(_WORD.sub(_columns, text)) for name, text in shared.items()}


def _columns(word: re.Match[str]) -> str:
    return _WORDS[word[0]]


def _parse(text: str) -> dict[str, str]:
    parts = _NAMED.split(text)[1:]
    return {name: _body(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _body(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")


def _parameters(text: str) -> set[str]:
    return {found[1] or found[2] for found in _PARAMETER.finditer(text)}
