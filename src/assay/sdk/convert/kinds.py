"""Kinds: the types that users write into their signatures, and how JSON is read as each.

A kind is checked whole before its first use, so that a mistake in it shows where it is defined and
not with the first value that meets it.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from assay.sdk.convert import models
from assay.sdk.convert.misfit import name_of
from assay.sdk.convert.models import Payload
from assay.sdk.faults import PayloadError

KEPT = 1_000  # readers; a program has as many kinds as it has handlers, unless it makes classes
SCALARS = (str, int, float)  # whose subclasses are written as what they hold

REMEDY = (
    "use plain JSON types, dataclasses, msgspec.Struct, attrs or pydantic models, or Any for plain "
    "JSON values"
)
UNION_REMEDY = (
    "name one of its members, or Any for plain JSON values; records can be told apart if they are "
    "msgspec.Struct with tag=True or pydantic models"
)

Reader = Callable[[Payload], Any]


def check_kind(kind: Any) -> None:
    """Raise PayloadError if no JSON can be read as this kind."""
    reader(kind)


def reader(kind: Any) -> Reader:
    """How JSON is read as this kind."""
    if kind is Any:
        return _read_plain
    try:
        return _kept(kind)
    except TypeError:  # it holds annotations that have no hash
        return _reader(kind)


def _reader(kind: Any) -> Reader:
    try:
        return models.reader(kind) if models.mentions_model(kind) else _own_reader(kind)
    except Exception as error:
        why = str(error).partition("\n")[0]
        remedy = UNION_REMEDY if "union" in why else REMEDY
        raise PayloadError(f"cannot read JSON as {name_of(kind)}: {why}; {remedy}") from error


def _own_reader(kind: Any) -> Reader:
    read = msgspec.json.Decoder(kind, dec_hook=_read_part).decode
    for complaint in _complaints(inspect.type_info(kind)):
        raise TypeError(complaint)
    return read


_kept = lru_cache(maxsize=KEPT)(_reader)
_read_plain: Reader = msgspec.json.Decoder().decode


def _read_part(kind: type, value: object) -> object:
    """Read the part of a value that msgspec leaves to us."""
    if kind is object:
        return value
    try:
        if models.is_model(kind):
            return reader(kind)(msgspec.json.encode(value))
        return kind(msgspec.convert(value, _scalar(kind)))
    except ValueError as error:  # msgspec adds where the part is, but only to errors of others
        raise ValueError(models.complaint(error)) from None


def _scalar(kind: type) -> type | None:
    return next((scalar for scalar in SCALARS if issubclass(kind, scalar)), None)


def _complaints(info: inspect.Type) -> Iterator[str]:
    """What in a kind msgspec takes, but would not read, or not read as it was written."""
    for part in _parts(info):
        if isinstance(part, inspect.CustomType):
            if not _is_ours(part.cls):
                yield f"objects of type {name_of(part.cls)} are not JSON"
        elif isinstance(part, inspect.DataclassType):
            yield from _complaints_of_record(part.cls)


def _is_ours(kind: type) -> bool:
    """Whether `_read_part` can read it."""
    return kind is object or models.is_model(kind) or _scalar(kind) is not None


def _complaints_of_record(kind: type) -> Iterator[str]:
    if hasattr(kind, "__pydantic_validator__"):
        yield f"{name_of(kind)} is a dataclass of pydantic, which would be read without its checks"
    for field in getattr(kind, "__attrs_attrs__", ()):
        if field.name.startswith("_"):  # msgspec leaves them out without a word
            yield f"{name_of(kind)}.{field.name} would not be written: name it without underscore"


def _parts(info: inspect.Type) -> Iterator[inspect.Type]:
    """The kind and all that it is made of, each once."""
    pending: list[object] = [info]
    seen: set[int] = set()
    for part in pending:  # which grows meanwhile
        if isinstance(part, tuple):
            pending += part
        elif isinstance(part, inspect.Type | inspect.Field) and id(part) not in seen:
            seen.add(id(part))
            pending += (getattr(part, name) for name in part.__struct_fields__)
            if isinstance(part, inspect.Type):
                yield part
