"""The words of the shared queries, in SQLite: lists are JSON arrays."""

import re

_LIST = re.compile(r"@(?:ints|texts)\((\d+)\)")
_PAIRS = re.compile(r"@pairs\((\d+)\)")
_NEWEST = re.compile(r"@newest\(.*?\)\{(.*?)\}", re.DOTALL)
_PARAMETER = re.compile(r"\$(\d+)")


def speak(text: str) -> str:
    """A shared query as SQLite reads it. Arms that are in order it merges by itself."""
    text = _LIST.sub(r"(SELECT value FROM json_each(?\1))", text)
    text = _PAIRS.sub(
        r"(SELECT value ->> 0 AS key, value ->> 1 AS value FROM json_each(?\1))", text
    )
    text = _NEWEST.sub(r"\1", text)
    text = text.replace("@array(", "json_array(").replace("@group(", "json_group_array(")
    return _PARAMETER.sub(r"?\1", text)
