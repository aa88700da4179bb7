"""The words of the shared queries, in SQLite: lists are JSON arrays."""

import re

_LIST = re.compile(r"@(?:ints|texts)\((\d)\)")
_PARAMETER = re.compile(r"\$(\d)")


def speak(text: str) -> str:
    """A shared query as SQLite reads it."""
    text = _LIST.sub(r"(SELECT value FROM json_each(?\1))", text)
    return _PARAMETER.sub(r"?\1", text)
