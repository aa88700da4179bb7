"""Values to put into bodies: JSON of every kind, large and small, and what is none at all."""

import json
from decimal import Decimal

from tests.support.http import Json


def string(text: str) -> bytes:
    """A string as it is usually written."""
    return json.dumps(text, ensure_ascii=False).encode()


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


NUMBERS = [
    *b"0 1 -1 2 7 1.5 3.0 -3.0 -0 -0.0 1e2 5e-1 0.001 60 60.5 61 1000 1001 9007199254740992"
    b" 9007199254740993 -9007199254740992 -9007199254740993 9223372036854775807"
    b" 9223372036854775808 -9223372036854775809 18446744073709551616 1e19 1E+30 1e308 -1e308"
    b" 1e400 -1e400 1e999999999 -1e999999999 10000000000 10000000000.5 10000000001"
    b" -10000000001".split(),
    *(b"1" + b"0" * 30, b"9" * 400, b"0." + b"3" * 400),
]

TEXTS = (
    *("", " ", "\t\n ", "\u3000", "\u0085", "\u200b", "x", "x ", " x", "skip", "use", "main"),
    *("0 0 1 1 *", "@yearly", "61 * * * *", "* * *", "UTC", "utc", "Europe/Vienna", "Mars/Base"),
    *(
        "a/b",
        "a%2Fb",
        "%00",
        "..",
        "../../etc/passwd",
        "C:\\",
        "'; DROP TABLE run; --",
        "{}",
        "null",
    ),
    *("é", "\U0001f600", "\u202eabc", "\ufeff", "\ufffe", "e\u0301", "\x7f", "a\0b", "\0"),
    *("n" * 1_000, "n" * 1_001, "é" * 500, "é" * 501, "\U0001f600" * 250, "\U0001f600" * 251),
    *(" " * 1_001, "n" * 100_000),
)

VALUES = [
    *(b"null", b"true", b"false", *NUMBERS, *map(string, TEXTS)),
    *(rb'"\ud83d\ude00"', rb'"\u0041\/\b\f"', rb'"\\u0000"', rb'"\\ud800"'),
    *(
        b"[]",
        b"[ ]",
        b"{}",
        b"{ }",
        b"[1]",
        b"[3.0]",
        b"[0]",
        b"[-1]",
        b"[1.5]",
        b"[null]",
        b"[[]]",
    ),
    *(
        b'["x"]',
        b'[""]',
        b'[" "]',
        rb'["a\u0000"]',
        b'["x",5]',
        b'["","x",5]',
        b"[9007199254740993]",
    ),
    *(b"[%s]" % string("n" * 1_001), b'{"a":1}', b'{"":null}', b'{"a":1,"a":2}', b'{"0":[{}]}'),
    *(rb'{"a":"\u0000"}', rb'{"a\u0000":1}', rb'{"a":[{"b":"\u0000"}]}', b'{"type":"x"}', b"[{}]"),
    *(b'{"a":1e400}', nested(400)),
]

NOT_JSON = [
    *b"NaN Infinity -Infinity nan 01 -01 +1 .5 1. 1e 1e+ 0x10 - -- True None undefined tru".split(),
    *(b"'x'", b'"a\x00b"', b'"a\x01b"', b'"a\nb"', b'"\t"', b'"', b'"a', rb'"\x41"', rb'"\u12"'),
    *(rb'"\ud800"', rb'"\udc00\ud800"', rb'"\ud800x"', rb'"\ud83d\ud83d\ude00"', rb'"\uDFFF"'),
    *(rb'["\ud800"]', rb'{"\ud800":1}', rb'"\\\ud800"', b'"\xff"', b'"\xc3("', b'"\xed\xa0\x80"'),
    *(b'"\xf8\x88\x80\x80\x80"', b'"\xc0\x80"', b'"\xf4\x90\x80\x80"', b"/*c*/1", b"1//c", b"[1,]"),
    *(
        b'{"a":1,}',
        b"{a:1}",
        b'{"a"}',
        b'{"a":}',
        b"{1:1}",
        b"[1 2]",
        b'{"a":1 "b":2}',
        b"[}",
        b"(1)",
    ),
    *(nested(501), b'{"a":' * 501 + b"1" + b"}" * 501, b"[" * 100_000, b"\x00", b"\xef\xbb\xbf1"),
]

NOT_OBJECTS = (
    b"5",
    b"-1.5",
    b'"x"',
    b"true",
    b"[1]",
    b"[[]]",
    b"[{}]",
    b"[null]",
    b'[""]',
    b"1e400",
)
EMPTY = (b"null", b"[]", b"{}", b" { } ", b"\n[\t]\r\n")


def read(value: bytes) -> Json:
    """A value with its numbers as they are."""
    return json.loads(value, parse_float=Decimal)


def broken(body: bytes) -> list[bytes]:
    """Bodies that are no JSON any more, made from one that is."""
    text = body.decode()
    return [
        *(body[:length] for length in range(1, len(body))),
        *(
            body + more
            for more in (b"x", b"}", b"{}", b",", b"\0", b"\xff", b"\xef\xbb\xbf", b"//c")
        ),
        *(more + body for more in (b"\xef\xbb\xbf", b"\0", b"//c\n", b",", b"\xff", b"\x0c")),
        *(text.encode(code) for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        body.replace(b'"', b"'") if b'"' in body else b"{'a':1}",
        b"[" * 501 + b"]" * 501,
        body[:-1] + (b"," if len(body) > 2 else b"") + b'"deep":' + nested(500) + b"}",
    ]
