"""Blame: where in a value the part is that cannot be written, and what to do about it.

Only asked when writing has failed, so it may be slow: from the root it follows the first part that
cannot be written by itself, until all parts of a part can.
"""

import dataclasses
from collections.abc import Iterator

import msgspec

from assay.sdk.convert import models
from assay.sdk.convert.writing import DEEPEST, REMEDY, TOO_DEEP, NotJson, is_finite, write
from assay.sdk.faults import PayloadError

LONGEST_PATH = 200

Part = tuple[str, object]


def blame(value: object, error: Exception) -> PayloadError:
    """The error for a value that `write` has refused with this one."""
    path = "$"
    line = {id(value): value}  # they are kept, lest a property's value leaves its id to another
    while len(line) <= DEEPEST:
        found = _first_bad_part(value)
        if found is None:
            return _refusal(path, _reason(value) or _told(error))
        step, value = found
        path += step
        if id(value) in line:
            return _refusal(path, "it holds itself; send the id of what is meant instead")
        line[id(value)] = value
    return _refusal(path, TOO_DEEP)


def _refusal(path: str, reason: str) -> PayloadError:
    shown = path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]} ..."
    return PayloadError(f"cannot encode value at {shown}: {reason}")


def _first_bad_part(value: object) -> Part | None:
    known = models.is_model(type(value))  # that its parts are bad
    return next((part for part in _parts(value) if known or not _is_writable(part[1])), None)


def _is_writable(value: object) -> bool:
    try:
        write(value)
    except Exception:  # noqa: BLE001 -- properties and serializers are the user's own
        return False
    return True


def _parts(value: object) -> Iterator[Part]:
    """What it is made of, each with its step in the path."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield _step(key), held
    elif isinstance(value, list | tuple | set | frozenset):
        for number, held in enumerate(value):
            yield f"[{number}]", held
    elif models.is_model(type(value)):
        for name in models.fields(value):
            if not _is_writable_field(value, name):
                yield f".{name}", getattr(value, name, None)
    else:
        for name in _fields(type(value)):
            held = getattr(value, name, None)
            if held is not msgspec.UNSET:
                yield f".{name}", held


def _is_writable_field(model: object, name: str) -> bool:
    """Whether a model can write a field of its own; it may know how, where nobody else does."""
    try:
        write(models.dump(model, name))
        return is_finite(models.dump_numbers(model, name))
    except Exception:  # noqa: BLE001 -- serializers are the user's own
        return False


def _step(key: object) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


def _fields(kind: type) -> list[str]:
    """The names of the fields, whatever kind of record it is."""
    if issubclass(kind, msgspec.Struct):
        return list(kind.__struct_fields__)
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return [field.name for field in getattr(kind, "__attrs_attrs__", ())]


def _reason(value: object) -> str | None:
    """Why this part cannot be written, although all its own parts can; None if it can, alone."""
    if isinstance(value, dict):
        for key in value:
            if not _is_writable({key: 0}):
                return _reason_of_key(key)
    try:
        write(value)
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X} at {error.start}"
        return f"the text holds half of a surrogate pair, {half}; replace it, or send bytes"
    except Exception as error:  # noqa: BLE001 -- properties and serializers are the user's own
        return _told(error)
    return None


def _told(error: Exception) -> str:
    if isinstance(error, NotJson):
        return str(error)
    return f"{type(error).__name__}: {error}; {REMEDY}"


def _reason_of_key(key: object) -> str:
    if isinstance(key, str):
        return f"the key {key!r} holds half of a surrogate pair; replace it"
    return f"the key {key!r} is of type {type(key).__name__}; use text or numbers as keys"
