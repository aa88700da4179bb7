"""Whatever is sent, the answer is the one the contract names, and a refusal changes nothing (§2.3).

Made from the route table: see `door/`. ASSAY_EXAMPLES=2000 makes more of the random ones.
"""

import asyncio
import os

import pytest

from assay.server.routes.table import ROUTES
from tests.properties.door.asking import ask, play, shown
from tests.properties.door.bodies import (
    bad_commands,
    body_cases,
    command_cases,
    field_cases,
    media_cases,
)
from tests.properties.door.exchanges import (
    KINDS,
    asking_for,
    exchange_route,
    misshapen,
    tried,
    unfit,
)
from tests.properties.door.furnished import SECS, furnished
from tests.properties.door.mutations import Mutations
from tests.properties.door.oracle import BAD_VALUE
from tests.properties.door.order import order_cases
from tests.properties.door.paths import method_cases, query_cases, segment_cases, unknown_cases
from tests.properties.door.requests import Case, bodied
from tests.properties.door.soundness import check_life, check_world
from tests.properties.door.states import state_cases
from tests.properties.door.values import string
from tests.properties.door.world import HOLDER, World
from tests.support.caller import commands_of
from tests.support.http import Json
from tests.support.inside import IN_MEMORY, House, changed

EXAMPLES = int(os.environ.get("ASSAY_EXAMPLES", "0"))  # bursts of random requests
SEED = int.from_bytes(os.urandom(4)) if EXAMPLES else 0
MOST_SECS = SECS + EXAMPLES


def test_every_field_of_every_body(database: str) -> None:
    async def story(house: House, world: World) -> None:
        for route in bodied():
            for cases in field_cases(route, world.targets):
                await play(house, cases)

    furnished(database, story)


def test_every_field_of_every_command(database: str) -> None:
    async def story(house: House, world: World) -> None:
        for cases in command_cases(world.targets):
            await play(house, cases)

    furnished(database, story)


def test_exchanges_of_another_shape_are_turned_down_as_a_whole(database: str) -> None:
    async def story(house: House, world: World) -> None:
        await play(house, misshapen())
        await play(house, unfit())

    furnished(database, story)


def test_an_operation_of_an_exchange_is_refused_alone(database: str) -> None:
    """All that is wrong with a kind in one request, between what is right and comes to nothing."""

    async def story(house: House, world: World) -> None:
        before, post = await house.tables.rows(), exchange_route()
        for kind in KINDS:
            asked = [each for each in tried(kind) if each.is_alone]
            body = asking_for(*(each.text for each in asked))
            case = Case(post.method, post.path, body, frozenset({200}))
            outcomes = (await ask(house, case)).json()["outcomes"]
            for each, outcome in zip(asked, outcomes, strict=True):
                allowed = {400} if each.verdict is BAD_VALUE else {200, 404, 409}
                assert outcome["status"] in allowed, (each, outcome)
                assert outcome["status"] == 200 or outcome["error"].strip(), (each, outcome)
        assert not changed(before, await house.tables.rows())

    furnished(database, story)


def test_bodies_that_are_no_json_or_nothing(database: str) -> None:
    async def story(house: House, world: World) -> None:
        for route in bodied():
            await play(house, body_cases(route, world.targets))

    furnished(database, story)


def test_media_types(database: str) -> None:
    async def story(house: House, world: World) -> None:
        for route in bodied():
            await play(house, media_cases(route, world.targets))

    furnished(database, story)


def test_every_parameter_and_every_hole(database: str) -> None:
    async def story(house: House, world: World) -> None:
        for route in ROUTES.routes:
            await play(house, query_cases(route, world.targets))
            await play(house, segment_cases(route))

    furnished(database, story)


def test_of_several_faults_the_first_check_answers(database: str) -> None:
    async def story(house: House, world: World) -> None:
        for route in ROUTES.routes:
            await play(house, order_cases(route, world.targets))

    furnished(database, story)


def test_methods_and_paths_that_are_no_routes(database: str) -> None:
    async def story(house: House, world: World) -> None:
        await play(house, unknown_cases(world.targets))
        for case, allowed in method_cases(world.targets):
            answer = await ask(house, case)
            assert set(answer.headers["allow"].split(", ")) == allowed, shown(case)

    furnished(database, story)


def test_what_is_there_may_forbid_it(database: str) -> None:
    async def story(house: House, world: World) -> None:
        await play(house, state_cases(world))

    furnished(database, story)


def test_a_malformed_batch_shows_on_its_run_and_nowhere_else(database: str) -> None:
    """The holder of a run keeps its lease; the run says what was wrong (§5.17)."""

    async def story(house: House, world: World) -> None:
        before, rows = await seen(world), await house.tables.rows()
        for bad in bad_commands():
            batch = holders_batch(world, *bad)
            answer = await world.api.ask("POST", commands_of("held"), batch)
            assert answer.status in (400, 422), (bad, answer)
            assert f"command {len(bad) - 1}: " in answer.error, (bad, answer)
            record = await world.api.describe("held")
            assert record["blocked"] == answer.error
            assert await seen(world) == before
        changes = changed(rows, await house.tables.rows())
        changes.pop("stream", None)  # tells of each complaint
        assert {table: len(lines) for table, lines in changes.items()} == {"run": 2}
        await world.api.send("POST", commands_of("held"), holders_batch(world))
        assert (await world.api.describe("held"))["blocked"] is None

    furnished(database, story)


async def seen(world: World) -> Json:
    """What clients see of the held run, but for the complaint."""
    record = await world.api.describe("held")
    moving = ("blocked", "waiting_for")
    return (
        {key: value for key, value in record.items() if key not in moving},
        await world.api.history("held"),
        await world.api.activity(int(world.targets["activities"])),
    )


def holders_batch(world: World, *commands: bytes) -> bytes:
    return b'{"worker_id":%s,"lease":%s,"commands":[%s]}' % (
        *(string(HOLDER), string(world.lease)),
        b",".join(commands),
    )


@pytest.mark.timeout(MOST_SECS + 10)
def test_requests_by_chance(database: str) -> None:
    """Sound ones, bent ones, and what they are about, sixteen at a time."""
    bursts = EXAMPLES or (400 if database == IN_MEMORY else 200)
    print(f"seed {SEED}")

    async def story(house: House, world: World) -> None:
        mutations = Mutations(SEED)
        mutations.known["queue"] += [world.api.queue] * 8
        for burst in range(bursts):
            cases = [mutations.request() for _ in range(16)]
            answers = await asyncio.gather(*(ask(house, case) for case in cases))
            for case, answer in zip(cases, answers, strict=True):
                mutations.learn(case, answer)
            if burst % 40 == 39:
                await check_world(world.api, mutations.known["workflow_id"])
        await check_life(world.api)

    furnished(database, story, secs=MOST_SECS)
