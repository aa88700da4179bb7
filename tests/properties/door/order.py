"""Requests with several faults at once: the first check that fails gives the status (§2.3)."""

from collections.abc import Iterator, Mapping
from itertools import chain, combinations

from msgspec.structs import fields

from assay.server.route import Route
from assay.server.routes.table import ROUTES
from tests.properties.door.oracle import BAD_SHAPE, BAD_VALUE, judge_of
from tests.properties.door.requests import (
    HOLE,
    Case,
    Targets,
    absent_path,
    good_fields,
    passed_by,
    path_of,
    written,
)
from tests.properties.door.values import VALUES, read

ORDER: Mapping[str, int] = {
    "method": 405,
    "size": 413,
    "media": 415,
    "json": 400,
    "shape": 422,
    "value": 400,
    "absent": 404,
}
TOO_LARGE = 2 * 1024 * 1024 + 1
PADDING = b" " * TOO_LARGE


def order_cases(route: Route, targets: Targets) -> Iterator[Case]:
    """Every set of up to three faults that this route can have, and all at once."""
    able = list(ORDER if route.takes is not None else ("method", "value", "absent"))
    sizes = sorted({1, 2, 3, len(able)})
    for faults in chain.from_iterable(combinations(able, size) for size in sizes):
        case = faulty(route, targets, set(faults))
        if case is not None:
            yield case


def faulty(route: Route, targets: Targets, faults: set[str]) -> Case | None:
    """The request with these faults, unless this route cannot have them."""
    path, body = (
        path_of(route, targets),
        {} if route.takes is None else good_fields(route.takes.kind),
    )
    if "absent" in faults:
        if not route.holes or route.method == "GET":
            return None
        path = absent_path(route)
    else:
        body.pop("namespace", None)
    wrong = {} if route.takes is None else wrong_field(route.takes.kind, BAD_VALUE)
    if "value" in faults and route.holes:
        path = spoiled(route, path)
    elif "value" in faults:
        if not wrong:
            return None
        body |= wrong
    if "shape" in faults and route.takes is not None:
        body |= wrong_field(route.takes.kind, BAD_SHAPE)
    return Case(
        next_method(route) if "method" in faults else route.method,
        path,
        None if route.takes is None else spoiled_text(route, written(body), faults),
        statuses(route, faults),
        {"content-type": "text/plain"} if "media" in faults else {},
    )


def statuses(route: Route, faults: set[str]) -> frozenset[int]:
    first = next(status for fault, status in ORDER.items() if fault in faults)
    if first == ORDER["absent"] and route.takes is not None:
        return passed_by(route) | {404}
    return frozenset({first})


def wrong_field(kind: type, verdict: object) -> dict[str, bytes]:
    """The first field that can be wrong in this way, and how; the one for shapes is the last."""
    known = fields(kind) if verdict is BAD_VALUE else reversed(fields(kind))
    for field in known:
        judge = judge_of(kind, field)
        for value in VALUES:
            if judge(read(value)) is verdict:
                return {field.encode_name: value}
    return {}


def spoiled(route: Route, path: str) -> str:
    """The same path with something in its first hole that no name can be."""
    before = HOLE.split(route.path)[0]
    rest = path[len(before) :].partition("/")
    return f"{before}%00{rest[1]}{rest[2]}"


def spoiled_text(route: Route, text: bytes, faults: set[str]) -> bytes:
    assert route.takes is not None
    if "shape" in faults and not fields(route.takes.kind):
        text = b"[1]"
    if "json" in faults:
        text = text[:-1]
    return (text + PADDING)[:TOO_LARGE] if "size" in faults else text


def next_method(route: Route) -> str:
    """One that the path does not have."""
    taken = {other.method for other in ROUTES.routes if other.path == route.path}
    return next(method for method in ("PUT", "PATCH", "POST") if method not in taken)
