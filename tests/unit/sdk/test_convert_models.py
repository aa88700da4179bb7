"""Models of pydantic, alone and among other values."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from assay.sdk.convert import DEFAULT, check_kind
from assay.sdk.faults import PayloadError


class Line(BaseModel):
    count: int = Field(gt=0)
    price: Decimal = Decimal(1)
    tags: set[str] = set()
    extra: Any = None


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int = Field(alias="orderId")
    at: datetime | None = None
    blob: bytes = b""
    lines: list[Line] = []

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as its manual shows it
    @property
    def size(self) -> int:
        return len(self.lines)


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    at: datetime
    tags: frozenset[str]


class Numbers(RootModel[list[int]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    good: bool = True


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


@dataclass
class Parcel:
    order: Order
    stock: dict[str, list[Line]]
    spare: Line | None = None
    seal: bytes = b"\xff"


@pydantic.dataclasses.dataclass
class Checked:
    count: int = Field(default=1, gt=0)


ORDER = Order(orderId=1, at=datetime(2026, 1, 1, tzinfo=UTC), blob=b"x", lines=[Line(count=2)])


def back(value: object, kind: Any) -> Any:
    return DEFAULT.decode(DEFAULT.encode(value), kind)


def refused(text: bytes, kind: Any) -> str:
    with pytest.raises(PayloadError) as caught:
        DEFAULT.decode(text, kind)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (ORDER, Order),
        (Strict(at=datetime(2026, 1, 1, tzinfo=UTC), tags=frozenset("ab")), Strict),
        (Numbers([1, 2]), Numbers),
        (None, Order | None),
        ([ORDER, ORDER], list[Order]),
        ({"a": Line(count=1, tags={"x"})}, dict[str, Line]),
        ([Cat(), Dog(good=False)], list[Pet]),
        (Dog(), Cat | Dog),
        ((ORDER, b"\xff\xfe"), tuple[Order, bytes]),
        (Parcel(ORDER, {"a": [Line(count=1)]}, Line(count=5)), Parcel),
        ([Parcel(ORDER, {}), Parcel(ORDER, {})], list[Parcel]),
        ((Line(count=1), Parcel(ORDER, {})), tuple[Line, Parcel]),
    ],
)
def test_models_come_back(value: object, kind: Any) -> None:
    check_kind(kind)
    assert back(value, kind) == value


def test_models_are_plain_json_under_their_aliases() -> None:
    assert DEFAULT.decode(DEFAULT.encode([ORDER])) == [
        {
            "orderId": 1,
            "at": "2026-01-01T00:00:00Z",
            "blob": "x",
            "lines": [{"count": 2, "price": "1", "tags": [], "extra": None}],
        }
    ]


def test_models_are_read_by_name_too() -> None:
    assert DEFAULT.decode(b'{"id":1}', Order) == Order(orderId=1)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (b'{"count":0}', Line, "cannot read Line at $.count: Input should be greater than 0"),
        (b'{"count":1', Line, "cannot read Line at $: Invalid JSON: "),
        (
            b'[{"orderId":1,"lines":[{"count":1},{"count":"x"}]},{"a":1}]',
            list[Order],
            "at $[0].lines[1].count: Input should be a valid integer, unable to parse string",
        ),
        (
            b'{"order":{"orderId":1},"stock":{"a":[{"count":1},{"count":0}]}}',
            Parcel,
            "cannot read Parcel at $.stock[...][1].count: Input should be greater than 0",
        ),
    ],
)
def test_misfits_come_through_with_their_place(text: bytes, kind: Any, message: str) -> None:
    assert message in refused(text, kind)


def test_parts_of_models_that_are_no_json_are_found() -> None:
    for value, path in [
        (object(), "$.lines[0].extra"),
        ("\ud800", "$.lines[0].extra"),
        ([1, math.nan], "$.lines[0].extra[1]"),
        (math.inf, "$.lines[0].extra"),
    ]:
        order = Order(orderId=1, lines=[Line(count=1, extra=value)])
        with pytest.raises(PayloadError) as caught:
            DEFAULT.encode({"a": [order]})
        assert str(caught.value).startswith(f"cannot encode value at $.a[0]{path[1:]}: ")


def test_so_are_those_of_models_without_names_for_them() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    for model, path in [
        (Open.model_validate({"ok": 1, "more": [math.nan]}), "$.more[0]"),
        (RootModel[list[Any]]([1, Line(count=1, extra=math.nan)]), "$.root[1].extra"),
        (RootModel[dict[str, float]]({"a": math.inf}), "$.root.a"),
    ]:
        with pytest.raises(PayloadError) as caught:
            DEFAULT.encode(model)
        assert str(caught.value).startswith(f"cannot encode value at {path}: NaN")


def test_what_pydantic_says_of_a_part_is_told() -> None:
    class Row(msgspec.Struct):
        x: int

    assert DEFAULT.encode([Row(1)]) == b'[{"x":1}]'
    with pytest.raises(PayloadError, match=r"at \$\.extra: .*unknown type: .*Row"):
        DEFAULT.encode(Line(count=1, extra=[Row(1)]))


def test_a_set_of_models_is_no_trouble() -> None:
    class Tag(BaseModel):
        model_config = ConfigDict(frozen=True)

        name: str

    class Tagged(BaseModel):
        tags: set[Tag]
        note: str | None = None

    value = Tagged(tags={Tag(name="a")})
    assert back(value, Tagged) == value


def test_a_model_that_holds_itself_is_refused() -> None:
    line = Line(count=1)
    line.extra = [line]
    with pytest.raises(PayloadError, match=r"at \$\.extra\[0\]: it holds itself"):
        DEFAULT.encode(line)


def test_a_model_may_hold_what_only_it_can_write() -> None:
    class Job(BaseModel):
        folder: Path
        share: float | None = None
        note: object = None

    assert DEFAULT.encode(Job(folder=Path("a"))) == b'{"folder":"a","share":null,"note":null}'
    for job, field in [
        (Job(folder=Path("a"), share=math.nan), "share"),
        (Job(folder=Path("a"), note="\udfff"), "note"),
    ]:
        with pytest.raises(PayloadError, match=rf"at \$\.{field}: "):
            DEFAULT.encode(job)


def test_dataclasses_of_pydantic_are_written_but_not_read() -> None:
    assert DEFAULT.encode(Checked(2)) == b'{"count":2}'
    for kind in (Checked, list[Checked], Checked | None):
        with pytest.raises(PayloadError, match="Checked is a dataclass of pydantic"):
            check_kind(kind)


def test_what_pydantic_does_not_know_is_refused_when_defined() -> None:
    class Foreign:
        pass

    with pytest.raises(PayloadError, match="Unable to generate pydantic-core schema"):
        check_kind(Line | Foreign)
