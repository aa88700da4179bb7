"""The kinds of parameters and results are read from annotations, and nothing there is an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import pytest

from assay.sdk.signatures import signature_kinds

if TYPE_CHECKING:
    from nowhere import Context  # type: ignore[import-not-found]  # the point of some tests

Result = TypeVar("Result")


@dataclass
class Order:
    id: int


async def ship(ctx: object, order: Order, note: str | None = None) -> list[Order]:
    raise NotImplementedError


async def partly_known(ctx: Context, order: Order, more: list[Context]) -> dict[str, Order]:
    raise NotImplementedError


def traced(function: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Result:
        return function(*args, **kwargs)

    return wrapper


class Shop:
    def sell(self, ctx: object, order: Order) -> int:
        raise NotImplementedError

    @classmethod
    def close(cls, ctx: object, at: float) -> None: ...

    @staticmethod
    def count(ctx: object, order: Order) -> int:
        raise NotImplementedError

    async def __call__(self, ctx: object, order: Order) -> bool:
        raise NotImplementedError


SHIP = [Order, str | None], list[Order]


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (ship, SHIP),
        (traced(ship), SHIP),
        (functools.lru_cache(ship), SHIP),
        (functools.partial(ship), SHIP),
        (functools.partial(functools.partial(ship), note=""), ([Order], list[Order])),
        (Shop().sell, ([Order], int)),
        (Shop.close, ([float], type(None))),
        (Shop.count, ([Order], int)),
        (Shop(), ([Order], bool)),
        (functools.partial(Shop()), ([Order], bool)),
        (traced(Shop().sell), ([Order], int)),
        (functools.partial(traced(Shop().sell)), ([Order], int)),
    ],
)
def test_whatever_can_be_called_has_kinds(function: Any, kinds: tuple[list[Any], Any]) -> None:
    assert signature_kinds(function) == kinds


def test_what_is_given_already_is_no_parameter() -> None:
    assert signature_kinds(functools.partial(ship, object()), skip=0) == SHIP


def test_as_many_as_one_says_are_skipped() -> None:
    assert signature_kinds(ship, skip=0)[0] == [object, Order, str | None]
    assert signature_kinds(ship, skip=5)[0] == []


def test_what_is_not_said_is_any() -> None:
    def silent(ctx, a, b=1): ...  # type: ignore[no-untyped-def]  # the point of the test

    assert signature_kinds(silent) == ([Any, Any], Any)
    assert signature_kinds(lambda ctx, a: (ctx, a)) == ([Any], Any)


def test_a_name_for_type_checkers_only_costs_no_other_its_kind() -> None:
    assert signature_kinds(partly_known) == ([Order, Any], dict[str, Order])


def test_names_out_of_reach_are_any() -> None:
    class Local:
        pass

    def local(ctx: object, a: Local, b: int) -> Local:
        raise NotImplementedError

    assert signature_kinds(local) == ([Any, int], Any)


def test_annotations_that_fail_are_any() -> None:
    def odd(ctx: object, a: Any, b: int) -> None: ...

    odd.__annotations__ |= {"a": "1 / 0", "return": "not python"}
    assert signature_kinds(odd) == ([Any, int], Any)


def test_only_what_can_be_given_by_position_counts() -> None:
    def many(ctx: object, a: int, /, b: str, *rest: float, c: bytes, **others: bool) -> None: ...

    assert signature_kinds(many) == ([int, str], type(None))


def test_bounds_in_annotations_are_kept() -> None:
    def bounded(ctx: object, a: Annotated[int, "positive"]) -> None: ...

    assert signature_kinds(bounded)[0] == [Annotated[int, "positive"]]


def test_what_never_returns_has_no_kind() -> None:
    def endless(ctx: object) -> NoReturn:
        raise NotImplementedError

    assert signature_kinds(endless) == ([], Any)


@pytest.mark.parametrize("function", [print, max, dict, dict.get, 5, None, "text"])
def test_what_does_not_tell_has_no_kinds(function: Any) -> None:
    kinds, given = signature_kinds(function)
    assert given is Any
    assert set(kinds) <= {Any}
