"""What is JSON and what is not, and that payloads are left alone."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.wire.codec import DEEPEST, Body, check_text
from assay.wire.requests import SendSignal

SIGNAL = Body(SendSignal, optional=True)
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def payload(text: bytes) -> str | None:
    return SIGNAL.read(b'{"payload":%s}' % text).operation("wf", "go").payload


@given(tree=TREES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_payloads_keep_their_meaning(tree: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(tree, ensure_ascii=ascii_only, indent=indent)
    kept = payload(text.encode("utf-8", "surrogatepass"))
    assert json.loads(kept or "null") == tree


@pytest.mark.parametrize(
    "text",
    [
        "123456789012345678901234567890",
        "1e400",
        "-0.0",
        "1E+2",
        '{"b":1,"a":2,"b":3}',
        '"\\u0000\\/\\ud83d\\ude00"',
        '"\\\\ud800"',
        '"\\\\\\\\uDC00"',
        '{"\\ud83d\\ude00":[]}',
        '["' + "[" * 600 + '"]',
        "[" + "[]," * 600 + "[]]",
    ],
)
def test_payloads_stay_as_they_were_sent(text: str) -> None:
    assert payload(text.encode()) == text


@pytest.mark.parametrize(
    "text",
    [
        b"NaN",
        b"[-Infinity]",
        b"01",
        b"1.",
        b"tru",
        b'"\n"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'{"\xc3(":1}',
        b'"\\ud800"',
        b'"\\uD83D\\u0041"',
        b'"\\udc00"',
        b'"\\\\\\ud800"',
        b'["\\ude00\\ud83d"]',
        b'{"\\udbff":1}',
        b"[" * 500 + b"]" * 500,
        b'{"a":' * 500 + b"1" + b"}" * 500,
        b"[" * 5_000 + b"]" * 5_000,
        b"[" * 700_000,
    ],
)
def test_payloads_that_are_refused(text: bytes) -> None:
    for body in (b'{"payload":%s}', b'{"unknown":%s}'):
        with pytest.raises(BadValue):
            SIGNAL.read(body % text)


def test_nesting_counts_from_the_body() -> None:
    check_text(b"[" * DEEPEST + b"]" * DEEPEST)
    with pytest.raises(BadValue):
        check_text(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    assert payload(b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1)) is not None


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        kept = payload(data)
    except BadValue:
        return
    msgspec.json.decode(kept or "null", type=msgspec.Raw)
