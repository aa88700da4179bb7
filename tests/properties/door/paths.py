"""Paths, queries, methods: every hole and parameter with every text, and what is no route."""

from collections.abc import Iterator
from urllib.parse import quote, unquote_to_bytes

from msgspec.structs import fields

from assay.server.route import Route
from assay.server.routes.table import ROUTES
from tests.properties.door.oracle import BAD_VALUE, judge_of_parameter
from tests.properties.door.requests import (
    HOLE,
    PASSED,
    SURVIVED,
    Case,
    Targets,
    absent_path,
    calm_path,
    expecting,
    good_fields,
    passed_by,
    path_of,
    written,
)

PARAMETER_TEXTS = (
    *("", "0", "1", "12", "12.0", "12.5", "1e3", "-1", "-0", "60", "60.5", "0.5", "1e-3", "1000"),
    *("1001", "1" + "0" * 30, "-9007199254740993", "9007199254740992", "abc", "NaN", "inf", "0x10"),
    *(
        "1_000",
        "+5",
        " 5",
        "5 ",
        "\u0663",
        "null",
        "true",
        "[]",
        "{}",
        "asc",
        "desc",
        "ASC",
        "asc ",
    ),
    *("RUNNING", "running", "BROKEN", "main", "nowhere", "..", "é", "\U0001f600", "\0", "a\0b"),
    *(
        "{",
        "5",
        '"x"',
        "[1]",
        '{"a":1}',
        '{"a":NaN}',
        '{"a":1e400}',
        '{"a":"\\u0000"}',
        "x" * 2_000,
    ),
    *('{"a":' + "[" * 500 + "]" * 500 + "}", '{"":null,"b":{"c":[1,2]}}', '{"\\ud800":1}', "{}x"),
)
# Not sent as UTF-8 in escapes; the first breaks the query whatever it is for.
RAW_PARAMETERS = (("%ff", 400), ("%C3%28", 400), ("%ED%A0%80", 400))


def query_cases(route: Route, targets: Targets) -> Iterator[Case]:
    """Every parameter with every text, and what means nothing here."""
    there = path_of(route, targets)
    body = None if route.takes is None else written(good_fields(route.takes.kind))
    for field in fields(route.asks.kind) if route.asks is not None else ():
        name = field.encode_name
        judge = judge_of_parameter(route.path, name)
        for text in PARAMETER_TEXTS:
            verdict = judge(text)
            path = there if verdict is BAD_VALUE else calm_path(route, targets)
            query = f"{name}={quote(text, safe='')}"
            yield Case(route.method, f"{path}?{query}", body, expecting(verdict))
            if verdict is BAD_VALUE:  # the last one counts
                last = f"{path}?{name}=1&{query}"
                yield Case(route.method, last, body, expecting(verdict))
        for raw, status in RAW_PARAMETERS:
            yield Case(route.method, f"{there}?{name}={raw}", body, frozenset({status}))
    passed = PASSED if route.takes is None else passed_by(route)
    for query in ("stranger=%zz", "&&==&", "limit&", "%25=1", "a=1;b=2", "stranger=" + "x" * 4_000):
        path = there if route.method == "GET" else calm_path(route, targets)
        yield Case(
            route.method, f"{path}?{query}", body, passed if "limit" not in query else SURVIVED
        )


SEGMENTS = (
    *(
        "%00",
        "a%00b",
        "%FF",
        "%C3",
        "%ED%A0%80",
        "a%ff",
        "%e2%82",
        "nobody",
        "a%2Fb",
        "%2F",
    ),
    *(
        "%2e%2e",
        "..",
        ".",
        "%zz",
        "%",
        "%2",
        "*",
        "~",
        "a+b",
        "%20",
        "%09",
        "%E3%80%80",
        "%25",
        "%3F",
    ),
    *("%F0%9F%98%80", "%E2%80%AEabc", "n" * 1_001, "%C3%A9" * 501, "abc", "1e3", "12.5", "0", "-1"),
    *(
        "9" * 30,
        "9007199254740993",
        "9007199254740991.0",
        "0x1",
        "%D9%A3",
        "%7B%7D",
        "%7Bid%7D",
        ";a=b",
    ),
    *("'", '"', "<script>", "%0d%0aa:b", "a%20"),
)


def segment_cases(route: Route) -> Iterator[Case]:
    """Every hole of a path with every text: 400 for what no name can be, 404 for what is none."""
    body = None if route.takes is None else written(good_fields(route.takes.kind))
    for name, type in route.holes.items():
        for text in SEGMENTS:
            path = absent_path(route._replace(path=route.path.replace(f"{{{name}}}", text)))
            yield Case(route.method, path, body, segment_statuses(route, name, type, text))
        path = absent_path(route._replace(path=route.path.replace(f"{{{name}}}", "")))
        yield Case(route.method, path, body, frozenset({404, 405}))


def segment_statuses(route: Route, name: str, type: type, text: str) -> frozenset[int]:
    decoded = unquote_to_bytes(text.encode("latin-1"))
    try:
        plain = decoded.decode()
    except UnicodeDecodeError:
        return frozenset({400})
    if "\0" in plain:
        is_key = "state/{name}" in route.path and name == "name"  # of an object: it may be there
        return frozenset({400, 404}) if is_key else frozenset({400})
    if type is int:
        digits = plain.removesuffix(".0").removeprefix("-")
        is_number = digits.isascii() and digits.isdigit() and int(digits) <= 2**53
        return frozenset({404 if is_number else 400})
    if "signal/{name}" in route.path and name == "name":
        if not plain.strip() or len(plain.encode()) > 1_000:
            return frozenset({400})
    return frozenset({404}) if route.takes is not None else PASSED


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY")


def method_cases(targets: Targets) -> Iterator[tuple[Case, set[str]]]:
    """Every method that a path does not have, and those it has."""
    for path in dict.fromkeys(route.path for route in ROUTES.routes):
        routes = [route for route in ROUTES.routes if route.path == path]
        allowed = {route.method for route in routes}
        for method in set(METHODS) - allowed:
            for body in (None, b"{", b"x" * 100):
                yield Case(method, path_of(routes[0], targets), body, frozenset({405})), allowed


def unknown_cases(targets: Targets) -> Iterator[Case]:
    """Paths that are nearly those of routes."""
    known = {HOLE.sub("{}", route.path) for route in ROUTES.routes}
    for route in ROUTES.routes:
        path = path_of(route, targets)
        near = [f"{path}/", f"/{path}", f"{path}/a/b/c/d", path.upper(), f"/v1{path}", f"/x{path}"]
        near += [path.replace("/", "%2F"), path.replace("/", "//"), f"{path}//", f"/.{path}"]
        shorter = HOLE.sub("{}", route.path).rpartition("/")[0]
        if shorter and shorter not in known:
            near.append(path.rpartition("/")[0])
        for other in near:
            yield Case(route.method, other, b"{}", frozenset({404}))
