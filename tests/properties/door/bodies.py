"""Bodies: every field with every value, and what is no JSON, no object, or nothing."""

from collections.abc import Iterator

from msgspec.structs import fields

from assay.server.route import Route
from assay.wire.batches import CommandBatch
from assay.wire.commands import CommandBody
from tests.properties.door.oracle import BAD_SHAPE, BAD_VALUE, GOOD, Verdict, judge_of
from tests.properties.door.requests import (
    PASSED,
    STRANGER,
    Case,
    Fields,
    Targets,
    bodied,
    calm_path,
    expecting,
    good_fields,
    passed_by,
    path_of,
    written,
)
from tests.properties.door.values import (
    EMPTY,
    NOT_JSON,
    NOT_OBJECTS,
    VALUES,
    broken,
    nested,
    read,
    string,
)


def field_cases(route: Route, targets: Targets) -> Iterator[list[Case]]:
    """Every field of a body with every value; then absent, and beside a field nobody knows."""
    assert route.takes is not None
    kind = route.takes.kind
    good, passed, there = good_fields(kind), passed_by(route), path_of(route, targets)
    absent = calm_path(route, targets)
    for field in fields(kind):
        name, judge = field.encode_name, judge_of(kind, field)
        if name == "commands":
            continue
        free = PASSED if name == "namespace" else passed
        cases = []
        for value in VALUES:
            verdict = judge(read(value))
            path = absent if verdict is GOOD else there
            body = written({**good, name: value})
            cases.append(Case(route.method, path, body, expecting(verdict, free)))
        for value in NOT_JSON:
            body = written({**good, name: value})
            cases.append(Case(route.method, there, body, expecting(BAD_VALUE)))
        rest = written({key: value for key, value in good.items() if key != name})
        verdict = BAD_SHAPE if field.required else GOOD
        path = absent if verdict is GOOD else there
        cases.append(Case(route.method, path, rest, expecting(verdict, free)))
        yield cases
    yield list(stranger_fields(route, good, there, absent))


def stranger_fields(route: Route, good: Fields, there: str, absent: str) -> Iterator[Case]:
    """A field that nobody knows may hold anything that is JSON."""
    for value in (*VALUES, nested(499)):
        body = written({"stranger": value, **good})
        yield Case(route.method, absent, body, passed_by(route))
    for value in (*NOT_JSON, nested(500)):
        body = written({"stranger": value, **good})
        yield Case(route.method, there, body, expecting(BAD_VALUE))


def command_cases(targets: Targets) -> Iterator[list[Case]]:
    """Every field of every command with every value, in batches of a worker that holds nothing."""
    [route] = [route for route in bodied() if route.takes and route.takes.kind is CommandBatch]
    there = path_of(route, targets)
    for kind in CommandBody.__args__:
        tag = {"type": string(str(kind.__struct_config__.tag))}
        good = tag | good_fields(kind)
        for field in fields(kind):
            judge = judge_of(kind, field)
            tried = [(value, judge(read(value))) for value in VALUES]
            tried += [(value, BAD_VALUE) for value in NOT_JSON]
            commands = [
                (written({**good, field.encode_name: value}), verdict) for value, verdict in tried
            ]
            without = {key: value for key, value in good.items() if key != field.encode_name}
            commands.append((written(without), BAD_SHAPE if field.required else GOOD))
            yield [
                Case(route.method, there, batch(command), expecting(verdict, {409}))
                for command, verdict in commands
            ]
    yield [
        Case(route.method, there, batch(command), expecting(verdict, {409}))
        for command, verdict in strange_commands()
    ]


# Before a bad command: one that is skipped, and one that is good and must not be applied.
BEFORE = (b'{"type":"Strange","seq":[]}', b'{"type":"RecordSideEffect","seq":9,"value":1}')


def bad_commands() -> Iterator[list[bytes]]:
    """Batches whose last command is wrong, each of its fields in each way that it can be."""
    for kind in CommandBody.__args__:
        good = {"type": string(str(kind.__struct_config__.tag)), **good_fields(kind)}
        for field in fields(kind):
            judge = judge_of(kind, field)
            for verdict in (BAD_SHAPE, BAD_VALUE):
                value = next((value for value in VALUES if judge(read(value)) is verdict), None)
                if value is not None:
                    before = BEFORE[: len(field.name) % 3]
                    yield [*before, written({**good, field.encode_name: value})]
    yield [BEFORE[1], b'{"type":"ContinueAsNew","carry":[1]}']  # which is no signal


def batch(*commands: bytes) -> bytes:
    return b'{"worker_id":%s,"commands":[%s]}' % (STRANGER, b",".join(commands))


def strange_commands() -> Iterator[tuple[bytes, Verdict]]:
    """What stands in the place of a command; unknown types are skipped whatever they hold."""
    for value in NOT_JSON:
        yield value, BAD_VALUE
    for value in VALUES:
        yield value, BAD_SHAPE if value != b'{"type":"x"}' else GOOD
        yield b'{"type":"Strange","seq":%s}' % value, GOOD
        if value[:1] != b'"':
            yield b'{"type":%s}' % value, BAD_SHAPE


def body_cases(route: Route, targets: Targets) -> list[Case]:
    """Bodies that are no JSON, no object, or nothing."""
    assert route.takes is not None
    good, there = written(good_fields(route.takes.kind)), path_of(route, targets)
    optional = route.takes.optional
    absent = calm_path(route, targets)
    cases = [Case(route.method, there, body, expecting(BAD_VALUE)) for body in broken(good)]
    cases += [Case(route.method, there, body, expecting(BAD_SHAPE)) for body in NOT_OBJECTS]
    for body in (*EMPTY, *([b"", b" "] if optional else [])):
        verdict = GOOD if optional else BAD_SHAPE
        path = absent if optional else there
        cases.append(Case(route.method, path, body, expecting(verdict, passed_by(route))))
    if not optional:
        cases += [Case(route.method, there, body, expecting(BAD_VALUE)) for body in (b"", b" ")]
    return cases


NOT_JSON_TYPES = (
    *("text/plain", "text/json", "application/xml", "multipart/form-data; boundary=x", "json"),
    *("application/x-www-form-urlencoded", "application/jsonp", "application/json+x", "\xff", ";"),
    "text/plain; application/json",
)
JSON_TYPES = (
    *("application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.api+json"),
    *("application/json;", " application/json ", 'application/json;charset="x"'),
)


def media_cases(route: Route, targets: Targets) -> Iterator[Case]:
    """Declared types of all kinds, and none (contract §2.3)."""
    assert route.takes is not None
    body, optional = written(good_fields(route.takes.kind)), route.takes.optional
    there = path_of(route, targets)
    absent = calm_path(route, targets)
    refused, passed = frozenset({415}), passed_by(route)
    for media in NOT_JSON_TYPES:
        for content in (body, b"{", b"5", b" "):
            yield Case(route.method, there, content, refused, {"content-type": media})
        empty = passed if optional else expecting(BAD_VALUE)
        yield Case(route.method, absent, b"", empty, {"content-type": media})
    for media in JSON_TYPES:
        yield Case(route.method, absent, body, passed, {"content-type": media})
    path, expected = (absent, passed) if optional else (there, refused)
    for undeclared in (body, b"{}", b"", None):
        yield Case(route.method, path, undeclared, expected, {"content-type": ""})
