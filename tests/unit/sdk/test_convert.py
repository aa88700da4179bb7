"""Values of users come back as they were, through JSON that any client can read."""

import enum
import json
import subprocess
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar
from uuid import UUID

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sdk.convert import DEFAULT
from assay.sdk.convert.writing import DEEPEST, nesting

Item = TypeVar("Item")
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Surrogates are refused, see test_convert_refusals.py.
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Money(msgspec.Struct, frozen=True):
    amount: Decimal
    currency: str = "EUR"


class Paid(msgspec.Struct, tag=True):
    at: datetime


class Refused(msgspec.Struct, tag=True):
    why: str


@attrs.define
class Address:
    street: str
    floor: int | None = None


class Point(NamedTuple):
    x: int
    y: int = 0


class Options(TypedDict):
    retries: int
    label: NotRequired[str]


@dataclass
class Everything:
    price: Money
    address: Address
    at: datetime
    day: date
    clock: time
    length: timedelta
    id: UUID
    share: Decimal
    color: Color
    level: Level
    blob: bytes
    tags: set[str]
    codes: frozenset[int]
    pair: tuple[int, str]
    point: Point
    options: Options
    by_no: dict[int, list[Address]]
    outcome: Paid | Refused
    note: str | None = None
    inner: list["Everything"] = field(default_factory=list)


@dataclass
class Box(Generic[Item]):
    content: Item


def back(value: object, kind: Any = Any) -> Any:
    return DEFAULT.decode(DEFAULT.encode(value), kind)


def everything(**changes: object) -> Everything:
    values: dict[str, Any] = {
        "price": Money(Decimal("12.50")),
        "address": Address("Main St 1", 3),
        "at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=2))),
        "day": date(2026, 2, 28),
        "clock": time(23, 59, 59, 1),
        "length": timedelta(days=-1, microseconds=1),
        "id": UUID(int=7),
        "share": Decimal("0.333333333333333333333333333333"),
        "color": Color.BLUE,
        "level": Level.LOW,
        "blob": b"\x00\xff",
        "tags": {"a", "b"},
        "codes": frozenset({1, 2}),
        "pair": (10**30, "x"),
        "point": Point(1),
        "options": {"retries": 3},
        "by_no": {7: [Address("Side St 2")]},
        "outcome": Paid(datetime(2026, 1, 1, tzinfo=UTC)),
    }
    return Everything(**values | changes)


@given(tree=TREES)
def test_plain_values_come_back(tree: object) -> None:
    assert back(tree) == tree


@given(tree=TREES)
def test_what_is_written_is_plain_json(tree: object) -> None:
    assert json.loads(DEFAULT.encode(tree)) == tree


def test_records_come_back_with_all_that_they_hold() -> None:
    value = everything(inner=[everything(note="inner", outcome=Refused("no"))])
    assert back(value, Everything) == value


@given(
    at=st.datetimes(timezones=st.just(UTC) | st.none()),
    length=st.timedeltas(),
    share=st.decimals(allow_nan=False),
    blob=st.binary(),
    id=st.uuids(),
)
def test_every_instant_span_number_and_blob_comes_back(
    at: datetime, length: timedelta, share: Decimal, blob: bytes, id: UUID
) -> None:
    value = everything(at=at, length=length, share=share, blob=blob, id=id)
    assert back(value, Everything) == value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, type(None)),
        (None, int | None),
        ([Address("a")], list[Address]),
        ({"a": {Color.RED}}, dict[str, set[Color]]),
        ((Point(1, 2), Point(3)), tuple[Point, ...]),
        (Box(Address("a")), Box[Address]),
        (5, Annotated[int, msgspec.Meta(ge=0)]),
        (5, Annotated[int, {"annotations": "may have no hash"}]),
        ("a", Literal["a", 1]),
        (Address("a"), str | int | Address | None),
        ({"any": [1]}, dict[str, object]),
        ([1], object),
    ],
)
def test_a_kind_says_how_to_read(value: object, kind: Any) -> None:
    assert back(value, kind) == value


def test_without_a_kind_records_are_plain_values() -> None:
    assert back([Address("a"), Color.RED, Money(Decimal(1)), b"x", Point(1)]) == [
        {"street": "a", "floor": None},
        "red",
        {"amount": "1", "currency": "EUR"},
        "eA==",
        [1, 0],
    ]


def test_subclasses_of_scalars_are_written_as_what_they_hold() -> None:
    class Name(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "shown"

    class Count(int):
        pass

    class Share(float):
        pass

    assert (
        DEFAULT.encode({Name("key"): [Name("a"), Count(1), Share(0.5)]}) == b'{"key":["a",1,0.5]}'
    )
    assert type(back(Name("a"), Name)) is Name
    assert back([Count(1)], list[Count]) == [Count(1)]


def test_subclasses_of_containers_are_written_as_the_containers() -> None:
    pair = namedtuple("pair", "a b")  # noqa: PYI024 -- users have untyped ones
    assert DEFAULT.encode([OrderedDict(a=1), pair(1, 2)]) == b'[{"a":1},[1,2]]'


@pytest.mark.parametrize("text", [b"[1]", "[1]", msgspec.Raw(b"[1]")])
def test_a_text_is_read_in_whatever_it_comes(text: bytes | str | msgspec.Raw) -> None:
    assert DEFAULT.decode(text) == DEFAULT.decode(text, list[int]) == [1]


def test_no_text_is_null() -> None:
    assert DEFAULT.decode(None) is None
    assert DEFAULT.decode(None, Address | None) is None


def test_unknown_fields_are_left_out() -> None:
    assert DEFAULT.decode(b'{"street":"a","since":"2.0"}', Address) == Address("a")


def test_json_that_is_at_hand_is_written_as_it_is() -> None:
    assert DEFAULT.encode([msgspec.Raw(b'{"a": null}'), None]) == b'[{"a": null},null]'


@given(tree=TREES, indent=st.sampled_from([None, 1]))
def test_nesting_is_the_depth_of_the_tree(tree: object, indent: int | None) -> None:
    assert nesting(json.dumps(tree, indent=indent).encode()) == depth(tree)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        (b'["]",["]",["\\"]["]]]', 3),
        (b'["[","{","[\\\\"]', 1),
        (b"[" * 300 + b"]" * 300, 300),
        (b'"[[["', 0),
    ],
)
def test_brackets_in_text_are_no_nesting(text: bytes, levels: int) -> None:
    assert nesting(text) == levels


def test_values_may_be_nested_as_deep_as_the_engine_takes_them() -> None:
    deep: list[Any] = []
    for _ in range(DEEPEST - 1):
        deep = [deep]
    assert back(deep) == deep


def test_wide_values_are_not_deep() -> None:
    wide = [{"text": "]}" * 5, "list": [[], {}]}] * 1_000
    assert back(wide) == wide


def test_pydantic_is_left_alone_where_nobody_uses_it() -> None:
    program = (
        "import sys\n"
        "from assay.sdk.convert import DEFAULT, check_kind\n"
        "check_kind(dict[str, int])\n"
        "assert DEFAULT.decode(DEFAULT.encode({'a': None})) == {'a': None}\n"
        "assert 'pydantic' not in sys.modules and 'attr' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def depth(tree: object) -> int:
    if isinstance(tree, dict):
        return 1 + max(map(depth, tree.values()), default=0)
    return 1 + max(map(depth, tree), default=0) if isinstance(tree, list) else 0
