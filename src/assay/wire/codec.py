"""JSON in: bytes checked once, requests read from them, payloads kept as the text they are.

A payload of a user is `msgspec.Raw` in a request and `str` everywhere else; it is never rebuilt.
msgspec skips over it with its full grammar, so that NaN, bad numbers and control characters fail
there; what it lets pass (bytes that are not UTF-8, deep nesting) is looked for here first.

Whatever the bytes, each look is one pass over them: the expressions below match a fixed number of
bytes, and white space and strings are left to `strip` and `split`. Proof: `test_hostile_bodies.py`.
"""

import json
import math
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Generic, TypeVar

import msgspec

from assay.errors import BadShape, BadValue, Refusal

DEEPEST = 500
NULL = msgspec.Raw(b"null")

_SPACE = b" \t\r\n"
_EMPTY = (b"[]", b"{}")
_PAIR = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..", re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS = b"[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_STEP = [{"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(code), 0) for code in range(256)]
_OUT_OF_RANGE = "out of range"

_skim = msgspec.json.Decoder(msgspec.Raw).decode

Request = TypeVar("Request")


class Body(Generic[Request]):
    """How the body of a request is read."""

    def __init__(self, kind: type[Request], *, optional: bool = False) -> None:
        self.kind = kind
        self.optional = optional
        self._decode = msgspec.json.Decoder(kind).decode

    def read(self, data: bytes) -> Request:
        """The request, or a refusal: 400 for what is not JSON, 422 for JSON of another shape."""
        if self.optional and _is_nothing(data):
            return self.kind()
        check_text(data)
        try:
            return self._decode(data)
        except msgspec.ValidationError as error:
            check_grammar(data)  # what comes after the misfit may not even be JSON
            raise refusal_of(error, data, self._decode) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise not_json(error) from None


def optional(kind: type[Request]) -> Body[Request]:
    """How a body is read that may be left out."""
    return Body(kind, optional=True)


def payload_text(raw: msgspec.Raw) -> str | None:
    """A user's value as its JSON text; null and absent are stored alike, as nothing."""
    text = bytes(raw).decode()
    return None if text == "null" else text


def object_text(field: str, raw: msgspec.Raw, *, nul: bool = False) -> str:
    """The text of what `check_object` has let pass; U+0000 in it only where that is said."""
    text = bytes(raw).strip(_SPACE)
    if text[:1] != b"{":
        return "{}"
    if not nul and b"\\u0000" in text and _holds_nul(text):
        raise BadValue(f"{field} holds the character U+0000")
    return text.decode()


def check_object(field: str, raw: msgspec.Raw) -> None:
    """Refuse what is no object, while a body is read; some clients write an empty one as `[]`."""
    text = bytes(raw).strip(_SPACE)
    if text[:1] == b"{":
        return
    if text[:1] == b"[" and not text[1:-1].strip(_SPACE):
        return
    raise ValueError(f"Expected `object` in `{field}`")


def check_failure(raw: msgspec.Raw) -> None:
    """Refuse the `failure` of an error that is neither an object nor null, while a body is read."""
    if raw != NULL:
        check_object("failure", raw)


def failure_text(raw: msgspec.Raw) -> str | None:
    """The text of what `check_failure` has let pass, or nothing."""
    return None if raw == NULL else object_text("failure", raw, nul=True)


def object_in_text(field: str, text: str) -> str:
    """A JSON object in a query: `check_object` and `object_text` at once."""
    data = text.encode()
    try:
        check_text(data)
        check_grammar(data)
        check_object(field, msgspec.Raw(data))
    except (BadValue, ValueError):
        raise BadValue(f"{field} must be a JSON object") from None
    return object_text(field, msgspec.Raw(data))


def _holds_nul(text: bytes) -> bool:
    """Whether any string in it, keys included, holds U+0000."""
    return b"\\u0000" in text.replace(rb"\\", b"")


def check_text(data: bytes) -> None:
    """Refuse what msgspec would let pass inside of payloads and unknown fields."""
    check_utf8(data)
    check_payloads(data)


def check_utf8(data: bytes) -> None:
    """Refuse bytes that are no text."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise BadValue(f"the body is not UTF-8: {error}") from None


def check_payloads(data: bytes, *, within: int = 0) -> None:
    """Refuse text that nobody could store or read, of a part that is nested within so many."""
    deepest = DEEPEST - within
    if (b"\\ud" in data or b"\\uD" in data) and _has_lone_surrogate(data):
        raise BadValue("the body is not JSON: unpaired surrogate")
    if data.count(b"[") + data.count(b"{") > deepest and _depth(data) > deepest:
        raise BadValue(f"the body is nested deeper than {DEEPEST}")


def check_grammar(data: bytes) -> None:
    """Refuse what is not JSON from its first byte to its last."""
    try:
        _skim(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_json(error) from None


def refusal_of(
    error: msgspec.ValidationError, data: bytes | msgspec.Raw, decode: Callable[[bytes], object]
) -> Refusal:
    """Why JSON did not fit; that all of it is JSON has been checked.

    msgspec stops at a number beyond all bounds without asking whether a number belongs there: so
    it is asked again with a small one.
    """
    message = str(error)
    if _OUT_OF_RANGE not in message:
        return BadShape(message)
    small = json.loads(bytes(data), parse_int=_small, parse_float=_small)
    try:
        decode(msgspec.json.encode(small))
    except msgspec.ValidationError as misfit:
        return BadShape(str(misfit))
    return BadValue(message)


def not_json(error: Exception) -> BadValue:
    """The text breaks the grammar."""
    return BadValue(f"the body is not JSON: {error}")


def _small(text: str) -> float:
    """The number, if it has bounds; its digits may be too many to be read as an integer."""
    value = float(text)
    return value if math.isfinite(value) else 0.0


def _is_nothing(data: bytes) -> bool:
    """No body, null, or an empty object or array."""
    text = data.strip(_SPACE)
    if text in (b"", b"null"):
        return True
    return text[:1] + text[-1:] in _EMPTY and not text[1:-1].strip(_SPACE)


def _has_lone_surrogate(data: bytes) -> bool:
    """Without escaped backslashes, and without pairs, is any half of a pair left?"""
    return _SURROGATE.search(_PAIR.sub(b"", data.replace(rb"\\", b""))) is not None


def _depth(data: bytes) -> int:
    """How deep it is nested; where it breaks the grammar, any number."""
    pieces = data.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
    brackets = b"".join(pieces[::2]).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)
