"""Search attributes as the filter compares them: equal values share a text, others do not."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.attributes import (
    LOOKED_UP_LONGEST,
    canonical,
    key_text,
    merged,
    pairs_of,
    with_engine_version,
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
digits = st.text("0123456789", min_size=1, max_size=20)
whole = st.one_of(st.just("0"), st.integers(1, 10**18).map(str))


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """A number in any notation that JSON knows."""
    text = draw(st.sampled_from(["", "-"])) + draw(whole)
    if draw(st.booleans()):
        text += "." + draw(digits)
    if draw(st.booleans()):
        text += draw(st.sampled_from("eE")) + draw(st.sampled_from(["", "+", "-"]))
        text += draw(st.integers(0, 30).map(str))
    return text


def spaced(text: str, space: str) -> str:
    return space + text + space


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Any JSON, in any notation."""
    leaf = st.one_of(
        st.sampled_from(["null", "true", "false"]),
        numbers(),
        st.tuples(words, st.booleans()).map(lambda pair: json.dumps(pair[0], ensure_ascii=pair[1])),
    )
    space = draw(st.sampled_from(["", " ", "\n\t"]))

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(words, inner).map(lambda pair: f"{json.dumps(pair[0])}:{pair[1]}")
        return st.one_of(
            st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
            st.lists(pairs, max_size=3).map(lambda items: f"{{{','.join(items)}}}"),
        )

    return spaced(draw(st.recursive(leaf, grown, max_leaves=6)), space)


def value(text: str) -> object:
    """What a text means: numbers by value, booleans apart from them, objects without order."""
    return _plain(json.loads(text, parse_int=Decimal, parse_float=Decimal))


def _plain(parsed: object) -> object:
    if isinstance(parsed, dict):
        return "object", frozenset((key, _plain(each)) for key, each in parsed.items())
    if isinstance(parsed, list):
        return "array", tuple(_plain(each) for each in parsed)
    return type(parsed).__name__, parsed


def looked_up(text: str) -> str:
    return canonical(text.strip())


@given(texts(), texts())
def test_texts_are_shared_by_equal_values_and_by_no_others(first: str, second: str) -> None:
    assert (looked_up(first) == looked_up(second)) is (value(first) == value(second))


@given(texts())
def test_a_text_is_its_own_canonical_form_once_it_is_short(text: str) -> None:
    short = looked_up(text)
    assert len(short) <= LOOKED_UP_LONGEST
    if not short.startswith("#"):
        assert value(short) == value(text)
        assert canonical(short) == short


ALIKE = [
    ["1", "1.0", "1e0", "10e-1", "0.1E1", "1.000"],
    ["0", "-0", "0.0", "-0.0e5", "0e9999999999"],
    ["100", "1e2", "1E+02", "100.00"],
    ["9007199254740993", "9007199254740993.0"],
    ["9007199254740992", "9.007199254740992e15"],
    ["1" + "0" * 40, "1e40"],
    ["-1.5", "-15e-1"],
    ["true"],
    ["false"],
    ["null"],
    ['"1"'],
    ['"true"'],
    ['"a/b"', '"a\\/b"', '"\\u0061/b"'],
    ['"ä"', '"\\u00e4"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ["[]"],
    ["{}"],
    ["[1,[2.0]]", "[1.0, [2]]"],
    ["[[2],1]"],
    ['{"a":1,"b":{"c":[true]}}', '{ "b":{"c":[true]}, "a":1.0}', '{"a":2,"b":{"c":[true]},"a":1}'],
    ['{"a":1,"b":{"c":[1]}}'],
]


def test_every_notation_of_a_value_and_nothing_else() -> None:
    owners = {canonical(text): group[0] for group in ALIKE for text in group}
    assert len(owners) == len(ALIKE)
    for group in ALIKE:
        assert {owners[canonical(text)] for text in group} == {group[0]}


def test_deep_and_long_values_have_short_texts() -> None:
    deep = "[" * 500 + "]" * 500
    assert canonical(deep) == canonical(" ".join(deep))
    assert canonical(deep) != canonical("[" * 499 + "]" * 499)
    long = json.dumps("x" * 5000)
    assert len(canonical(long)) == len(key_text("k" * 5000)) == 65
    assert canonical(long) != canonical(json.dumps("x" * 5001))


# Merging


@given(st.dictionaries(words, texts(), max_size=4), st.dictionaries(words, texts(), max_size=4))
def test_the_patch_wins_and_texts_stay_as_they_were(
    attributes: dict[str, str], patch: dict[str, str]
) -> None:
    result = merged(_object(attributes), _object(patch))
    wanted = attributes | patch
    assert pairs_of(result) == {key: looked_up(text) for key, text in wanted.items()}
    assert list(json.loads(result)) == list(wanted)


def _object(attributes: dict[str, str]) -> str:
    return f"{{{','.join(f'{json.dumps(key)}:{text}' for key, text in attributes.items())}}}"


def test_numbers_are_not_rebuilt() -> None:
    assert merged('{"a":1.50}', '{"b":12345678901234567890.0e+1}') == (
        '{"a":1.50,"b":12345678901234567890.0e+1}'
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, '{"assay_engine_version":"9"}'),
        ('{"a":1}', '{"assay_engine_version":"9","a":1}'),
        ('{"assay_engine_version":null}', '{"assay_engine_version":null}'),
        ('{"assay_engine_version":"mine","a":1}', '{"assay_engine_version":"mine","a":1}'),
    ],
)
def test_the_engine_notes_its_version_unless_the_caller_did(given: str | None, kept: str) -> None:
    assert with_engine_version(given, "9") == kept
