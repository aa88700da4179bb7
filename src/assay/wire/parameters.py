"""Queries in: parameters read by a definition, which is also what is said of them.

A field is a parameter; its type says how the text is read and within which bounds, its default what
counts when it is absent. A tuple takes every occurrence of a parameter, all else the last one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

from msgspec import inspect

from assay.errors import BadValue
from assay.wire import values

Asked = TypeVar("Asked")
ReadText = Callable[[str], object]
ReadAll = Callable[[Sequence[str]], object]


class Query(Generic[Asked]):
    """How the query of a request is read."""

    def __init__(self, kind: type[Asked], *, blank_is_absent: frozenset[str] = frozenset()) -> None:
        """Parameters of `blank_is_absent` count as absent when they are given as nothing."""
        self.kind = kind
        self._blank_is_absent = blank_is_absent
        shape = inspect.type_info(kind)
        assert isinstance(shape, inspect.StructType)
        assert not any(field.required for field in shape.fields), "a parameter may be absent"
        self._readers = {
            field.encode_name: (field.name, _all_reader(field.encode_name, field.type))
            for field in shape.fields
        }
        self._usual = kind()

    def read(self, query: Mapping[str, Sequence[str]]) -> Asked:
        """What is asked for, or a refusal; parameters that mean nothing here are ignored."""
        if not query:
            return self._usual
        given: dict[str, object] = {}
        for parameter, (field, read) in self._readers.items():
            texts = query.get(parameter)
            if texts and (texts[-1] or parameter not in self._blank_is_absent):
                given[field] = read(texts)
        return self.kind(**given)


def _all_reader(parameter: str, type: inspect.Type) -> ReadAll:
    type = _plain(type)
    if isinstance(type, inspect.VarTupleType):
        each = _reader(parameter, type.item_type)
        return lambda texts: tuple(map(each, texts))
    read = _reader(parameter, type)
    return lambda texts: read(texts[-1])


def _reader(parameter: str, type: inspect.Type) -> ReadText:
    match _plain(type):
        case inspect.IntType(ge=least, le=most):
            return partial(_integer, parameter, least, most)
        case inspect.FloatType(ge=least, le=most):
            return partial(_number, parameter, least, most)
        case inspect.EnumType(cls=kind):
            return partial(_one_of, parameter, {str(member.value): member for member in kind})
        case inspect.LiteralType(values=words):
            return partial(_one_of, parameter, {str(word): word for word in words})
        case inspect.StrType():
            return partial(values.identifier, parameter)
        case other:
            raise TypeError(f"{parameter}: no parameter is read as {other}")


def without_none(type: inspect.Type) -> inspect.Type:
    """The type of a parameter that is there, for none can be null."""
    if not isinstance(type, inspect.UnionType):
        return type
    [present] = [choice for choice in type.types if not isinstance(choice, inspect.NoneType)]
    return present


def _plain(type: inspect.Type) -> inspect.Type:
    """The type, without a remark on it."""
    present = without_none(type)
    return _plain(present.type) if isinstance(present, inspect.Metadata) else present


def _integer(parameter: str, least: int | None, most: int | None, text: str) -> int:
    value = values.integer_text(parameter, text)
    _check_bounds(parameter, value, least, most)
    return value


def _number(parameter: str, least: float | None, most: float | None, text: str) -> float:
    value = values.number_text(parameter, text)
    _check_bounds(parameter, value, least, most)
    return value


def _check_bounds(parameter: str, value: float, least: float | None, most: float | None) -> None:
    if least is not None and value < least:
        raise BadValue(f"{parameter} must be at least {least}")
    if most is not None and value > most:
        raise BadValue(f"{parameter} must be at most {most}")


def _one_of(parameter: str, known: Mapping[str, object], text: str) -> object:
    if text not in known:
        raise BadValue(f"{parameter} must be one of {', '.join(known)}, not {text!r}")
    return known[text]
