"""Search attributes: a JSON object on the run, merged as text, looked up by canonical values.

Two values are equal for the filter when their canonical texts are: numbers by value whatever their
notation, objects whatever the order of their keys (contract §8.10). Values are never rebuilt for
storing; the canonical text exists for the look-up alone.
"""

import hashlib
import json
import re

import msgspec

from assay.model.decision import Attribute
from assay.model.run import Run

ENGINE_VERSION = "assay_engine_version"

# A longer text is looked up by its digest; index entries stay small.
LOOKED_UP_LONGEST = 100
_DIGEST = "#"

_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
# Exponents beyond this are texts to us: Python refuses to read integers of that many digits.
_EXPONENT_DIGITS = 4_000

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode = msgspec.json.encode


class _Number(str):
    """The digits of a number in their canonical form, so that no notation makes a difference."""

    __slots__ = ()


def merged(attributes: str | None, patch: str) -> str:
    """The attributes with those of the patch, which win."""
    if attributes is None:
        return patch
    return _encode({**_object.decode(attributes), **_object.decode(patch)}).decode()


def with_engine_version(attributes: str | None, version: str) -> str:
    """What a start records: the engine's version, unless the caller gave that key."""
    own = _encode({ENGINE_VERSION: version}).decode()
    return own if attributes is None else merged(own, attributes)


def pairs_of(attributes: str | None) -> dict[str, str]:
    """Every attribute with its canonical value."""
    if attributes is None:
        return {}
    return {key: canonical(raw) for key, raw in _object.decode(attributes).items()}


def attributes_of(run: Run, pairs: dict[str, str]) -> tuple[Attribute, ...]:
    """The entries of the look-up for these attributes of a run."""
    return tuple(
        Attribute(run.namespace, key_text(key), value, run.created_at, run.no)
        for key, value in pairs.items()
    )


def key_text(key: str) -> str:
    """A key as the look-up holds it."""
    return _short(key)


def canonical(raw: bytes | msgspec.Raw | str) -> str:
    """The text that equal values share; a digest where that would be long."""
    text = raw if isinstance(raw, str) else bytes(raw).decode()
    short = _PLAIN.fullmatch(text)
    if short is None:
        value = json.loads(text, parse_int=_number, parse_float=_number)
        text = _written(value)
    return _short(text)


def _short(text: str) -> str:
    """A long text by its digest. No JSON text looks like one, and a key that does has one too."""
    if len(text) <= LOOKED_UP_LONGEST and not text.startswith(_DIGEST):
        return text
    return _DIGEST + hashlib.sha256(text.encode()).hexdigest()


# Texts that are canonical as they stand: words, small integers, strings without an escape.
_PLAIN = re.compile(r'null|true|false|0|-?[1-9][0-9]{0,15}|"[A-Za-z0-9 ._~:/+@-]{0,90}"')


def _number(text: str) -> _Number:
    """Sign, digits without zeros at either end, and the power of ten: equal for equal values."""
    match = _NUMBER.fullmatch(text)
    assert match is not None
    sign, whole, part, power = match.groups()
    part = part or ""
    digits = (whole + part).lstrip("0")
    if not digits:
        return _Number("0")
    kept = digits.rstrip("0")
    if power is not None and len(power) > _EXPONENT_DIGITS:
        return _Number(f"{sign}{kept}e{power.lstrip('+')}")
    exponent = int(power or 0) - len(part) + len(digits) - len(kept)
    if 0 <= exponent <= 15 and len(kept) + exponent <= 16:
        return _Number(sign + kept + "0" * exponent)
    return _Number(f"{sign}{kept}e{exponent}")


def _written(value: object) -> str:
    """Written by plain loops: a level of nesting must cost one frame of the stack, no more."""
    if isinstance(value, _Number):
        return str.__str__(value)
    parts: list[str] = []
    if isinstance(value, list):
        for item in value:
            parts.append(_written(item))  # noqa: PERF401 - see above
        return f"[{','.join(parts)}]"
    if isinstance(value, dict):
        for key in sorted(value):
            parts.append(f"{json.dumps(key, ensure_ascii=False)}:{_written(value[key])}")  # noqa: PERF401 - see above
        return f"{{{','.join(parts)}}}"
    return json.dumps(value, ensure_ascii=False)
