"""JSON that does not fit is refused with the place; kinds are checked where they are defined."""

import collections
import enum
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass
from datetime import datetime
from typing import Any, Never
from uuid import UUID

import attrs
import msgspec
import pytest

from assay.sdk.convert import DEFAULT, check_kind
from assay.sdk.convert.kinds import KEPT, reader
from assay.sdk.faults import PayloadError


@dataclass
class Line:
    count: int
    price: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("less than nothing")
        assert self.count < 1_000


@dataclass
class Order:
    lines: dict[str, list[Line]]
    prices: dict[int, float] | None = None


@dataclass
class Node:
    children: list["Node"]


class Plain:
    pass


@dataclass
class Holder:
    deeper: list["Holder"]
    plain: dict[str, Plain | None]


@attrs.define
class Secretive:
    _number: int = 0


@dataclass
class Started:
    count: InitVar[int]


class Odd(enum.Enum):
    PAIR = (1, 2)


class Name(str):
    __slots__ = ()


def refused(text: bytes | str | None, kind: Any = Any) -> str:
    with pytest.raises(PayloadError) as caught:
        DEFAULT.decode(text, kind)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (b'"x"', int, "cannot read int at $: Expected `int`, got `str`"),
        (b"{}", Line, "cannot read Line at $: Object missing required field `count`"),
        (b'{"count":"1"}', Line, "cannot read Line at $.count: Expected `int`, got `str`"),
        (b'{"count":-1}', Line, "cannot read Line at $: less than nothing"),
        (
            b'{"lines":{"a":[{"count":1},{"count":2.5}]}}',
            Order,
            "cannot read Order at $.lines[...][1].count: Expected `int`, got `float`",
        ),
        (
            b'{"lines":{},"prices":{"x":1}}',
            Order,
            "cannot read Order at $.prices: its key: Expected `int`, got `str`",
        ),
        (None, list[int], "cannot read list[int] at $: Expected `array`, got `null`"),
        (
            b"[3]",
            list[Name],
            "cannot read list[" + f"{__name__}.Name] at $[0]: Expected `str`, got",
        ),
    ],
)
def test_a_misfit_names_place_and_type(text: bytes | None, kind: Any, message: str) -> None:
    assert refused(text, kind).startswith(message)


def test_whatever_a_class_raises_is_a_misfit() -> None:
    assert refused(b'{"count":1000}', Line).startswith("cannot read Line at $: ")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"NaN", b"[1,]", b'"\xff"', "\ud800", b"1e400", b"[" * 50_000, b"1" * 5_000]
)
def test_what_is_no_json_is_a_misfit(text: bytes | str) -> None:
    assert refused(text).startswith("cannot read JSON at $")


@pytest.mark.parametrize(
    "kind",
    [int, Order, Node, list[Line | None], dict[int, Line], Name, msgspec.Raw, object, Any, None],
)
def test_usual_kinds_pass(kind: Any) -> None:
    check_kind(kind)


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (Line | Order, "more than one dataclass or attrs type"),
        (list[Line | dict[str, int]], "more than one dict-like type"),
        (datetime | UUID, "more than one str-like type"),
    ],
)
def test_unions_that_json_cannot_tell_apart_are_refused(kind: Any, part: str) -> None:
    with pytest.raises(PayloadError, match=part) as caught:
        check_kind(kind)
    assert "msgspec.Struct with tag=True" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Plain, "Plain: objects of type Plain are not JSON; use plain JSON types"),
        (Holder, "Holder: objects of type Plain are not JSON"),
        (Holder | None, "objects of type Plain are not JSON"),
        (Iterable[int], "objects of type Iterable are not JSON"),
        (Callable[[], int], "objects of type Callable are not JSON"),
        (collections.deque, "objects of type deque are not JSON"),
        (Secretive, "Secretive._number would not be written: name it without underscore"),
        (Started, "dataclasses with `InitVar` fields are not supported"),
        (Odd, "Enums must contain"),
        (Never, "not supported"),
        ("Line", "not supported"),
    ],
)
def test_kinds_that_cannot_be_read_are_refused_when_defined(kind: Any, message: str) -> None:
    with pytest.raises(PayloadError) as caught:
        check_kind(kind)
    assert message in str(caught.value)
    assert str(caught.value) == refused(b"null", kind)


def test_a_kind_that_names_nothing_is_refused() -> None:
    @dataclass
    class Lost:
        of: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 -- the point of the test

    with pytest.raises(PayloadError, match="'Nowhere' is not defined"):
        check_kind(Lost)


def test_readers_are_kept_but_not_for_ever() -> None:
    assert reader(list[Line]) is reader(list[Line])
    first = reader(Line)
    for number in range(KEPT):
        reader(type(f"Made{number}", (Name,), {}))
    assert reader(Line) is not first
