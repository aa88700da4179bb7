"""A request made from the route table, with the statuses the contract allows for it.

Targets are alive where an answer must come before anybody asks whether they are, and absent where
it must come after: so what is admissible changes nothing either.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import FieldInfo, fields

from assay.server.route import Route
from assay.server.routes.table import ROUTES
from assay.wire.batches import CommandBatch
from tests.properties.door.oracle import GOOD, UNKNOWN, Verdict, judge_of
from tests.properties.door.values import read, string

HELD = 0  # no answer until the client left
PASSED = frozenset({HELD, 200, 201, 202, 204, 404, 409})
SURVIVED = frozenset({HELD, *range(200, 500)})
ABSENT, ABSENT_NUMBER = "nowhere", "9007199254740991"
HOLE = re.compile(r"\{(\w+)\}")
STRANGER = b'"stranger"'
CANDIDATES = [
    *(b'"x"', b"1", b"true", b"[]", b"{}", b'"0 0 1 1 *"', b'"UTC"', b'"skip"', b'"error"'),
    *(b'"workflow"', b'"c1"'),
]
Targets = Mapping[str, str]
Fields = Mapping[str, bytes]


class Case(NamedTuple):
    """A request, and which statuses it may have."""

    method: str
    path: str
    body: bytes | None
    expected: frozenset[int]
    headers: Mapping[str, str] = {}

    @property
    def is_refused(self) -> bool:
        return min(self.expected) >= 400


def expecting(verdict: Verdict, passed: Iterable[int] = PASSED) -> frozenset[int]:
    """The statuses of a request one of whose values is judged so."""
    if verdict is UNKNOWN:
        return SURVIVED
    return frozenset(passed) if verdict is GOOD else frozenset({int(verdict.value or 0)})


# -- paths ---------------------------------------------------------------------------------------


def bodied() -> list[Route]:
    return [route for route in ROUTES.routes if route.takes is not None]


def path_of(route: Route, targets: Targets) -> str:
    """The path to something that is there, as far as targets are known; `{}` names the word."""
    first, *_ = route.path.strip("/").split("/")
    holes = iter((targets.get(first, "x"), "go"))
    return HOLE.sub(lambda _: next(holes), route.path)


def absent_path(route: Route) -> str:
    """The same path to what is not there."""
    names = iter(route.holes.items())
    return HOLE.sub(lambda _: ABSENT_NUMBER if next(names)[1] is int else ABSENT, route.path)


def calm_path(route: Route, targets: Targets) -> str:
    """Where a good request changes nothing: by a stranger, or to what is not there."""
    if route.takes is not None and route.takes.kind is CommandBatch:
        return path_of(route, targets)
    return absent_path(route)


# -- bodies --------------------------------------------------------------------------------------


def good_value(kind: type, field: FieldInfo) -> bytes:
    """The first value that fits the field and that nobody objects to."""
    judge = judge_of(kind, field)
    return next(
        value
        for value in CANDIDATES
        if judge(read(value)) in (GOOD, UNKNOWN) and fits(value, field)
    )


def fits(value: bytes, field: FieldInfo) -> bool:
    try:
        msgspec.json.decode(value, type=field.type)
    except msgspec.ValidationError:
        return False
    return True


# What is required only beside certain values of other fields.
ASKED_TOGETHER: Mapping[str, Fields] = {"RecordStep": {"error": b'"x"'}}


def good_fields(kind: type) -> dict[str, bytes]:
    """Values for the fields that must be there; where there may be a namespace, one that is not."""
    known = fields(kind)
    good = {field.encode_name: good_value(kind, field) for field in known if field.required}
    if any(field.encode_name == "namespace" for field in known):
        good["namespace"] = string(ABSENT)
    if "worker_id" in good:
        good["worker_id"] = STRANGER
    return {**good, **ASKED_TOGETHER.get(kind.__name__, {})}


def written(values: Fields) -> bytes:
    """An object with these fields."""
    return b"{%s}" % b",".join(b'"%s":%s' % (key.encode(), value) for key, value in values.items())


def passed_by(route: Route) -> frozenset[int]:
    """How a request that is good in itself ends for an absent target, or by a stranger."""
    assert route.takes is not None
    if route.takes.kind is CommandBatch:
        return frozenset({409})
    absent = route.holes or "namespace" in good_fields(route.takes.kind)
    return frozenset({404}) if absent else PASSED
