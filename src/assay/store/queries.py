"""Loads the named queries of `sql/*.sql` and speaks them in a store's dialect. Holds no SQL itself.

A query is shared by both stores. What differs are a few words:

- `@ints(n)`, `@texts(n)`: any of the list in parameter n; `@pairs(n)`: rows (key, value) of the
  JSON array of pairs in parameter n
- `@run`, `@activity`, `@attempt`, `@timer`, `@schedule`, `@worker`: the columns of a row, in the
  order of the model
- `@array(…)`, `@group(…)`: values as a JSON array, rows as one
- `@each_status{…}`: the text once for each status of a run, which is `@status` in it, as arms of a
  UNION ALL
- `@newest(n){…}`: arms of runs, each from an index that has them newest first, merged in that order
  as far as the first n
- `@the(name)`: the text of that query

A store may lay an overlay file over it: same names, same parameters, other text.
"""

import re
from collections.abc import Callable
from importlib.resources import files

from assay.model.attempt import Attempt
from assay.model.states import RunStatus
from assay.model.worker import Worker
from assay.store.rows import ACTIVITY_COLUMNS, RUN_COLUMNS, SCHEDULE_COLUMNS, TIMER_COLUMNS

Speak = Callable[[str], str]
_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_WORDS = {
    "@run": ", ".join(f"run.{name}" for name in RUN_COLUMNS),
    "@activity": ", ".join(f"activity.{name}" for name in ACTIVITY_COLUMNS),
    "@attempt": ", ".join(f"attempt.{name}" for name in Attempt.__struct_fields__),
    "@timer": ", ".join(f"timer.{name}" for name in TIMER_COLUMNS),
    "@schedule": ", ".join(f"schedule.{name}" for name in SCHEDULE_COLUMNS),
    "@worker": ", ".join(f"worker.{name}" for name in Worker.__struct_fields__),
}
_WORD = re.compile(r"@(?:run|activity|attempt|timer|schedule|worker)\b")
_PARAMETER = re.compile(r"\$(\d+)|@(?:ints|texts|pairs)\((\d+)\)")
_THE = re.compile(r"@the\((\w+)\)")
_EACH_STATUS = re.compile(r"@each_status\{(.*?)\}", re.DOTALL)


def load_queries(speak: Speak, overlay: str | None = None) -> dict[str, str]:
    """All named queries in one dialect."""
    shared: dict[str, str] = {}
    for file in sorted((files("assay.store") / "sql").iterdir(), key=lambda path: path.name):
        for name, text in _parse(file.read_text()).items():
            if name in shared:
                raise AssertionError(f"two queries are named {name}")
            shared[name] = text
    own = _parse(overlay or "")
    whole = {name: _whole(text, shared) for name, text in shared.items()}
    for name, text in own.items():
        whole[name] = _whole(text, {**shared, **own})
        if _parameters(_whole(shared[name], shared)) != _parameters(whole[name]):
            raise AssertionError(f"the overlay of {name} takes other parameters")
    return {name: speak(text) for name, text in whole.items()}


def _whole(text: str, named: dict[str, str]) -> str:
    """The text with what it names put in."""
    while _THE.search(text):
        text = _THE.sub(lambda found: named[found[1]], text)
    return _WORD.sub(_columns, _EACH_STATUS.sub(_arms, text))


def _arms(found: re.Match[str]) -> str:
    return "\nUNION ALL\n".join(found[1].replace("@status", status) for status in RunStatus)


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
