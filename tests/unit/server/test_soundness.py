"""What no text of a database may hold never gets behind the door, by whatever route it comes.

Every hole of every path and every text of every body is tried; a new route or field is tried too.
"""

import asyncio
import json
import re
from collections.abc import Iterator

import pytest
from msgspec.structs import fields

from assay.server.app import App
from assay.server.route import Route
from assay.server.routes.table import ROUTES
from assay.wire.commands import CommandBody
from tests.unit.server.client import Client, told
from tests.unit.server.ear import ask, bodies

PARTS = {"a%00b", "%FF", "a%ED%A0%80b", "%C3", "%00"}
UNSOUND = re.compile(r"\\x00|\\u0000|\\ud[89a-f]", re.IGNORECASE)
REFUSED = (400, 404, 422)  # 404 where free text was mended and went through
ENDS = ("complete", "fail", "heartbeat")
Case = tuple[str, bytes]


def cases(route: Route) -> Iterator[Case]:
    """The hostile requests of one route."""
    for hole in re.findall(r"\{\w+\}", route.path):
        good = {} if route.takes is None else next(bodies(route.takes.kind))
        for part in PARTS:
            path = re.sub(r"\{\w+\}", "1", route.path.replace(hole, part))
            yield path, b"" if route.takes is None else json.dumps(good).encode()
            if "commands" in good:
                yield path, json.dumps({**good, "commands": [5]}).encode()
    path = re.sub(r"\{\w+\}", "1", route.path)
    if route.asks is not None:
        good = {} if route.takes is None else next(bodies(route.takes.kind))
        for field in fields(route.asks.kind):
            for part in PARTS:
                yield f"{path}?{field.name}={part}", json.dumps(good).encode()
    if route.takes is not None:
        for body in list(bodies(route.takes.kind))[1:]:
            yield path, json.dumps(body).encode()


def commands() -> Iterator[Case]:
    """The hostile commands of every type."""
    for kind in CommandBody.__args__:
        for command in list(bodies(kind))[1:]:
            command["type"] = kind.__struct_config__.tag
            body = {"worker_id": "w", "commands": [command]}
            yield "/workflow-tasks/1/commands", json.dumps(body).encode()


@pytest.mark.parametrize("route", ROUTES.routes, ids=lambda route: f"{route.method} {route.path}")
def test_no_route_lets_unsound_text_through(route: Route) -> None:
    for path, body in cases(route):
        status, heard = asyncio.run(ask(path, body, route.method))
        assert status in REFUSED, (path, body)
        assert not UNSOUND.search(heard), (path, body)


def test_no_command_lets_unsound_text_through() -> None:
    tried = list(commands())
    assert len(tried) > len(CommandBody.__args__)
    for path, body in tried:
        status, heard = asyncio.run(ask(path, body))
        assert status in REFUSED, body
        assert not UNSOUND.search(heard), body


def test_an_unsound_id_never_rejects_a_batch() -> None:
    for body in (b'{"worker_id":"w","commands":[5]}', b'{"worker_id":"w","commands":[]}'):
        assert asyncio.run(ask("/workflow-tasks/%FF/commands", body))[1] == "[]"


@told
async def test_calls_that_name_a_worker_are_signs_of_its_life(app: App) -> None:
    runner = app.door.runner
    answer = await Client(app, "/api/v1/workers/register", b'{"identity":"i","queue":"q"}').ask()
    worker_id = json.loads(answer.body)["worker_id"]
    seen: list[str] = []
    runner.presence.seen = lambda *sign: seen.append(sign[0])  # type: ignore[method-assign] # to listen
    named = json.dumps({"worker_id": worker_id, "commands": [], "error": "e"}).encode()
    assert (await Client(app, "/api/v1/workflow-tasks/a/commands", named).ask()).status == 404
    assert seen == [worker_id]
    seen.clear()
    for end in ENDS:  # these are signs of life of who has the task, if somebody has it
        assert (await Client(app, f"/api/v1/tasks/1/{end}", named).ask()).status == 404
    assert not seen
