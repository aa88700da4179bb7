"""Operations of an exchange: every field of every kind with every value.

A wrong shape turns the whole request down, and so may a number beyond all bounds; an inadmissible
value turns its own operation down, and no other.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import fields

from assay.server.route import Route
from assay.wire.exchange.operations import Operations
from assay.wire.exchange.request import ExchangeRequest
from tests.properties.door.oracle import BAD_SHAPE, BAD_VALUE, GOOD, Verdict, judge_of
from tests.properties.door.requests import (
    ABSENT_NUMBER,
    Case,
    Fields,
    bodied,
    expecting,
    good_fields,
    written,
)
from tests.properties.door.values import NOT_JSON, VALUES, read, string

KINDS = Operations.__args__
TAKINGS = (
    *(b"[1]", b'["workflow"]', b'["workflow","q",1]', b'["workflow",1,1,1]', b'["w","q",1,1]'),
    *(b'["workflow","q","1",1]', b'["workflow","q",1,1.5]', b'["workflow","q",1,null]', b"{}"),
)
POSITIONS = (b"[1]", b'["1",1]', b"[1,1.5]", b"[1,null]", b"{}", b"null")
UNFIT: tuple[bytes, ...] = (
    *(b'"takings":[["workflow"," ",1,1]]', b'"takings":[["workflow","q",9007199254740993,1]]'),
    *(b'"takings":[["activity","q",1,1e30]]', rb'"takings":[["workflow","q\u0000",1,1]]'),
    *(b'"histories":[[9007199254740993,0]]', b'"histories":[[1,-9007199254740993]]'),
    b'"takings":[["workflow","q",1,1],["workflow","q2",1,1]]',
)
FIT: tuple[bytes, ...] = (
    *(b'"takings":[["workflow","q",1.0,0]]', b'"takings":[["activity","q",-1,0,"more"]]'),
    *(b'"histories":[[1.0,0]]', b'"histories":[[9007199254740992,-1]]', b'"histories":[]'),
)


class Tried(NamedTuple):
    """An operation, what becomes of it, and with what statuses the request is answered then."""

    text: bytes
    verdict: Verdict
    statuses: frozenset[int]

    @property
    def is_alone(self) -> bool:
        """It hurts nothing that is beside it."""
        return self.statuses == {200}


def exchange_route() -> Route:
    """The one route for all of it."""
    [found] = [each for each in bodied() if each.takes and each.takes.kind is ExchangeRequest]
    return found


def request(*rest: bytes) -> bytes:
    """A whole request."""
    return b"{%s}" % b",".join([b'"v":1,"session":"stranger"', *rest])


def asking_for(*operations: bytes) -> bytes:
    """A request with these operations."""
    return request(b'"operations":[%s]' % b",".join(operations))


def good_operation(kind: Any) -> Fields:
    """An admissible one, about what is not there."""
    tag = {"op": string(str(kind.__struct_config__.tag))}
    good = tag | good_fields(kind)
    if "no" in good:
        good["no"] = ABSENT_NUMBER.encode()
    return good


def tried(kind: Any) -> Iterator[Tried]:
    """Every field with every value, and without."""
    good = good_operation(kind)
    for field in fields(kind):
        name, judge = field.encode_name, judge_of(kind, field)
        free = name in ("namespace", "if_exists", "no")
        for value in VALUES:
            verdict = judge(read(value))
            if verdict is not GOOD or not free:
                yield Tried(written({**good, name: value}), verdict, statuses(verdict, value))
        without = {key: value for key, value in good.items() if key != name}
        if field.required:
            yield Tried(written(without), BAD_SHAPE, expecting(BAD_SHAPE))


def statuses(verdict: Verdict, value: bytes) -> frozenset[int]:
    """Of the request: a number beyond all bounds is refused when it is read, or when it is used."""
    if verdict is BAD_SHAPE:
        return expecting(BAD_SHAPE)
    is_number = value[:1] in b"-0123456789"
    boundless = verdict is BAD_VALUE and is_number and math.isinf(float(value))
    return frozenset({200, 400}) if boundless else frozenset({200})


def misshapen() -> Iterator[Case]:
    """Requests that are turned down as a whole."""
    post, refused = exchange_route(), expecting(BAD_SHAPE)
    for kind in KINDS:
        good = written(good_operation(kind))
        for each in tried(kind):
            if not each.is_alone:
                yield Case(post.method, post.path, asking_for(good, each.text), each.statuses)
    for name, parts in ((b"takings", TAKINGS), (b"histories", POSITIONS)):
        for part in parts:
            text = request(b'"%s":[%s]' % (name, part))
            yield Case(post.method, post.path, text, refused)
    for value in (*VALUES, b'{"op":"strange"}', b'{"op":5}'):
        yield Case(post.method, post.path, asking_for(value), refused)
    for value in NOT_JSON:
        yield Case(post.method, post.path, asking_for(value), expecting(BAD_VALUE))


def unfit() -> Iterator[Case]:
    """Values that nobody can use, outside of operations; and some that are fit."""
    post = exchange_route()
    for part in UNFIT:
        yield Case(post.method, post.path, request(part), expecting(BAD_VALUE))
    for part in FIT:
        yield Case(post.method, post.path, request(part), frozenset({200}))
