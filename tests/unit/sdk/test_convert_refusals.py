"""What is no JSON is refused when it is written, with the place, the reason and what to do."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import attrs
import msgspec
import pytest

from assay.errors import AssayError
from assay.sdk.convert import DEFAULT
from assay.sdk.convert.blame import LONGEST_PATH
from assay.sdk.convert.writing import DEEPEST, TOO_DEEP
from assay.sdk.faults import PayloadError

NO_NUMBER = "NaN and Infinity are not JSON; send None or a text in their place"


class Handle:
    pass


@dataclass
class Line:
    handle: object
    note: str | None = None
    registry: ClassVar[object] = Handle()


@dataclass
class Order:
    items: list[Line] = field(default_factory=list)


class Entry(msgspec.Struct):
    skipped: object = msgspec.UNSET
    value: object = None


@attrs.define
class Pair:
    left: object
    right: object


def refused(value: object) -> str:
    with pytest.raises(PayloadError) as caught:
        DEFAULT.encode(value)
    return str(caught.value)


def place(value: object) -> str:
    return refused(value).removeprefix("cannot encode value at ").partition(": ")[0]


def test_the_error_is_ours_and_has_a_code() -> None:
    assert issubclass(PayloadError, AssayError)
    assert PayloadError.code == "payload"


def test_the_message_has_the_path_the_type_and_what_to_do() -> None:
    value = {"order": Order([Line(1), Line(2), Line(3), Line(Handle())])}
    assert refused(value) == (
        "cannot encode value at $.order.items[3].handle: objects of type Handle are not JSON; "
        "send plain values, dataclasses, msgspec.Struct, attrs or pydantic models, or give the "
        "client a codec of its own"
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Handle(), "$"),
        ([0, (1, {2: Handle()})], "$[1][1][2]"),
        ({"two words": Handle()}, "$['two words']"),
        (Pair(1, Entry(value=[Handle()])), "$.right.value[0]"),
        ({Handle}, "$[0]"),
        (1j, "$"),
        (msgspec.UNSET, "$"),
    ],
)
def test_what_has_no_place_in_json_is_found(value: object, path: str) -> None:
    assert place(value) == path
    assert "are not JSON; send plain values" in refused(value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_got_are_refused(number: float) -> None:
    class Share(float):
        pass

    assert refused(number) == f"cannot encode value at $: {NO_NUMBER}"
    assert refused({"a": [1, number]}) == f"cannot encode value at $.a[1]: {NO_NUMBER}"
    assert place(Order([Line(number)])) == "$.items[0].handle"
    assert place([None, Pair(None, (number,))]) == "$[1].right[0]"
    assert place({"set": {number}}) == "$.set[0]"
    assert place([Share(number)]) == "$[0]"
    assert place([msgspec.Raw(b"null"), Entry(value=number)]) == "$[1].value"


def test_the_word_null_alone_is_no_reason() -> None:
    value = [None, "null", {"null": 1.5}, Line(None), Entry(), {1}, b"null", msgspec.Raw(b"null")]
    assert DEFAULT.encode(value).count(b"null") == 7


def test_halves_of_surrogate_pairs_are_refused() -> None:
    assert refused({"a": ["ok", "b\udc00"]}) == (
        "cannot encode value at $.a[1]: the text holds half of a surrogate pair, U+DC00 at 1; "
        "replace it, or send bytes"
    )
    assert refused({"a": {"\ud800": 1}}) == (
        "cannot encode value at $.a: the key '\\ud800' holds half of a surrogate pair; replace it"
    )


@pytest.mark.parametrize(
    ("key", "named"), [((1, 2), "(1, 2) is of type tuple"), (None, "None is of type NoneType")]
)
def test_keys_are_text_or_numbers(key: object, named: str) -> None:
    assert refused({"a": [{"ok": 1, key: 1}]}) == (
        f"cannot encode value at $.a[0]: the key {named}; use text or numbers as keys"
    )


def test_keys_that_are_numbers_become_text() -> None:
    assert DEFAULT.encode({1: 2, 1.5: 3}) == b'{"1":2,"1.5":3}'


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {"name": "x"}
    loop["me"] = [1, loop]
    assert refused(loop) == (
        "cannot encode value at $.me[1]: it holds itself; send the id of what is meant instead"
    )
    line = Line(None)
    line.handle = Pair(1, line)
    assert place([line]) == "$[0].handle.right"


@pytest.mark.parametrize("levels", [DEEPEST + 1, 5_000, 50_000])
def test_a_value_that_is_too_deep_is_refused(levels: int) -> None:
    deep: list[Any] = []
    for _ in range(levels - 1):
        deep = [deep]
    message = refused(deep)
    assert message.endswith(TOO_DEEP)
    assert len(message) < LONGEST_PATH + 200
    assert place([{}, {"a": deep}]).startswith("$[1].a")


def test_a_coroutine_was_not_awaited() -> None:
    async def forgotten() -> None: ...

    coroutine = forgotten()
    assert refused([coroutine]) == (
        "cannot encode value at $[0]: objects of type coroutine are not JSON; "
        "did you forget to await it?"
    )
    coroutine.close()


def test_an_integer_beyond_all_bounds_is_refused() -> None:
    assert refused({"n": 10**5_000}).startswith("cannot encode value at $.n: ValueError: Exceeds")


def test_what_the_value_itself_raises_is_told() -> None:
    class Sly(dict[str, object]):
        """Says other things each time; the search must end anyway."""

        def items(self) -> Any:
            return iter({"a": Handle()}.items())

    assert refused([Sly(b=Handle())]).startswith("cannot encode value at $[0].a: ")
