"""Writing: a value as JSON, strictly. What is wrong is raised as it comes; `blame` explains it.

msgspec writes NaN and Infinity as null and any nesting that fits its stack, so both are looked
for afterwards, and only in texts that can hold them.
"""

import inspect
import math
from itertools import accumulate
from typing import Any

import msgspec

from assay.sdk.convert import models
from assay.wire.codec import DEEPEST as DEEPEST_BODY

DEEPEST = DEEPEST_BODY - 20  # the engine counts from the root of the body around the payload

REMEDY = (
    "send plain values, dataclasses, msgspec.Struct, attrs or pydantic models, or give the client "
    "a codec of its own"
)
TOO_DEEP = f"it is nested deeper than {DEEPEST}; send it flatter, as a list of rows"

_NULL = b"null"
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_MARKS = bytes(set(range(256)) - set(b'[]{}"'))
_STEP = [{"[": 1, "]": -1}.get(chr(code), 0) for code in range(256)]
_HARMLESS = {str, int, bool, type(None)}
_LISTS = {list, tuple, set, frozenset}
_FLAT_ROUNDS = 8  # usual data is gone by then


class NotJson(ValueError):
    """Why a value is no JSON, and what to do; these are the reasons that msgspec has not got."""


def plain(value: object) -> object:
    """What stands for a value that msgspec does not know."""
    if isinstance(value, str):
        return str.__str__(value)  # of subclasses: what they hold, not what they say of themselves
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if models.is_model(type(value)):
        return models.dump(value)
    remedy = "did you forget to await it?" if inspect.isawaitable(value) else REMEDY
    raise NotJson(f"objects of type {type(value).__name__} are not JSON; {remedy}")


_encode = msgspec.json.Encoder(enc_hook=plain).encode


def write(value: object) -> bytes:
    """The value as JSON."""
    if value is None:
        return _NULL
    text = _encode(value)
    if len(text) > 2 * DEEPEST and _is_too_deep(text):
        raise NotJson(TOO_DEEP)
    if _NULL in text and not is_finite(value):
        raise NotJson("NaN and Infinity are not JSON; send None or a text in their place")
    return text


def _is_too_deep(text: bytes) -> bool:
    return text.count(b"[") + text.count(b"{") > DEEPEST and nesting(text) > DEEPEST


def nesting(text: bytes) -> int:
    """How many arrays and objects stand in one another at the deepest place of valid JSON."""
    marks = text.replace(rb"\\", b"").replace(rb"\"", b"").translate(_BRACKETS, _NOT_MARKS)
    # Two quotes in a row are a string without brackets, or the border between two strings.
    pieces = marks.replace(b'""', b"").split(b'"')
    brackets = b"".join(pieces[::2])
    rounds = 0
    while brackets and rounds < _FLAT_ROUNDS:  # each takes the innermost level
        brackets = brackets.replace(b"[]", b"")
        rounds += 1
    return rounds + max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def is_finite(value: object) -> bool:
    """Whether all numbers in it are numbers; it is known that it can be written."""
    pending: list[Any] = [value]
    for node in pending:  # which grows meanwhile
        kind = type(node)
        if kind in _HARMLESS:
            continue
        if kind is dict:
            pending += node.values()
        elif kind in _LISTS:
            pending += node
        elif kind is not float:
            pending += _simpler(node)
        elif not math.isfinite(node):
            return False
    return True


def _simpler(value: object) -> list[object]:
    """The same in builtin types, and what is in its models, as far as they hold numbers."""
    aside: list[object] = []

    def simple(part: object) -> object:
        if isinstance(part, float):
            return float.__float__(part)
        if isinstance(part, msgspec.Raw):
            return msgspec.json.decode(part)
        if models.is_model(type(part)):
            aside.append(models.dump_numbers(part))
        return None

    return [msgspec.to_builtins(value, enc_hook=simple), *aside]
