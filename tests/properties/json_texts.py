"""JSON texts in all the ways they can be written, and what must not change about them.

A text is compared token by token as it was written: digits, escapes and the order of keys are kept,
the white space between tokens need not be (contract §2.4).
"""

import re

from hypothesis import strategies as st

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+0-9.eE]+|true|false|null|[\[\]{}:,]|(\s+)|(.)', re.DOTALL)


def tokens(text: str) -> list[str]:
    """The tokens of a text, without what is between them."""
    found = list(TOKEN.finditer(text))
    assert not [match for match in found if match[2]], text
    return [match[0] for match in found if match[1] is None]


def has_nul(text: str) -> bool:
    """Whether a string of it holds U+0000, which search attributes must not."""
    return "\\u0000" in text.replace("\\\\", "")


# -- numbers -------------------------------------------------------------------------------------

DIGITS = st.text("0123456789", min_size=1, max_size=40)
WHOLE = st.one_of(st.just("0"), st.tuples(st.sampled_from("123456789"), DIGITS).map("".join))
FRACTION = st.one_of(st.just(""), DIGITS.map(lambda digits: f".{digits}"))
EXPONENT = st.one_of(
    st.just(""),
    st.builds(
        "{}{}{}".format,
        st.sampled_from("eE"),
        st.sampled_from(["", "+", "-"]),
        st.sampled_from(
            ["0", "00", "5", "17", "308", "400", "0400", "9999", "99999999999999999999"]
        ),
    ),
)
NUMBERS = st.tuples(st.sampled_from(["", "-"]), WHOLE, FRACTION, EXPONENT).map("".join)

# -- strings -------------------------------------------------------------------------------------

ESCAPES = [r"\"", r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t", r"\u0000", r"\u001F", r"\u00e9"]
ESCAPES += [
    r"\ud83d\ude00",
    r"\uD83D\uDE00",
    r"\u2028",
    r"\\u0000",
    r"\\ud800",
    r"\uFFFE",
    r"\u0041",
]
PLAIN = st.characters(min_codepoint=0x20, exclude_categories=["Cs"], exclude_characters='"\\')
PIECES = st.one_of(st.sampled_from(ESCAPES), PLAIN)
STRINGS = st.lists(PIECES, max_size=8).map(lambda pieces: f'"{"".join(pieces)}"')

# -- whole texts ---------------------------------------------------------------------------------

SPACE = st.sampled_from(["", "", "", " ", "\n", "\t", "\r\n  "])
KEYS = st.one_of(st.sampled_from(['""', '"a"', '"b"', '"\\u0061"', '"type"', '"0"']), STRINGS)
LEAVES = st.one_of(st.sampled_from(["null", "true", "false", "{}", "[]"]), NUMBERS, STRINGS)


def listed(open_close: str, items: list[str], space: str) -> str:
    inside = f"{space},{space}".join(items)
    return f"{open_close[0]}{space}{inside}{space}{open_close[1]}"


def grown(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.builds("{0}{2}:{2}{1}".format, KEYS, smaller, SPACE)
    return st.one_of(
        st.builds(listed, st.just("[]"), st.lists(smaller, max_size=4), SPACE),
        st.builds(listed, st.just("{}"), st.lists(pairs, max_size=4), SPACE),
    )


JSON_TEXTS = st.builds(
    "{1}{0}{1}".format, st.one_of(LEAVES, st.recursive(LEAVES, grown, max_leaves=12)), SPACE
)

PECULIAR = [
    *("0", "-0", "-0.0", "0.10", "1E+5", "1e400", "-1e-400", "1.0", "100000000000000000000000001"),
    *(
        "18446744073709551616",
        "9007199254740993",
        "1" + "0" * 400,
        "0." + "1" * 400,
        "1e0000000001",
    ),
    *('""', '" "', r'"\u0000"', r'"a\u0000b"', r'"\ud83d\ude00"', '"\U0001f600"', r'"\u00e9 é"'),
    *(r'"\\u0000"', r'"\"\\\/"', '"\x7f\u2028\ufeff"', "true", "false", "[]", "{}", "[[],{}]"),
    *('{"b":1,"a":2,"b":3}', '{"":{"":[]}}', '{"z":0,"y":1,"x":2}', '{"\\u0061":1,"a":2}'),
    *('{"type":"CompleteWorkflow"}', '"null"', "[null]", '{"a":null}', ' [ 1 , { "a" : 2 } ] '),
    *("[" * 400 + "]" * 400, '{"a":' * 400 + "1e400" + "}" * 400, '{"input":{"input":"{}"}}'),
]
