"""The rules for single values: what is blank, too long, out of range, or no text at all."""

import re

from assay.errors import BadValue
from assay.model.time import LONGEST_SECONDS

LONGEST_NAME = 1_000
LARGEST_INT = 2**53
LONGEST_HOLD_SECS = 60

MAIN = "main"
DEFAULT_QUEUE = "default"


_INTEGER = re.compile(r"([+-]?[0-9]{1,20})(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,3})?")
_TOKEN = re.compile("c[0-9a-f]{1,16}")
_NUL = "\0"


def whole(field: str, value: float) -> int:
    """The integer meant; called while a body is read, so that anything else is a wrong shape."""
    if isinstance(value, int):
        return value
    if not value.is_integer():
        raise ValueError(f"Expected `int`, got `float` in `{field}`")
    return int(value)


def integer(field: str, value: float, least: int | None = None) -> int:
    """An integer within the bounds."""
    if not -LARGEST_INT <= value <= LARGEST_INT:
        raise BadValue(f"{field} is out of range")
    if least is not None and value < least:
        raise BadValue(f"{field} must be at least {least}")
    return int(value)


def integer_text(field: str, text: str, least: int | None = None) -> int:
    """An integer in a path or a query."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise BadValue(f"{field} must be an integer, not {text!r}")
    return integer(field, int(match[1]), least)


def activity_no(text: str) -> int:
    """The number of an activity in a path."""
    return integer_text("activity id", text)


def claim_number(token: str) -> int:
    """The number of a claim, from the fence that clients see."""
    if _TOKEN.fullmatch(token) is None:
        raise BadValue(f"token {token!r} is none that this engine gave")
    return int(token[1:], 16)


def number_text(field: str, text: str) -> float:
    """A number in a query."""
    if _NUMBER.fullmatch(text) is None:
        raise BadValue(f"{field} must be a number, not {text!r}")
    return float(text)


def positive(field: str, value: float) -> float:
    """A number above zero."""
    if not value > 0:
        raise BadValue(f"{field} must be above 0")
    return value


def seconds(field: str, value: float) -> float:
    """A time span the engine can count with."""
    if value > LONGEST_SECONDS:
        raise BadValue(f"{field} must not be above {LONGEST_SECONDS} seconds")
    return value


def delay(field: str, value: float) -> float:
    """A time span that may be none."""
    if value < 0:
        raise BadValue(f"{field} must not be negative")
    return seconds(field, value)


def share(field: str, value: float) -> float:
    """A part of a whole."""
    if not 0 <= value <= 1:
        raise BadValue(f"{field} must lie between 0 and 1")
    return value


def hold_secs(value: float | None) -> float:
    """How long a poll may be held."""
    if value is None:
        return 0.0
    if not 0 <= value <= LONGEST_HOLD_SECS:
        raise BadValue(f"wait_secs must lie between 0 and {LONGEST_HOLD_SECS}")
    return value


def name(field: str, value: str) -> str:
    """A new name, id, type, queue or identity."""
    if not value or value.isspace():
        raise BadValue(f"{field} must not be blank")
    return label(field, value)


def unicode(field: str, value: str) -> str:
    """A text out of a path, whatever it holds."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadValue(f"{field} is not UTF-8") from None
    return value


def identifier(field: str, value: str) -> str:
    """An id of something that may exist."""
    if value.isascii():
        if _NUL not in value:
            return value
        raise BadValue(f"{field} holds the character U+0000")
    if _NUL in unicode(field, value):
        raise BadValue(f"{field} holds the character U+0000")
    return value


def label(field: str, value: str) -> str:
    """A name that may be blank."""
    identifier(field, value)
    if len(value) * 4 > LONGEST_NAME and len(value.encode()) > LONGEST_NAME:
        raise BadValue(f"{field} is longer than {LONGEST_NAME} bytes")
    return value


def filled(field: str, value: str) -> str:
    """Free text that must say something."""
    if not value or value.isspace():
        raise BadValue(f"{field} must not be blank")
    return text(value)


def text(value: str) -> str:
    """Free text; the one character that not every database can hold is replaced."""
    return value.replace(_NUL, "\ufffd") if _NUL in value else value


def optional_text(value: str | None) -> str | None:
    """Free text, if any."""
    return None if value is None else text(value)


def new_id(value: str | None) -> str | None:
    """The id of a new run; blank equals absent."""
    return None if value is None or not value.strip() else name("workflow_id", value)


def queue(value: str | None) -> str:
    """A task queue, or the usual one."""
    return DEFAULT_QUEUE if value is None else name("task_queue", value)


def namespace(value: str | None) -> str:
    """A namespace, or the usual one."""
    return MAIN if value is None else identifier("namespace", value)


def span(field: str, value: float) -> float:
    """A time span above zero."""
    return seconds(field, positive(field, value))
