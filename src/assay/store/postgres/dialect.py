"""The words of the shared queries, in PostgreSQL: lists are arrays."""

import re

_INTS = re.compile(r"IN @ints\((\d)\)")
_TEXTS = re.compile(r"IN @texts\((\d)\)")


def speak(text: str) -> str:
    """A shared query as PostgreSQL reads it."""
    text = _INTS.sub(r"= ANY($\1::bigint[])", text)
    return _TEXTS.sub(r"= ANY($\1::text[])", text)
